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
// varies. With -into what it prints is written into a document, between its markers, if all
// is well.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/integration/trial"
	"github.com/perfline/perfline/internal/document"
)

func main() {
	trial.Main() // the service is this program again
	length := flag.Duration("for", 20*time.Minute, "how long, without the end's flushing")
	seed := flag.Uint64("seed", 1, "which faults, and when")
	rate := flag.Int("rate", 200, "requests a second")
	svg := flag.String("svg", "", "file for a picture of the memory; none if empty")
	into := flag.String("into", "", "document to write the figures into, between its markers")
	flag.Parse()
	// What is stopped stops its backends.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *length, *seed, *rate, *svg, *into, flag.Args())
	stop()
	if err != nil {
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
	// What is shorter has profiles taken oftener than by default.
	minDefault = 5 * time.Minute

	part = "soak" // of the document
)

func run(ctx context.Context, length time.Duration, seed uint64, rate int, svg, into string, rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("%q: no arguments are taken, only flags", rest)
	case length < minLength:
		return fmt.Errorf("-for %v: must be at least %v", length, minLength)
	case rate < 1 || rate > maxRate:
		return fmt.Errorf("-rate %d: must be between 1 and %d", rate, maxRate)
	case into != "" && length < minDefault:
		return fmt.Errorf("-into %s: needs -for %v or more: the figures of less are no measurements", into, minDefault)
	}
	if into != "" {
		if err := document.Check(into, part); err != nil {
			return fmt.Errorf("-into: %w", err)
		}
	}
	uploads := 15 * time.Second // the default
	if length < minDefault {
		uploads = time.Second
	}
	episodes := schedule(seed, length)
	var text bytes.Buffer
	out := io.MultiWriter(os.Stdout, &text)
	fmt.Fprintf(out, "Soak: %v at %d requests/s of %d spans, profiles every %v, seed %d: %d faults.\n\n", length, rate, trial.SpansOfRequest, uploads, seed, len(episodes))
	for _, e := range episodes {
		fmt.Fprintln(out, "    "+e.String())
	}
	s, err := startStack(ctx)
	if err != nil {
		return err
	}
	err = soak(ctx, out, s, length, rate, uploads, episodes, svg)
	if err := errors.Join(err, s.stop()); err != nil || into == "" {
		return err
	}
	return document.Write(into, document.Part{Name: part, Text: text.String()})
}

func soak(ctx context.Context, out io.Writer, s *stack, length time.Duration, rate int, uploads time.Duration, episodes []episode, svg string) error {
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

	seen := &series{}
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
	return finish(ctx, out, s, process, seen, load.Total(), rate, length)
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
func finish(ctx context.Context, w io.Writer, s *stack, process *trial.Service, seen *series, requests trial.Results, rate int, length time.Duration) error {
	healed := time.Now()
	if _, err := quiet(ctx, process); err != nil {
		return errors.Join(seen.unbalanced, requests.Err(), err)
	}
	took := time.Since(healed)
	rest, err := last(ctx, s, process, rate)
	wrong := []error{seen.unbalanced, requests.Err(), rest.Err(), err}
	final, err := process.Terminate(ctx)
	if err != nil {
		return errors.Join(append(wrong, err)...)
	}
	wrong = append(wrong, final.Balanced(), final.Complete(true), final.Told())
	if p, q := final.Stats.Delivery.Pending, final.Stats.Profiles.Pending; p > 0 || q > 0 {
		wrong = append(wrong, fmt.Errorf("%d spans and %d profiles were given up at the end, when all was well", p, q))
	}
	answered, failed := requests.Answered+rest.Answered, requests.Failed+rest.Failed
	if int(final.Answered) != answered {
		wrong = append(wrong, fmt.Errorf("the service answered %d requests, and %d answers arrived", final.Answered, answered))
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
		answered+failed, failed, latencies(seen.healthy), latencies(seen.rest))
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
// all be in Jaeger, and its profiles be taken by Pyroscope. It returns what became of the
// requests.
func last(ctx context.Context, s *stack, process *trial.Service, rate int) (requests trial.Results, err error) {
	// In this order: what is counted as delivered after the account, at which nothing waits,
	// Pyroscope had not taken yet.
	taken, err := s.pyroscope.Taken(ctx)
	if err != nil {
		return requests, err
	}
	before, err := quiet(ctx, process)
	if err != nil {
		return requests, err
	}
	from := time.Now()
	load := trial.StartLoad(process.URL(), rate)
	until(ctx, from.Add(3*time.Second))
	load.Stop()
	requests = load.Total()
	a, err := quiet(ctx, process)
	if err != nil {
		return requests, err
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
		return requests, fmt.Errorf("after all was well again the service made %d spans, %d were counted as delivered, and Jaeger has %d: %w",
			want, spans.Delivered-trial.Spans(before.Stats).Delivered, found, err)
	}
	now, err := s.pyroscope.Taken(ctx)
	if err != nil {
		return requests, err
	}
	// It may have taken those of the next round by now.
	if sent := int(profiles.Delivered - trial.Profiles(before.Stats).Delivered); now-taken < sent {
		return requests, fmt.Errorf("after all was well again %d profiles were counted as delivered, and Pyroscope took %d", sent, now-taken)
	}
	return requests, nil
}
