// Command soak runs a service for long while its backends fail at random, and shows
// that its memory stays flat and that its books add up:
//
//	go run -C integration ./soak -svg ../docs/soak.svg
//
// The service delivers to a Collector, that to Jaeger, and profiles go to Pyroscope; each
// of the three fails as -seed says, and works again. The same -seed and -for fail in the
// same way at the same times. Perfline has its defaults; only profiles are taken oftener
// in a soak of less than five minutes.
//
// The books are checked every second. At the end all is well, everything is delivered or
// counted as lost, and what the service does then is all in Jaeger and in Pyroscope. The
// command fails where that is not so, where a request fails, and where the live heap or the
// goroutines are more in the last quarter of the time than in the second, but for what
// varies.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/integration/trial"
)

func main() {
	trial.Main() // the service is this program again
	length := flag.Duration("for", 20*time.Minute, "how long, without the end's flushing")
	seed := flag.Uint64("seed", 1, "which faults, and when")
	rate := flag.Int("rate", 200, "requests a second")
	svg := flag.String("svg", "", "file for a picture of the memory; none if empty")
	flag.Parse()
	if err := run(context.Background(), *length, *seed, *rate, *svg, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

const (
	minLength = 10 * time.Second // shorter, and an episode is not long enough for anything
	maxRate   = 2000
	// healWithin is how long the end waits: gRPC tries to connect again after two minutes
	// at the latest.
	healWithin = 5 * time.Minute
)

func run(ctx context.Context, length time.Duration, seed uint64, rate int, svg string, rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("%q: no arguments are taken, only flags", rest)
	case length < minLength:
		return fmt.Errorf("-for %v: must be at least %v", length, minLength)
	case rate < 1 || rate > maxRate:
		return fmt.Errorf("-rate %d: must be between 1 and %d", rate, maxRate)
	}
	uploads := 15 * time.Second // the default
	if length < 5*time.Minute {
		uploads = time.Second
	}
	episodes := schedule(seed, length)
	fmt.Printf("Soak: %v at %d requests/s of %d spans, profiles every %v, seed %d: %d faults.\n\n", length, rate, trial.SpansOfRequest, uploads, seed, len(episodes))
	for _, e := range episodes {
		fmt.Println("    " + e.String())
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	s, err := startStack(ctx)
	if err != nil {
		return err
	}
	err = soak(ctx, s, length, rate, uploads, episodes, svg)
	return errors.Join(err, s.stop())
}

func soak(ctx context.Context, s *stack, length time.Duration, rate int, uploads time.Duration, episodes []episode, svg string) error {
	process, err := trial.StartService(ctx, trial.ServiceConfig{Env: s.env(uploads)})
	if err != nil {
		return err
	}
	defer process.Kill() //nolint:errcheck // it has ended, or something failed that is told
	load := trial.StartLoad(process.URL(), rate)
	defer load.Stop()
	began := time.Now()
	say := func(text string) {
		fmt.Fprintf(os.Stderr, "%v of %v: %s\n", time.Since(began).Round(time.Second), length, text)
	}
	playing, cancel := context.WithCancel(ctx)
	defer cancel()
	played := make(chan error, 1)
	go func() { played <- s.play(playing, began, episodes, say) }()

	seen := &series{failed: map[string]int{}}
	err = watch(ctx, seen, process, load, began, length, episodes)
	if err != nil {
		cancel() // the episodes under way end at once
	}
	if err := errors.Join(err, <-played, ctx.Err()); err != nil {
		return err
	}
	seen.requests(load.Stop(), false)
	say("the load has ended")
	if svg != "" {
		if err := drawSVG(svg, seen.samples, episodes, length); err != nil {
			return err
		}
	}
	return finish(ctx, os.Stdout, s, process, seen, rate, length)
}

// watch looks at the service each second for the length.
func watch(ctx context.Context, seen *series, process *trial.Service, load *trial.Load, began time.Time, length time.Duration, episodes []episode) error {
	for at := time.Second; at <= length; at += time.Second {
		if !until(ctx, began.Add(at)) {
			return ctx.Err()
		}
		a, err := process.Account(ctx)
		if err != nil {
			return err
		}
		now := time.Since(began)
		seen.add(now, a)
		seen.requests(load.Take(), slices.ContainsFunc(episodes, func(e episode) bool {
			return e.begin <= now && now-time.Second < e.end()
		}))
	}
	return nil
}

// finish waits until everything is delivered or lost, has the service do a little more of
// which all must arrive, and reports.
func finish(ctx context.Context, w io.Writer, s *stack, process *trial.Service, seen *series, rate int, length time.Duration) error {
	healed := time.Now()
	a, err := quiet(ctx, process)
	if err != nil {
		return err
	}
	took := time.Since(healed)
	wrong := []error{seen.unbalanced, last(ctx, s, process, rate, a)}
	final, err := process.Terminate(ctx)
	if err != nil {
		return errors.Join(append(wrong, err)...)
	}
	wrong = append(wrong, final.Balanced(), final.Complete(true))
	failed := 0
	for text, n := range seen.failed {
		failed += n
		wrong = append(wrong, fmt.Errorf("%d requests failed: %s", n, text))
	}
	second, fourth, heapErr := seen.quarters(length)
	idle, idleAfter, idleErr := seen.idle(length)
	wrong = append(wrong, heapErr, idleErr)

	latencies := func(of []time.Duration) string {
		slices.Sort(of)
		r := trial.Results{Latencies: of}
		return fmt.Sprintf("p50 %v, p99 %v, max %v", r.P(0.5).Round(10*time.Microsecond), r.P(0.99).Round(10*time.Microsecond), r.P(1).Round(10*time.Microsecond))
	}
	peak := uint64(0)
	for _, x := range seen.samples {
		peak = max(peak, x.memory)
	}
	fmt.Fprintf(w, "\nRequests: %d, %d failed; while nothing failed %s; while something did %s.\n",
		final.Answered, failed, latencies(seen.healthy), latencies(seen.rest))
	fmt.Fprintf(w, "Memory: at most %.1f MiB of the system; live heap, lower quartiles: %.1f MiB in the second quarter of the time, %.1f MiB in the last; goroutines without connections' at least %d and %d.\n",
		mib(peak), mib(second), mib(fourth), idle, idleAfter)
	fmt.Fprintf(w, "Looks at the books: %d, all equal: %t. After the load everything was settled within %v.\n\n", len(seen.samples), seen.unbalanced == nil, took.Round(time.Millisecond))
	fmt.Fprintf(w, "| | accepted | = delivered | + lost | + pending |\n|---|---:|---:|---|---:|\n")
	for _, b := range []struct {
		name string
		of   trial.Book
	}{{"spans", trial.Spans(final.Stats)}, {"profiles", trial.Profiles(final.Stats)}} {
		fmt.Fprintf(w, "| %s | %d | %d | %s | %d |\n", b.name, b.of.Accepted, b.of.Delivered, b.of.Causes(), b.of.Pending)
	}
	return errors.Join(wrong...)
}

// quiet waits until nothing waits that was recorded, but for the profiles of a round.
func quiet(ctx context.Context, process *trial.Service) (a trial.Account, err error) {
	within, cancel := context.WithTimeout(ctx, healWithin)
	defer cancel()
	err = backend.Poll(within, func() (bool, error) {
		var err error
		a, err = process.Account(within)
		return err == nil && a.Stats.Delivery.Pending == 0 && a.Stats.Profiles.Pending == 0 && a.Complete(true) == nil, err
	})
	if err != nil {
		err = fmt.Errorf("not all was delivered or lost %v after the load: %w; counts are %+v", healWithin, err, a.Stats)
	}
	return a, err
}

// last has the service answer requests for some seconds when all is well: its spans must
// all be in Jaeger, and its profiles be taken by Pyroscope.
func last(ctx context.Context, s *stack, process *trial.Service, rate int, before trial.Account) error {
	taken, err := s.pyroscope.Taken(ctx)
	if err != nil {
		return err
	}
	from := time.Now()
	load := trial.StartLoad(process.URL(), rate)
	until(ctx, from.Add(3*time.Second))
	load.Stop()
	a, err := quiet(ctx, process)
	if err != nil {
		return err
	}
	spans, profiles := trial.Spans(a.Stats), trial.Profiles(a.Stats)
	want := int(a.SpansRecorded() - before.SpansRecorded())
	within, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	found := 0
	err = backend.Poll(within, func() (bool, error) {
		var err error
		found, err = s.jaeger.SpanCountSince(within, service, from)
		return found >= want, err
	})
	if found != want || spans.Delivered-trial.Spans(before.Stats).Delivered != uint64(want) {
		return fmt.Errorf("after all was well again the service made %d spans, %d were counted as delivered, and Jaeger has %d: %w",
			want, spans.Delivered-trial.Spans(before.Stats).Delivered, found, err)
	}
	now, err := s.pyroscope.Taken(ctx)
	if err != nil {
		return err
	}
	// It may have taken those of the next round by now.
	if sent := int(profiles.Delivered - trial.Profiles(before.Stats).Delivered); now-taken < sent {
		return fmt.Errorf("after all was well again %d profiles were counted as delivered, and Pyroscope took %d", sent, now-taken)
	}
	return nil
}
