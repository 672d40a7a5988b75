package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/perfline/perfline/integration/trial"
)

// slower is by how much the p99 may grow without being pointed at.
const slower = 3

// writeTable writes the table, as Markdown.
func writeTable(w io.Writer, results []*result, set settings, parallel int) {
	fmt.Fprintf(w, "%d requests/s, each of %d spans; each fault lasts %v; profiles every %v, spans every second; %d processors, %d row(s) at a time.\n\n",
		set.rate, trial.SpansOfRequest, set.length, uploadEvery, runtime.GOMAXPROCS(0), parallel)
	fmt.Fprintln(w, "| row | p50, p99 healthy | in the fault | memory peak, MiB | live heap, MiB | goroutines | accepted | = delivered | + lost | + pending | at the backend | recovered | |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---:|---:|---|---:|---:|---:|---|")
	for _, r := range results {
		fmt.Fprintln(w, r.line())
	}
	fmt.Fprint(w, "\nMemory is what the service's runtime has of the system, its peak before → in the fault; the live heap is after a garbage collection, before → after all; "+
		"goroutines are those that are not a connection's, before → after all (peak of all in the fault). "+
		"Accepted are spans, with Pyroscope profiles, at the service's end; at the backend are spans in Jaeger, each once, or profiles that Pyroscope has answered with success.\n")
}

func (r *result) line() string {
	if r.notMade != nil {
		return fmt.Sprintf("| %s |%s %s |", r.name, strings.Repeat(" – |", 11), r.notMade)
	}
	notes := r.notes
	if before, during := r.healthy.requests.P(0.99), r.faulty.requests.P(0.99); before > 0 && during > slower*before {
		notes = append(notes, fmt.Sprintf("p99 is over %d times the healthy one", slower))
	}
	for _, err := range r.wrong {
		first, _, _ := strings.Cut(err.Error(), "\n")
		notes = append(notes, "NOT WELL: "+first)
	}
	recovered := fmt.Sprintf("%.1f s", r.recovered.Seconds())
	if r.recoveredMeans != "" {
		recovered = r.recoveredMeans + ": " + recovered
	}
	return fmt.Sprintf("| %s | %s | %s | %s → %s | %s → %s | %s → %s (%d) | %d | %d | %s | %d | %d | %s | %s |",
		r.name, latencies(r.healthy.requests), latencies(r.faulty.requests), mib(r.healthy.memory), mib(r.faulty.memory), mib(r.heap), mib(r.heapAfter),
		number(r.healthy.goroutinesIdle), number(r.goroutinesAfter), r.faulty.goroutines,
		r.book.Accepted, r.book.Delivered, r.book.Causes(), r.book.Pending, r.found, recovered, strings.Join(notes, "; "))
}

func latencies(r trial.Results) string {
	if r.Answered == 0 {
		return "–"
	}
	return fmt.Sprintf("%v, %v", r.P(0.5).Round(10*time.Microsecond), r.P(0.99).Round(10*time.Microsecond))
}

func mib(bytes uint64) string {
	if bytes == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f", float64(bytes)/(1<<20))
}

func number(n int) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprint(n)
}
