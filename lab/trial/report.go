package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/perfline/perfline/integration/load"
	"github.com/perfline/perfline/lab/trial/internal/service"
)

// A result is what a row found.
type result struct {
	name            string
	part            string // of the document
	notMade         error
	healthy, faulty phase
	requests        load.Results // in all phases
	goroutinesAfter int
	heap, heapAfter uint64
	flows           []*flow
	recovered       time.Duration
	recoveredMeans  string // of what the time is, if not of that
	notes           []string
	wrong           []error
	text            string // the report of the random schedule
}

func (r *result) fail(err error) {
	if err != nil {
		r.wrong = append(r.wrong, err)
	}
}

func (r *result) note(text string) { r.notes = append(r.notes, text) }

func (r *result) verdict() string {
	switch {
	case len(r.wrong) > 0:
		return fmt.Sprintf("NOT WELL: %v", errors.Join(r.wrong...))
	case r.notMade != nil:
		return r.notMade.Error()
	}
	return "ok"
}

// slower is by how much the p99 may grow without being pointed at.
const slower = 3

// writeTables writes two tables of fixed schedules, as Markdown: what a service pays, and
// what becomes of what it records.
func writeTables(w io.Writer, results []*result, set settings) {
	at := "one row at a time"
	if set.parallel > 1 {
		at = fmt.Sprintf("%d rows at a time, which share them", set.parallel)
	}
	each, items := fmt.Sprintf("%d spans", service.SpansOfRequest), "spans"
	accepted := "Accepted are spans, with Pyroscope profiles, at the service's end; at the backend are spans in Jaeger, each once, or profiles that Pyroscope has answered with success. "
	if slices.ContainsFunc(results, func(r *result) bool { return len(r.flows) > 1 }) {
		each += fmt.Sprintf(" and %d log records", service.Marks)
		items += " and log records"
		accepted = "Accepted is the service's count at its end; at the backend are spans in Jaeger, and log records and profiles that the Collector has passed on, each once. "
	}
	fmt.Fprintf(w, "%d requests/s, each of %s; each fault lasts %v; profiles every %v, %s every second; %d processors, %s.\n\n",
		set.rate, each, set.length, uploadEvery, items, runtime.GOMAXPROCS(0), at)
	fmt.Fprint(w, "| what fails | p50, p99 healthy | in the fault | requests (failed) | memory peak, MiB | live heap, MiB | goroutines |\n|---|---|---|---:|---|---|---|\n")
	for _, r := range results {
		if r.notMade == nil {
			fmt.Fprintln(w, r.pays())
		}
	}
	fmt.Fprint(w, "\nLatencies are of answered requests, from the time when they were due. The number of requests is of the whole row. "+
		"Memory is what the service's runtime has of the system: its peak before → in the fault. The live heap is measured after a garbage collection, before → after all. "+
		"Goroutines are without the ones of connections: before → after all (peak of all in the fault).\n\n")
	fmt.Fprint(w, "| what fails | accepted | = delivered | + lost | + pending | at the backend | recovered | |\n|---|---:|---:|---|---:|---:|---:|---|\n")
	for _, r := range results {
		for _, line := range r.books() {
			fmt.Fprintln(w, line)
		}
	}
	fmt.Fprint(w, "\n"+accepted+
		"Recovered is the time from the end of the fault until all that was accepted before is delivered or lost and something accepted since is delivered; "+
		"a backend that was killed is back before the fault's end. With SIGTERM it is the time until the service has ended.\n")
}

// pays is the row of the first table.
func (r *result) pays() string {
	return fmt.Sprintf("| %s | %s | %s | %d (%d) | %s → %s | %s → %s | %s → %s (%d) |",
		r.name, latencies(r.healthy.requests), latencies(r.faulty.requests),
		r.requests.Answered+r.requests.Failed, r.requests.Failed,
		mib(r.healthy.memory), mib(r.faulty.memory), mib(r.heap), mib(r.heapAfter),
		number(r.healthy.goroutinesIdle), number(r.goroutinesAfter), r.faulty.goroutines)
}

// books are the rows of the second table, one for each signal.
func (r *result) books() []string {
	notes := r.notes
	if r.notMade != nil {
		notes = append(notes, r.notMade.Error())
	} else if before, during := r.healthy.requests.P(0.99), r.faulty.requests.P(0.99); before > 0 &&
		during > slower*before {
		notes = append(notes, fmt.Sprintf("p99 is over %d times the healthy one", slower))
	}
	for _, err := range r.wrong {
		first, _, _ := strings.Cut(err.Error(), "\n")
		notes = append(notes, "NOT WELL: "+first)
	}
	if r.notMade != nil || len(r.flows) == 0 {
		return []string{fmt.Sprintf("| %s |%s %s |", r.name, strings.Repeat(" – |", 6),
			cell(notes))}
	}
	recovered := fmt.Sprintf("%.1f s", r.recovered.Seconds())
	if r.recovered == 0 {
		recovered = "–"
	} else if r.recoveredMeans != "" {
		recovered = r.recoveredMeans + ": " + recovered
	}
	var lines []string
	for _, f := range r.flows {
		name := r.name
		if len(r.flows) > 1 {
			name += ": " + f.what
		}
		lines = append(lines,
			fmt.Sprintf("| %s | %s | %d | %s | %s |", name, sums(f.book), f.arrived, recovered,
				cell(append(notes, f.notes...))))
		notes, recovered = nil, "" // of the row
	}
	return lines
}

// cell joins notes. An error's text may have anything in it.
func cell(notes []string) string { return strings.ReplaceAll(strings.Join(notes, "; "), "|", `\|`) }

// sums are a book's cells.
func sums(b service.Book) string {
	return fmt.Sprintf("%d | %d | %s | %d", b.Accepted, b.Delivered, b.Causes(), b.Pending)
}

func latencies(r load.Results) string {
	if r.Answered == 0 {
		return "–"
	}
	return fmt.Sprintf("%v, %v", r.P(0.5).Round(10*time.Microsecond),
		r.P(0.99).Round(10*time.Microsecond))
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
