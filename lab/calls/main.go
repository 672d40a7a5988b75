// Command calls measures single calls of perfline and its peers in one run, as
// multiples of one time.Now(). It prints a table in Markdown, and a second one that
// compares the results with the project's budgets:
//
//	go run -C lab ./calls
//
// The rows are calls. The command in the folder request measures whole requests.
//
// Machines differ and drift. So the rows take turns in rounds, each beside a fresh
// measurement of time.Now(). The table has the medians, and the means of CPU. Each row
// runs in bursts of some hundred microseconds, as requests do. The program waits for a
// burst's background work before the next burst. A sample is so long that the garbage
// collector runs several times in rows that make garbage. The program keeps 16 MiB in
// use. Otherwise the collector would run every few milliseconds, as in no service:
//
//   - "caller" is the time each call takes the goroutine that makes it, "ns" the
//     same in nanoseconds;
//   - "CPU" is the processor time of the whole process for each call, with the
//     background work up to the end that the group names, and garbage collection;
//   - "allocs" and "bytes" are the heap allocations of the whole process for each
//     call.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// inUse is memory without pointers: it makes collections rarer, not dearer.
var inUse = make([]byte, 16<<20)

func main() {
	rounds := flag.Int("rounds", 12, "measure each row in that many rounds, at least 1")
	length := flag.Duration("length", 100*time.Millisecond,
		"measure a row about that long in each round")
	only := flag.String("only", "",
		"measure only rows whose group and name match this regular expression")
	figuresInto := flag.String("figures", "",
		"also add the budgets to this `file` of figures, for the laboratory's table")
	flag.Parse()
	if err := run(*rounds, *length, *only, *figuresInto); err != nil {
		fmt.Fprintln(os.Stderr, "calls:", err)
		os.Exit(1)
	}
}

func run(rounds int, length time.Duration, only, figuresInto string) error {
	defer runtime.KeepAlive(inUse)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if rounds < 1 {
		return fmt.Errorf("-rounds %d: must be at least 1", rounds)
	}
	pattern, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	var chosen []*row
	for _, r := range slices.Concat(timelineRows(), otelRows(), labelRows(), peerRows()) {
		if pattern.MatchString(r.group + ": " + r.name) {
			chosen = append(chosen, r)
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("-only %q matches no row", only)
	}
	for i := range rounds {
		fmt.Fprintf(os.Stderr, "\rround %d of %d, %d rows ", i+1, rounds, len(chosen))
		for _, r := range chosen {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := r.measure(length); err != nil {
				return fmt.Errorf("%s: %s: %w", r.group, r.name, err)
			}
		}
	}
	fmt.Fprintln(os.Stderr)
	fromNode, err := nodeRows(ctx, rounds, pattern)
	if err != nil {
		return err
	}
	chosen = append(chosen, fromNode...)
	fmt.Printf("%s, %s/%s, %d processors, %d rounds of %v; one time.Now() took %.1f ns.\n\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), rounds, length,
		nowCost(chosen))
	fmt.Print(table(chosen))
	if only == "" {
		text, err := budgets(chosen, figuresInto)
		fmt.Print("\n", text)
		return err
	}
	return nil
}

func table(rows []*row) string {
	var b strings.Builder
	group := ""
	for _, r := range rows {
		if r.group != group {
			if group != "" {
				b.WriteByte('\n')
			}
			group = r.group
			fmt.Fprintf(&b, "| **%s** | caller | ns | CPU | allocs | bytes |\n|---|---:|---:|---:|---:|---:|\n", group)
		}
		cpu := "–"
		if c := r.cpu(); c > 0 {
			cpu = fmt.Sprintf("%.2f", c)
		}
		allocs, bytes := "–", "–"
		if !r.fixed {
			allocs, bytes = fmt.Sprintf("%.1f", r.allocs()), fmt.Sprintf("%.0f", r.bytes())
		}
		fmt.Fprintf(&b, "| %s | %.2f | %.0f | %s | %s | %s |\n", r.name, r.caller(), r.nanos(), cpu,
			allocs, bytes)
	}
	return b.String()
}
