package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/integration/load"
	"github.com/perfline/perfline/lab/trial/internal/service"
)

// randomName is the name of the row and of the service.
const randomName = "random"

const (
	minRandom = 10 * time.Second // shorter, and an episode is not long enough for anything

	// A shorter schedule has profiles uploaded more often than by default.
	minDefaultUploads = 5 * time.Minute
	defaultUploads    = 15 * time.Second

	// moreLiveHeap is what the live heap may differ by, besides a quarter of it: two garbage
	// collections do not find the same requests and profiles under way.
	moreLiveHeap = 2 << 20
	// moreIdleGoroutines is what may be more: a signal's connection has three, and may be away in
	// all of the second quarter.
	moreIdleGoroutines = 12
)

func randomRow() row {
	return row{name: randomName, part: randomPart, start: addAll,
		try: tryRandom}
}

// A randomTrial is a trial with a random schedule.
type randomTrial struct {
	*trial
	length time.Duration
	// latencies of requests: while nothing failed, and while something did
	healthy, rest []time.Duration
	looks         int
}

func tryRandom(ctx context.Context, t *trial, set settings) error {
	uploads := defaultUploads
	if set.random < minDefaultUploads {
		uploads = uploadEvery
	}
	episodes := random(set.seed, set.random)
	var text strings.Builder
	fmt.Fprintf(&text, "Random faults: %v at %d requests/s of %d spans, profiles every %v, seed %d: %d faults.\n\n",
		set.random, set.rate, service.SpansOfRequest, uploads, set.seed, len(episodes))
	defer func() { t.text = text.String() }()
	for _, e := range episodes {
		fmt.Fprintln(&text, "    "+e.String())
	}
	if err := t.begin(ctx, set.rate, 0, "PYROSCOPE_UPLOAD_INTERVAL="+uploads.String()); err != nil {
		return err
	}
	r := &randomTrial{trial: t, length: set.random}
	if err := r.watch(ctx, episodes); err != nil {
		return err
	}
	if set.svg != "" {
		if err := drawSVG(set.svg, t.samples, episodes, set.random); err != nil {
			return err
		}
	}
	return r.settleAndReport(ctx, &text, set)
}

// watch plays the episodes, and looks at the service each second.
func (r *randomTrial) watch(ctx context.Context, episodes []episode) error {
	playing, cancel := context.WithCancel(ctx)
	defer cancel()
	played := make(chan error, 1)
	go func() {
		_, err := r.bench.play(playing, r.began, episodes)
		played <- err
	}()
	_, err := r.look(ctx, time.Second, func(service.Account) bool {
		r.looks++
		now := time.Since(r.began)
		r.sort(r.load.Take(),
			slices.ContainsFunc(episodes,
				func(e episode) bool { return e.begin <= now && now-time.Second < e.end() }))
		return now >= r.length
	})
	if err != nil {
		cancel() // the episodes under way end at once
	}
	return errors.Join(err, <-played)
}

// sort adds the requests of a second in which something failed, or nothing.
func (r *randomTrial) sort(requests load.Results, failing bool) {
	if failing {
		r.rest = append(r.rest, requests.Latencies...)
	} else {
		r.healthy = append(r.healthy, requests.Latencies...)
	}
}

// settleAndReport waits until everything is delivered or lost, has the service do a little more,
// all of which must arrive, and writes the report.
func (r *randomTrial) settleAndReport(ctx context.Context, w io.Writer, set settings) error {
	r.endLoad()
	began := time.Now()
	before, err := r.quiet(ctx)
	if err != nil {
		return err
	}
	settled := time.Since(began)
	if err := r.allArrives(ctx, before, set.rate); err != nil {
		return err
	}
	final, err := r.process.Terminate(ctx)
	if err != nil {
		return err
	}
	r.check(final)
	r.checkNothingPending(final)
	if err := r.compareAll(ctx, final, true); err != nil {
		return err
	}
	heap, heapAfter, grows := liveHeaps(r.samples, r.length)
	idle, idleAfter, left := idleGoroutines(r.samples, r.length)
	if !set.short {
		r.fail(grows)
		r.fail(left)
	}

	peak := uint64(0)
	for _, s := range r.samples {
		peak = max(peak, s.memory)
	}
	fmt.Fprintf(w, "\nRequests: %d, %d failed; while nothing failed %s; while something did %s.\n",
		r.requests.Answered+r.requests.Failed, r.requests.Failed, quantiles(r.healthy),
		quantiles(r.rest))
	fmt.Fprintf(w, "Memory: at most %s MiB of the system; live heap, lower quartiles: %s MiB in the second quarter of the time, %s MiB in the last; goroutines without connections' at least %d and %d.\n",
		mib(peak), mib(heap), mib(heapAfter), idle, idleAfter)
	fmt.Fprintf(w, "Looks at the books: %d, all equal: %t. After the load everything was settled within %v.\n\n", r.looks, !r.unbalanced, settled.Round(time.Millisecond))
	fmt.Fprint(w, "| | accepted | = delivered | + lost | + pending |\n|---|---:|---:|---|---:|\n")
	for _, f := range r.flows {
		fmt.Fprintf(w, "| %s | %s |\n", f.what, sums(f.book))
	}
	return nil
}

func quantiles(latencies []time.Duration) string {
	slices.Sort(latencies)
	p := func(q float64) time.Duration {
		return load.Quantile(latencies,
			q).Round(10 * time.Microsecond)
	}
	return fmt.Sprintf("p50 %v, p99 %v, max %v", p(0.5), p(0.99), p(1))
}

// allArrives has the service answer requests for some seconds when all is well: its spans must
// all be in Jaeger, and all its log records delivered.
func (r *randomTrial) allArrives(ctx context.Context, before service.Account, rate int) error {
	from := time.Now()
	r.beginLoad(ctx, rate)
	waitUntil(ctx, from.Add(3*time.Second))
	r.endLoad()
	a, err := r.quiet(ctx)
	if err != nil {
		return err
	}
	want := int(a.SpansRecorded() - before.SpansRecorded())
	delivered := int(a.Stats.Delivery.Delivered - before.Stats.Delivery.Delivered)
	if n, records := (a.Answered-before.Answered)*service.Marks,
		a.Stats.Logs.Delivered-before.Stats.Logs.Delivered; records != n {
		return fmt.Errorf("after all was well again the service made %d log records, and %d were counted as delivered", n, records)
	}
	within, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	found := 0
	err = backend.Poll(within, func() (bool, error) {
		var err error
		found, err = r.bench.jaeger.SpanCountSince(within, r.name, from)
		return found >= want, err
	})
	if found != want || delivered != want {
		return fmt.Errorf("after all was well again the service made %d spans, %d were counted as delivered, and Jaeger has %d: %w", want, delivered, found, err)
	}
	return nil
}

// in returns the samples of a part of the time.
func in(samples []sample, from, to time.Duration) []sample {
	return slices.DeleteFunc(slices.Clone(samples),
		func(s sample) bool { return s.at < from || s.at >= to })
}

// liveHeaps are the lower quartiles of the live heap in the second and the last quarter of the
// time. In the first quarter the service is young. While the queue is full, the heap is what the
// queue holds.
func liveHeaps(samples []sample, length time.Duration) (second, last uint64, err error) {
	quartile := func(from, to time.Duration) uint64 {
		part := in(samples, from, to)
		slices.SortFunc(part, func(a, b sample) int { return cmp.Compare(a.heap, b.heap) })
		return load.Quantile(part, 0.25).heap
	}
	second, last = quartile(length/4, length/2), quartile(length*3/4, length)
	if second == 0 || last == 0 {
		return second, last, errors.New("the heap was not looked at in each quarter of the time")
	}
	if last > second+second/4+moreLiveHeap {
		return second, last,
			fmt.Errorf("the live heap grows: its lower quartile is %d bytes in the second quarter of the time and %d in the last", second, last)
	}
	return second, last, nil
}

// idleGoroutines are the least goroutines in the second and the last quarter of the time, so that
// goroutines of requests under way are not among them.
func idleGoroutines(samples []sample, length time.Duration) (second, last int, err error) {
	least := func(from, to time.Duration) int {
		part := in(samples, from, to)
		slices.SortFunc(part,
			func(a, b sample) int { return cmp.Compare(a.goroutines, b.goroutines) })
		return load.Quantile(part, 0).goroutines
	}
	second, last = least(length/4, length/2), least(length*3/4, length)
	if last > second+moreIdleGoroutines {
		return second, last,
			fmt.Errorf("goroutines are left: at least %d in the second quarter of the time and %d in the last", second, last)
	}
	return second, last, nil
}
