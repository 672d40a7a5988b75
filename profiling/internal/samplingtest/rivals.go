package samplingtest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/profiling/internal/sampling"
)

// A Rival is simulated code that competes with the engine for the CPU profiler. Each Rival imitates
// a real library.
type Rival struct {
	Name      string
	StopFirst bool // as pyroscope-go does at each upload
	StopLast  bool // after a failed start
	RateOnly  bool // sets the rate to 0, which ends any profile, and profiles nothing
}

// Rivals are all kinds of rivals.
var Rivals = []Rival{
	{Name: "stop and start", StopFirst: true},
	{Name: "start"},
	{Name: "start or stop", StopLast: true},
	{Name: "rate 0", RateOnly: true},
}

// act takes a short profile, if the CPU profiler is free.
func (r Rival) act(t *testing.T, o Other) {
	if r.RateOnly {
		o.SetRate(0)
		return
	}
	if r.StopFirst {
		o.Stop()
	}
	f := &ForeignProfile{}
	if o.Start(f) != nil {
		if r.StopLast {
			o.Stop()
		}
		return
	}
	time.Sleep(10 * time.Millisecond)
	o.Stop()
	if n := f.Writes(); n != 1 {
		t.Errorf("%s: a profile of other code was written %d times, want once", r.Name, n)
	}
}

// A ForeignProfile is an io.Writer that receives a profile of code outside the engine under test.
type ForeignProfile struct{ writes atomic.Int32 }

func (f *ForeignProfile) Write(p []byte) (int, error) {
	f.writes.Add(1)
	return len(p), nil
}

// Writes returns the number of calls of Write. The CPU profiler calls Write once, at the end of the
// profile.
func (f *ForeignProfile) Writes() int { return int(f.writes.Load()) }

// A Gate is an io.Writer. Write blocks until the test closes the channel Open.
type Gate struct {
	Entered chan struct{} // closed when Write begins
	Open    chan struct{} // the test closes Open to unblock Write
}

// NewGate returns a Gate that blocks each Write until the test closes the channel Open.
func NewGate() *Gate { return &Gate{make(chan struct{}), make(chan struct{})} }

func (g *Gate) Write(p []byte) (int, error) {
	close(g.Entered)
	<-g.Open
	return len(p), nil
}

// WantFree fails the test t unless other code can record a complete profile with p. WantFree lasts
// one second on the clock of the synctest bubble.
func WantFree(t *testing.T, p *CPUProfiler) {
	t.Helper()
	f := &ForeignProfile{}
	if err := p.Other().Start(f); err != nil {
		t.Errorf("the CPU profiler is not free: %v", err)
		return
	}
	time.Sleep(time.Second)
	if f.Writes() > 0 {
		t.Error("a profile of other code was ended")
	}
	p.Other().Stop()
	if n := f.Writes(); n != 1 {
		t.Errorf("a profile of other code was written %d times, want once", n)
	}
}

// An ambush makes a rival act right before a call of the engine, by number.
type ambush struct {
	rival Rival
	at    int
}

// apart bounds the calls of the engine between two rivals. Later rivals meet an engine that has
// recovered from the first.
const apart = 3

// Conflicts tests an engine against each [Rival]. In each run, the rival acts before one call from
// the engine to the CPU profiler. The runs cover all calls. Further runs test two rivals that act
// at calls close to each other. Conflicts fails the test in these cases:
//
//   - A profile of other code is incomplete.
//   - The engine ends a profile of other code. See [CPUProfiler.Cut].
//   - The engine does not start again after a rival.
//   - A call blocks for ever. The bubble then ends the test.
//   - No rival acted before one of the methods that the parameter calls lists.
func Conflicts(t *testing.T, newEngine func(*CPUProfiler) sampling.Engine, calls ...string) {
	for _, r := range Rivals {
		t.Run(r.Name, func(t *testing.T) {
			seen := map[string]bool{}
			for at := 1; !t.Failed(); at++ {
				call := survive(t, newEngine, ambush{r, at})[0]
				if call == "" {
					break
				}
				seen[call] = true
			}
			for _, call := range calls {
				if !seen[call] {
					t.Errorf("nothing happened before a %s: %v", call, seen)
				}
			}
		})
		for _, second := range Rivals {
			t.Run(r.Name+", "+second.Name, func(t *testing.T) {
				for at, over := 1, false; !over && !t.Failed(); at++ {
					for then := at; then <= at+apart && !t.Failed(); then++ {
						before := survive(t, newEngine, ambush{r, at}, ambush{second, then})
						over = before[0] == ""
					}
				}
			})
		}
	}
}

// survive makes an engine sample as the hub does, while rivals act. It returns the calls of the
// engine before which they acted, "" for a rival that came too late.
func survive(t *testing.T, newEngine func(*CPUProfiler) sampling.Engine,
	all ...ambush) (before []string) {
	before = make([]string, len(all))
	synctest.Test(t, func(t *testing.T) {
		p := NewCPUProfiler(t)
		e := newEngine(p)
		var (
			calls  int
			turn   = make(chan struct{}, 1) // one caller at a time may call synctest.Wait
			acting sync.WaitGroup
		)
		p.Before = func(call string) {
			turn <- struct{}{}
			defer func() { <-turn }()
			calls++
			for i, a := range all {
				if a.at == calls {
					before[i] = call
					acting.Go(func() { a.rival.act(t, p.Other()) })
					synctest.Wait() // the rival acts until it blocks
				}
			}
		}
		emit := func(*sampling.Sample) {}
		for ticks, starts := 0, 0; ticks < 2; starts++ {
			if starts > 100 {
				t.Fatal("the engine does not resume")
			}
			err := e.Start(e.Interval(0))
			for ; err == nil && ticks < 2; ticks++ {
				time.Sleep(e.Period())
				err = e.Tick(emit)
			}
			if err != nil {
				if !errors.Is(err, sampling.ErrBusy) && !errors.Is(err, sampling.ErrTaken) &&
					!errors.Is(err, sampling.ErrTransient) {
					t.Errorf("the engine: %v", err)
				}
				time.Sleep(time.Second)
			}
		}
		e.Stop(emit)
		time.Sleep(time.Second)
		acting.Wait()
		if n := p.Cut(); n > 0 {
			t.Errorf("the engine ended %d profiles of other code that acted before its %q", n,
				before)
		}
		WantFree(t, p)
	})
	return before
}
