package sampling

import (
	"runtime"
	"runtime/pprof"
	"sync"
	"testing"
)

// StopCPUProfile and what it waits at have these names in this Go release.
func TestStopper(t *testing.T) {
	want := func(when string, stopped bool) {
		t.Helper()
		if got := Stopped(); got != stopped {
			t.Errorf("%s: Stopped() is %v, want %v", when, got, stopped)
		}
		if got := StopWaits(); got != stopped {
			t.Errorf("%s: StopWaits() is %v, want %v", when, got, stopped)
		}
	}
	w := &gate{entered: make(chan struct{}), open: make(chan struct{})}
	if err := pprof.StartCPUProfile(w); err != nil {
		t.Fatal(err)
	}
	runtime.SetCPUProfileRate(0)
	<-w.entered
	want("after the rate was set to 0", false)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		pprof.StopCPUProfile()
	}()
	for called := false; !called; called, _ = stopper() {
		runtime.Gosched()
	}
	want("while StopCPUProfile is called", true)
	close(w.open)
	<-stopped
	want("after StopCPUProfile", false)
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
