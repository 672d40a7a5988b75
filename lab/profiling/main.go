// Command profiling shows what perfline's profiler sees and what it costs, beside
// runtime/pprof in the same run:
//
//	go run -C lab ./profiling overhead      # CPU, latency and memory, of a loop and of HTTP requests
//	go run -C lab ./profiling attribution   # a known split over spans, as the engines see it
//	go run -C lab ./profiling sessions      # two sessions while somebody else's profiler comes and goes
//	go run -C lab ./profiling top           # go tool pprof on our profile and on the standard one
//	go run -C lab ./profiling push          # what profiles that are delivered add to a request
//
// Without a word it measures all of them. sessions takes 12 s, and attribution the time of 300
// samples a round. -rounds and -length set the time of overhead and top. push takes ten times as
// long. -short runs each briefly: it shows that all work. Figures are of one run: rows take turns
// in rounds, so compared rows were measured a moment apart.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"time"
)

var (
	figuresInto string // the file for figures; empty: none
	short       bool
)

func main() {
	rounds := flag.Int("rounds", 10, "measure each row in that many rounds, at least 1")
	length := flag.Duration("length", time.Second, "measure a row about that long in each round")
	flag.StringVar(&figuresInto, "figures", "",
		"also add results to this `file` of figures, for the laboratory's table")
	flag.BoolVar(&short, "short", false,
		"measure briefly, whatever the other flags say: the figures mean nothing")
	child := flag.Int("serve", -1,
		"be the service of that number, for push, which starts it itself")
	flag.Parse()
	if *child >= 0 {
		if err := serve(context.Background(), *child); err != nil {
			fmt.Fprintln(os.Stderr, "profiling:", err)
			os.Exit(1)
		}
		return
	}
	if short {
		*rounds, *length = 1, 50*time.Millisecond
	}
	if err := run(flag.Args(), *rounds, *length); err != nil {
		fmt.Fprintln(os.Stderr, "profiling:", err)
		os.Exit(1)
	}
}

func run(words []string, rounds int, length time.Duration) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if rounds < 1 || length < 10*time.Millisecond {
		return fmt.Errorf("-rounds %d -length %v: must be at least 1 and 10ms", rounds, length)
	}
	parts := map[string]func(context.Context, int, time.Duration) error{
		"overhead": overhead, "attribution": attribution, "sessions": besideOthers, "top": top,
		"push": push,
	}
	if len(words) == 0 {
		words = []string{"overhead", "attribution", "sessions", "top", "push"}
	}
	fmt.Printf("%s, %s/%s, %d processors\n", runtime.Version(), runtime.GOOS, runtime.GOARCH,
		runtime.NumCPU())
	for _, w := range words {
		part, ok := parts[w]
		if !ok {
			return fmt.Errorf("%q: must be overhead, attribution, sessions, top or push", w)
		}
		fmt.Println()
		if err := part(ctx, rounds, length); err != nil {
			return fmt.Errorf("%s: %w", w, err)
		}
	}
	return nil
}
