package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perfline/perfline/integration/trial"
)

// A sample is what the service used at one time.
type sample struct {
	at           time.Duration // since the load began
	memory, heap uint64        // bytes: of the system; live after the last garbage collection
	goroutines   int           // without those of connections
}

// A series is what was seen, once a second.
type series struct {
	samples       []sample
	healthy, rest []time.Duration // latencies of requests: while nothing failed, and while something did
	unbalanced    error           // the first time that the books did not add up
}

func (s *series) add(at time.Duration, a trial.Account) {
	s.samples = append(s.samples, sample{at, a.Memory, a.LiveHeap, a.Goroutines - a.Connections})
	if err := a.Balanced(); err != nil && s.unbalanced == nil {
		s.unbalanced = fmt.Errorf("after %v: %w", at.Round(time.Millisecond), err)
	}
}

// requests adds those of a second in which something failed, or nothing.
func (s *series) requests(r trial.Results, failing bool) {
	if failing {
		s.rest = append(s.rest, r.Latencies...)
	} else {
		s.healthy = append(s.healthy, r.Latencies...)
	}
}

// quarters are the lower quartiles of the live heap in the second and the last quarter
// of the time: in the first the service is young, and while the queue is full the heap is
// what the queue holds.
func (s *series) quarters(length time.Duration) (second, last uint64, err error) {
	quartile := func(from, to time.Duration) uint64 {
		var heaps []uint64
		for _, x := range s.samples {
			if x.at >= from && x.at < to {
				heaps = append(heaps, x.heap)
			}
		}
		if len(heaps) == 0 {
			return 0
		}
		slices.Sort(heaps)
		return heaps[len(heaps)/4]
	}
	second, last = quartile(length/4, length/2), quartile(length*3/4, length)
	if second == 0 || last == 0 {
		return second, last, errors.New("the heap was not looked at in each quarter of the time")
	}
	if last > second+second/4+moreHeap {
		return second, last, fmt.Errorf("the live heap grows: its lower quartile is %d bytes in the second quarter of the time and %d in the last", second, last)
	}
	return second, last, nil
}

// moreHeap is what the live heap may differ by, besides a quarter of it: two garbage
// collections do not find the same requests and profiles under way.
const moreHeap = 2 << 20

// idle are the least goroutines in the second and the last quarter of the time, so that
// those of requests under way are not among them.
func (s *series) idle(length time.Duration) (second, last int, err error) {
	least := func(from, to time.Duration) int {
		n := 0
		for _, x := range s.samples {
			if x.at >= from && x.at < to && (n == 0 || x.goroutines < n) {
				n = x.goroutines
			}
		}
		return n
	}
	second, last = least(length/4, length/2), least(length*3/4, length)
	if last > second+moreGoroutines {
		return second, last, fmt.Errorf("goroutines are left: at least %d in the second quarter of the time and %d in the last", second, last)
	}
	return second, last, nil
}

// moreGoroutines is what may be more: a backend's connection has some, and may be away in
// all of the second quarter.
const moreGoroutines = 8
