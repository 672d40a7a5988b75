package cpushare

import (
	"runtime"
	"sync"
	"time"
)

const (
	span = 50 * time.Millisecond
	// A loop that reads the clock takes less than a microsecond a round. An interrupt takes some
	// tens of them.
	interruption = 200 * time.Microsecond
)

// measure returns the part of the processors that this process gets. A thread on each of them reads
// the clock all the time. Where the clock jumps, another program ran, or another virtual machine: a
// count of CPU time would not show the latter.
func measure() float64 {
	n := min(runtime.GOMAXPROCS(0), runtime.NumCPU())
	parts := make([]float64, n)
	var all sync.WaitGroup
	for i := range parts {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			parts[i] = attention()
		})
	}
	all.Wait()
	var sum float64
	for _, p := range parts {
		sum += p
	}
	return sum / float64(n)
}

// attention is the part of the time in which this thread ran.
func attention() float64 {
	began := time.Now()
	last, lost := began, time.Duration(0)
	for last.Sub(began) < span {
		now := time.Now()
		if gap := now.Sub(last); gap > interruption {
			lost += gap
		}
		last = now
	}
	return 1 - float64(lost)/float64(last.Sub(began))
}
