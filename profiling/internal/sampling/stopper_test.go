package sampling

import (
	"io"
	"runtime"
	"runtime/pprof"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// StopCPUProfile and what it waits at have these names in this Go release.
func TestStopper(t *testing.T) {
	want := func(when string, stopped bool) {
		t.Helper()
		if got := Stopped(Process{}); got != stopped {
			t.Errorf("%s: Stopped is %v, want %v", when, got, stopped)
		}
		if called, waits := Stopping(Process{}), StopWaits(Process{}); called != stopped || waits != stopped {
			t.Errorf("%s: Stopping is %v and StopWaits %v, want %v", when, called, waits, stopped)
		}
	}
	begin := func() *gate {
		w := &gate{entered: make(chan struct{}), open: make(chan struct{})}
		if err := pprof.StartCPUProfile(w); err != nil {
			t.Fatal(err)
		}
		return w
	}
	w := begin()
	want("while a profile runs", false)
	runtime.SetCPUProfileRate(0)
	<-w.entered
	want("after the rate was set to 0", false)
	close(w.open)
	pprof.StopCPUProfile()
	want("after StopCPUProfile", false)

	w = begin()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		pprof.StopCPUProfile()
	}()
	<-w.entered // by which StopCPUProfile has been called
	want("while StopCPUProfile is called", true)
	close(w.open)
	<-stopped
	want("after StopCPUProfile that waited", false)
}

// A gate is a profile's writer whose Write waits until it is open.
type gate struct {
	entered, open chan struct{}
	once          sync.Once
}

func (g *gate) Write(p []byte) (int, error) {
	g.once.Do(func() { close(g.entered) })
	<-g.open
	return len(p), nil
}

// A stopperAt is a CPUProfiler whose Stop is called, waits and returns at some times.
type stopperAt struct{ called, waits, returns time.Time }

func (stopperAt) Start(io.Writer) error { return nil }
func (stopperAt) Stop()                 {}

func (s stopperAt) Stopper() (called, waits bool) {
	now := time.Now()
	inside := !now.Before(s.called) && now.Before(s.returns)
	return inside, inside && !now.Before(s.waits)
}

// Stopped waits for a StopCPUProfile that waits for the lock.
func TestStoppedWaitsForTheLock(t *testing.T) {
	for name, c := range map[string]struct {
		called, waits, returns time.Duration // since now
		want                   bool
		took                   time.Duration // at most
	}{
		"not called":                  {time.Hour, time.Hour, time.Hour, false, 0},
		"waits for the reader":        {0, 0, time.Hour, true, 0},
		"gets the lock":               {0, 10 * time.Millisecond, time.Hour, true, 12 * time.Millisecond},
		"gets the lock, and is done":  {0, time.Hour, 10 * time.Millisecond, false, 12 * time.Millisecond},
		"has been there for a second": {0, time.Second, time.Hour, true, time.Second + 2*time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				got := Stopped(stopperAt{began.Add(c.called), began.Add(c.waits), began.Add(c.returns)})
				if took := time.Since(began); got != c.want || took > c.took {
					t.Errorf("Stopped is %v after %v, want %v in %v", got, took, c.want, c.took)
				}
			})
		})
	}
}
