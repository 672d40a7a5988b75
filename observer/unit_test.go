package observer_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/observer"
)

// A piece is an interval with the number of its unit.
type piece struct {
	unit, number int
	size         int
}

func (p *piece) Size() int { return p.size }

// tracing keeps what it receives.
type tracing struct {
	before func(finished []observer.Interval) // of each hand-over

	mu    sync.Mutex // guards what follows
	parts [][]*piece
}

func (c *tracing) HandOver(finished []observer.Interval) {
	if c.before != nil {
		c.before(finished)
	}
	part := make([]*piece, len(finished))
	for i, f := range finished {
		part[i] = f.(*piece)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parts = append(c.parts, part)
}

// take returns the parts that have come since the last call.
func (c *tracing) take() [][]*piece {
	c.mu.Lock()
	defer c.mu.Unlock()
	parts := c.parts
	c.parts = nil
	return parts
}

func (c *tracing) lengths() (all []int) {
	for _, part := range c.take() {
		all = append(all, len(part))
	}
	return all
}

func addTo(u *observer.Unit, n, size int) {
	for i := range n {
		u.Add(&piece{number: i, size: size})
	}
}

func TestUnitHandsOver(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(*observer.Units)
		want []int // lengths of the parts
	}{
		"a root alone": {func(us *observer.Units) { us.HandOver(&piece{}) }, []int{1}},
		"a root with children": {func(us *observer.Units) {
			u := us.New(false)
			addTo(u, 3, 1)
			u.End(&piece{})
		}, []int{4}},
		"nothing before the root's end": {func(us *observer.Units) { addTo(us.New(false), 500, 1) }, nil},
		"each interval after the root's end": {func(us *observer.Units) {
			u := us.New(false)
			u.End(&piece{})
			addTo(u, 3, 1)
		}, []int{1, 1, 1, 1}},
		"a unit whose root has ended": {func(us *observer.Units) { addTo(us.New(true), 2, 1) }, []int{1, 1}},
		"a root without an interval": {func(us *observer.Units) {
			u := us.New(false)
			addTo(u, 2, 1)
			u.Close()
			addTo(u, 1, 1)
		}, []int{2, 1}},
		"a root without anything": {func(us *observer.Units) { us.New(false).Close() }, nil},
		"parts of 512": {func(us *observer.Units) {
			u := us.New(false)
			addTo(u, 1100, 1)
			u.End(&piece{})
		}, []int{512, 512, 77}},
		"parts of 512 KiB": {func(us *observer.Units) {
			u := us.New(false)
			addTo(u, 5, 256<<10)
			u.End(&piece{})
		}, []int{2, 2, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			var got tracing
			us := observer.NewUnits(&got)
			c.do(us)
			if lengths := got.lengths(); !slices.Equal(lengths, c.want) {
				t.Errorf("received parts of %v, want %v", lengths, c.want)
			}
		})
	}
}

// An open unit is handed over after 2.5 to 5 s, and nothing runs when none waits.
func TestUnitsSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got tracing
		us := observer.NewUnits(&got)
		u := us.New(false)
		addTo(u, 3, 10)
		time.Sleep(time.Second)
		late := us.New(false)
		addTo(late, 1, 10)
		if s := us.Stats(); s.Waiting != 2 || s.WaitingBytes != 40 {
			t.Errorf("%d units and %d bytes wait, want 2 and 40", s.Waiting, s.WaitingBytes)
		}
		time.Sleep(1500*time.Millisecond + 1)
		synctest.Wait()
		if lengths := got.lengths(); lengths != nil {
			t.Errorf("after 2.5 s, parts of %v have come", lengths)
		}
		time.Sleep(2500 * time.Millisecond)
		synctest.Wait()
		lengths := got.lengths()
		slices.Sort(lengths)
		if !slices.Equal(lengths, []int{1, 3}) {
			t.Errorf("after 5 s, parts of %v have come, want 1 and 3", lengths)
		}
		addTo(u, 1, 10)
		u.End(&piece{})
		if lengths := got.lengths(); !slices.Equal(lengths, []int{2}) {
			t.Errorf("the end brought parts of %v, want 2", lengths)
		}
		if s := us.Stats(); s != (observer.UnitStats{Old: 2}) {
			t.Errorf("stats are %+v, want 2 old ones", s)
		}
	})
}

// Many units that never end are bounded in number and in bytes, and what has finished is handed over all the same.
func TestUnitsAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		units, size, mostUnits, mostBytes int
	}{
		"number": {400_000, 1, 16 << 10, 400_000},
		"bytes":  {4_000, 200 << 10, 4_000, 64 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			var received atomic.Int64
			us := observer.NewUnits(&tracing{before: func(f []observer.Interval) { received.Add(int64(len(f))) }})
			for range c.units {
				addTo(us.New(false), 1, c.size)
			}
			s := us.Stats()
			if s.Waiting > c.mostUnits || s.WaitingBytes > c.mostBytes || s.Waiting < c.mostUnits/3 && s.WaitingBytes < c.mostBytes/3 {
				t.Errorf("%d units and %d bytes wait, want at most %d and %d, and not much less", s.Waiting, s.WaitingBytes, c.mostUnits, c.mostBytes)
			}
			if s.Crowded == 0 || int64(s.Crowded) != received.Load() || int(s.Crowded)+s.Waiting != c.units {
				t.Errorf("of %d units, %d were handed over for want of room, %d arrived, and %d wait", c.units, s.Crowded, received.Load(), s.Waiting)
			}
			if err := us.Flush(t.Context()); err != nil {
				t.Error(err)
			}
			if s := us.Stats(); received.Load() != int64(c.units) || s.Waiting != 0 || s.WaitingBytes != 0 {
				t.Errorf("%d of %d units arrived, and %d with %d bytes wait still", received.Load(), c.units, s.Waiting, s.WaitingBytes)
			}
		})
	}
}

// Goroutines add intervals before and after the end of units, keep units for long, and flush, all at once. Each interval
// arrives once, in a part of its own unit. With the race detector, storage is poisoned when it is released.
func TestUnitsHammer(t *testing.T) {
	const goroutines, rounds = 8, 300
	var got tracing
	got.before = func(finished []observer.Interval) {
		first := finished[0].(*piece).unit
		for _, f := range finished {
			if p := f.(*piece); p.unit != first {
				t.Errorf("a part has intervals of units %d and %d", first, p.unit)
			}
		}
		runtime.Gosched() // others reuse storage meanwhile, if they can
		if again := finished[0].(*piece).unit; again != first {
			t.Errorf("a part of unit %d became one of unit %d while it was read", first, again)
		}
	}
	us := observer.NewUnits(&got)
	type numbered struct {
		unit   *observer.Unit
		number int
	}
	var units [4]atomic.Pointer[numbered] // units that are used long after their end
	var made atomic.Int64
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(g)))
			for round := range rounds {
				number := g*rounds + round + 1
				u := us.New(false)
				var children sync.WaitGroup
				for range 1 + r.IntN(3) {
					n := r.IntN(40)
					children.Go(func() {
						for range n {
							made.Add(1)
							u.Add(&piece{unit: number, size: 100})
						}
					})
				}
				if r.IntN(2) == 0 {
					children.Wait() // else children finish after the root
				}
				made.Add(1)
				u.End(&piece{unit: number, size: 100})
				children.Wait()
				if late := units[r.IntN(len(units))].Swap(&numbered{u, number}); late != nil {
					made.Add(1)
					late.unit.Add(&piece{unit: late.number, size: 100})
				}
				if r.IntN(10) == 0 {
					if err := us.Flush(context.Background()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	arrived := 0
	for _, part := range got.take() {
		arrived += len(part)
	}
	if arrived != int(made.Load()) {
		t.Errorf("%d intervals arrived, want %d", arrived, made.Load())
	}
}

// Flush waits for what another goroutine hands over, and not for what finishes meanwhile.
func TestUnitsFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocked := make(chan struct{})
		var received atomic.Int64
		us := observer.NewUnits(&tracing{before: func(f []observer.Interval) {
			if f[0].(*piece).unit == 1 {
				<-blocked
			}
			received.Add(int64(len(f)))
		}})
		u := us.New(false)
		u.Add(&piece{unit: 1})    // by this goroutine, before the flush
		go u.End(&piece{unit: 1}) // another one hands it over
		synctest.Wait()
		busy, stop := us.New(false), make(chan struct{})
		go func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(10 * time.Millisecond): // it goes on
					addTo(busy, 600, 1)
				}
			}
		}()
		flushed := make(chan error, 1)
		go func() { flushed <- us.Flush(context.Background()) }()
		time.Sleep(time.Second)
		select {
		case err := <-flushed:
			t.Fatalf("Flush returned %v while a part was handed over", err)
		default:
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := us.Flush(ctx); err != context.DeadlineExceeded { //nolint:errorlint // it is the cause itself
			t.Errorf("another Flush returned %v, want the end of its context", err)
		}
		close(blocked)
		if err := <-flushed; err != nil {
			t.Error(err)
		}
		close(stop)
	})
}
