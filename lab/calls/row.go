package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/perfline/perfline/lab/internal/process"
)

// A row is one thing that is measured.
type row struct {
	group, name string
	procs       int // GOMAXPROCS, and goroutines that make the calls
	open        func() (*bench, error)

	samples []sample
	fixed   bool // measured by another program: no CPU, no allocations
}

// A bench is a row in operation. It is made for each sample and dropped after it,
// so that no row's memory burdens the garbage collector in another's.
type bench struct {
	burst int         // calls before settle
	op    func(n int) // n calls, on the calling goroutine
	// does and waits for what the calls left to do; may be nil
	settle func() error
	// whether all calls arrived where they should; may be nil
	check  func(calls uint64) error
	around func() (stop func(), err error) // what a sample is taken under; may be nil
	close  func() error                    // may be nil
	calls  uint64
}

// A sample is one round's result, in multiples of one time.Now().
type sample struct{ caller, cpu, allocs, bytes, now float64 }

// measure adds a sample of about the given length.
func (r *row) measure(length time.Duration) (err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(r.procs))
	b, err := r.open()
	if err != nil {
		return err
	}
	if b.close != nil {
		defer func() { err = errors.Join(err, b.close()) }()
	}
	for range 3 { // warm: pools, maps, lazily made things
		r.bursts(b)
		b.calls += uint64(b.burst * r.procs)
		if err := b.settled(); err != nil {
			return err
		}
	}
	runtime.GC() // the last row's memory
	now := timeNow()
	if b.around != nil {
		stop, err := b.around()
		if err != nil {
			return err
		}
		defer stop()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu := process.CPUTime()
	var busy time.Duration
	calls := 0
	for begin := time.Now(); time.Since(begin) < length; {
		busy += r.bursts(b)
		calls += b.burst * r.procs
		if err := b.settled(); err != nil {
			return err
		}
	}
	cpu = process.CPUTime() - cpu
	runtime.ReadMemStats(&after)
	b.calls += uint64(calls)
	if b.check != nil {
		if err := b.check(b.calls); err != nil {
			return err
		}
	}
	r.samples = append(r.samples, sample{
		caller: float64(busy) / float64(calls) / now,
		cpu:    float64(cpu) / float64(calls) / now,
		allocs: float64(after.Mallocs-before.Mallocs) / float64(calls),
		bytes:  float64(after.TotalAlloc-before.TotalAlloc) / float64(calls),
		now:    now,
	})
	return nil
}

// bursts makes one burst on each processor and returns the time they took
// together.
func (r *row) bursts(b *bench) (busy time.Duration) {
	if r.procs == 1 {
		begin := time.Now()
		b.op(b.burst)
		return time.Since(begin)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex // guards busy
	start := make(chan struct{})
	for range r.procs {
		wg.Go(func() {
			<-start
			begin := time.Now()
			b.op(b.burst)
			took := time.Since(begin)
			mu.Lock()
			defer mu.Unlock()
			busy += took
		})
	}
	close(start)
	wg.Wait()
	return busy
}

func (b *bench) settled() error {
	if b.settle == nil {
		return nil
	}
	return b.settle()
}

// timeNow is what one time.Now() costs at this moment, in nanoseconds.
func timeNow() float64 {
	const n, tries = 5_000, 5
	var took []time.Duration
	for range tries {
		begin := time.Now()
		for range n {
			_ = time.Now()
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	return float64(took[tries/2]) / n
}

func (r *row) median(of func(sample) float64) float64 {
	values := make([]float64, len(r.samples))
	for i, s := range r.samples {
		values[i] = of(s)
	}
	return middle(values)
}

// middle is the median of values, which it sorts.
func middle(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

func (r *row) caller() float64 { return r.median(func(s sample) float64 { return s.caller }) }
func (r *row) allocs() float64 { return r.median(func(s sample) float64 { return s.allocs }) }
func (r *row) bytes() float64  { return r.median(func(s sample) float64 { return s.bytes }) }
func (r *row) nanos() float64 {
	return r.median(
		func(s sample) float64 { return s.caller * s.now })
}

// cpu is a mean: garbage is collected in some rounds and not in others.
func (r *row) cpu() (mean float64) {
	for _, s := range r.samples {
		mean += s.cpu / float64(len(r.samples))
	}
	return mean
}

// nowCost is the median cost of time.Now() in the run.
func nowCost(rows []*row) float64 {
	all := &row{}
	for _, r := range rows {
		all.samples = append(all.samples, r.samples...)
	}
	return all.median(func(s sample) float64 { return s.now })
}

// find is the row of that group and name.
func find(rows []*row, group, name string) *row {
	for _, r := range rows {
		if r.group == group && r.name == name {
			return r
		}
	}
	panic(fmt.Sprintf("there is no row %q %q", group, name))
}
