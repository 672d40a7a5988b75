package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync"
	"time"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/lab/internal/figures"
	"github.com/perfline/perfline/lab/internal/process"
	"github.com/perfline/perfline/lab/internal/service"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/profiling"
)

// overhead measures two kinds of work without a profiler and with each.
func overhead(ctx context.Context, rounds int, length time.Duration) error {
	// No backend: requests become spans, and those are kept or dropped in memory.
	pl, err := perfline.Start(ctx,
		perfline.Config{Service: "benchmark",
			Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		return err
	}
	defer func() { _ = pl.Shutdown(ctx) }() // it delivers nothing anywhere
	works := []struct {
		name string
		open func(context.Context) (do func() error, done func())
	}{{"a loop on every core", openLoop},
		{"HTTP requests, one after the other from each client", openHTTP}}
	fmt.Printf("Overhead: %d rounds of %v. CPU of the process for each unit of work, latencies of a unit, bytes allocated in a second, heap in use at the end.\n", rounds, length)
	for _, w := range works {
		var rows []*cost
		for _, idle := range []int{100, 1000} {
			off := &cost{name: fmt.Sprintf("no profiler, %d goroutines wait", idle), idle: idle,
				profile: func() (func() error, error) {
					return func() error { return nil }, nil
				}}
			rows = append(rows, off,
				&cost{name: "`runtime/pprof`, 100 Hz", idle: idle, against: off, profile: standard},
				&cost{name: "perfline, 10 ms", idle: idle, against: off,
					profile: ours(profiling.Options{})},
				&cost{name: "perfline, `Wall`, 10 ms asked", idle: idle, against: off,
					profile: ours(profiling.Options{Wall: true})})
		}
		do, closeWork := w.open(ctx)
		for i := range rounds {
			fmt.Fprintf(os.Stderr, "\r%s: round %d of %d ", w.name, i+1, rounds)
			for k := range rows { // each round begins with another row
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := rows[(k+i)%len(rows)].measure(do, length); err != nil {
					return err
				}
			}
		}
		closeWork()
		fmt.Fprintln(os.Stderr)
		fmt.Printf("\n| **%s** | CPU a unit | against none | p50 | p99 | allocated/s | heap |\n|---|---:|---:|---:|---:|---:|---:|\n", w.name)
		for _, r := range rows {
			fmt.Println(r)
			if r.against == nil {
				continue
			}
			name := fmt.Sprintf("%s, %s, %d goroutines wait: CPU against no profiler", w.name,
				r.name, r.idle)
			if err := figures.Add(figuresInto, name, "", r.more(), nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// standard is the profiler of the standard library.
func standard() (stop func() error, err error) {
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		return nil, err
	}
	return func() error { pprof.StopCPUProfile(); return nil }, nil
}

func ours(o profiling.Options) func() (func() error, error) {
	o.SampleInterval, o.MaxBufferSize = 10*time.Millisecond, 1_000_000
	return func() (func() error, error) {
		p, err := profiling.Start(context.Background(), o)
		if err != nil {
			return nil, err
		}
		return func() error {
			t, err := p.Stop()
			if err == nil && t.Stats.Gaps > 0 {
				err = fmt.Errorf("the session had gaps: %+v", t.Stats)
			}
			return err
		}, nil
	}
}

// A cost is a row: what a unit of work costs under a profiler.
type cost struct {
	name    string
	idle    int // goroutines that wait
	against *cost
	profile func() (stop func() error, err error)

	cpu         []float64 // nanoseconds for a unit, by round
	took        []time.Duration
	bytes, heap []float64
}

func (c *cost) measure(do func() error, length time.Duration) error {
	parked := make(chan struct{})
	var idle sync.WaitGroup
	for range c.idle {
		idle.Go(func() { <-parked })
	}
	defer idle.Wait()
	defer close(parked)
	runtime.GC()
	stop, err := c.profile()
	if err != nil {
		return err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, begin := process.CPUTime(), time.Now()
	took, err := work(runtime.GOMAXPROCS(0), do, length)
	cpu, elapsed := process.CPUTime()-cpu, time.Since(begin)
	runtime.ReadMemStats(&after)
	if err != nil {
		return err
	}
	c.cpu = append(c.cpu, float64(cpu)/float64(len(took)))
	c.took = append(c.took, took...)
	c.bytes = append(c.bytes, float64(after.TotalAlloc-before.TotalAlloc)/elapsed.Seconds())
	c.heap = append(c.heap, float64(after.HeapInuse))
	return stop()
}

// work does units on that many goroutines, and says how long each took.
func work(goroutines int, do func() error, length time.Duration) ([]time.Duration, error) {
	var mu sync.Mutex // guards all and failed
	var all []time.Duration
	var failed error
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			var took []time.Duration
			var err error
			for begin := time.Now(); err == nil && (len(took) == 0 || time.Since(begin) < length); {
				t := time.Now()
				err = do()
				took = append(took, time.Since(t))
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, took...)
			if err != nil {
				failed = err
			}
		})
	}
	wg.Wait()
	return all, failed
}

// more is what the profiler adds to the CPU of a unit.
func (c *cost) more() string {
	ratios := make([]float64, len(c.cpu))
	for i := range ratios {
		ratios[i] = c.cpu[i] / c.against.cpu[i]
	}
	return fmt.Sprintf("%+.2f %%", (median(ratios)-1)*100)
}

func (c *cost) String() string {
	against := "–"
	if c.against != nil {
		against = c.more()
	}
	slices.Sort(c.took)
	at := func(q float64) time.Duration { return c.took[int(q*float64(len(c.took)-1))] }
	return fmt.Sprintf("| %s | %.1f µs | %s | %v | %v | %.2f MB | %.1f MB |", c.name,
		median(c.cpu)/1e3, against,
		at(0.5).Round(100*time.Nanosecond), at(0.99).Round(100*time.Nanosecond),
		median(c.bytes)/1e6, median(c.heap)/1e6)
}

func median(values []float64) float64 {
	values = slices.Clone(values)
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

func openLoop(context.Context) (do func() error, done func()) {
	return func() error { sink(spin(200_000)); return nil }, func() {}
}

// openHTTP serves requests that do a little work, measured by perfline.
func openHTTP(ctx context.Context) (do func() error, done func()) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /work", func(w http.ResponseWriter, r *http.Request) {
		ctx, t := marks.Start(r.Context(), "work")
		sink(spin(20_000))
		t.End()
		marks.Mark(ctx, "done")
		_, _ = io.WriteString(w, "ok")
	})
	srv := httptest.NewServer(bridgehttp.Middleware(mux))
	client := srv.Client()
	client.Transport.(*http.Transport).MaxIdleConnsPerHost = 64
	return func() error { return service.Get(ctx, client, srv.URL+"/work") }, srv.Close
}

// spin computes for a while; n is in some nanoseconds.
//
//go:noinline
func spin(n int) uint64 {
	x := uint64(88172645463325252)
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}
