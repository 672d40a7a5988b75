package profiling

import (
	"testing"
	"time"

	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/internal/window"
	"github.com/perfline/perfline/profiling/profile"
)

// Fakes are the engines of the process, for tests by [Start]: they do as they are told.
type Fakes struct{ cpu, wall *fakeEngine }

// FakeEngines are the engines of profilers that start from now on. In a bubble, they have its
// clock until the end of the test.
func FakeEngines(t testing.TB) *Fakes {
	t.Helper()
	keepHubs(t)
	return fakeEngines()
}

// keepHubs has the present hubs again when the test ends.
func keepHubs(t testing.TB) {
	c, w := cpu, wallClock
	t.Cleanup(func() { cpu, wallClock = c, w })
}

func fakeEngines() *Fakes {
	f := &Fakes{&fakeEngine{name: profile.EngineCPU}, &fakeEngine{name: profile.EngineWall}}
	cpu, wallClock = newHub(false), newHub(true)
	cpu.keeper.newBest = func(float64) (sampling.Engine, error) { return f.cpu, nil }
	wallClock.keeper.newBest = func(float64) (sampling.Engine, error) { return f.wall, nil }
	cpu.keeper.newFallback = nil
	return f
}

// Emit gives all profilers of the CPU n samples of 10 ms of a function, taken now.
func (f *Fakes) Emit(function string, n int) {
	f.Queue(function, n)
	cpu.do(cpu.flush)
}

// Queue is Emit, but that the engine has the samples until it is asked for them.
func (f *Fakes) Queue(function string, n int) {
	f.cpu.mu.Lock()
	defer f.cpu.mu.Unlock()
	for range n {
		f.cpu.queue = append(f.cpu.queue, sample(function))
	}
}

// Take lets other code take the CPU profiler, or give it back.
func (f *Fakes) Take(taken bool) {
	f.cpu.mu.Lock()
	defer f.cpu.mu.Unlock()
	f.cpu.taken, f.cpu.busy = taken && f.cpu.on, taken
}

// Running reports whether the engine of the CPU samples.
func (f *Fakes) Running() bool {
	f.cpu.mu.Lock()
	defer f.cpu.mu.Unlock()
	return f.cpu.on
}

// LiveEngines are the engines of profilers that start before the end of the test.
func LiveEngines(t testing.TB) {
	t.Helper()
	keepHubs(t)
	cpu, wallClock = newHub(false), newHub(true)
}

// LiveWindows is LiveEngines, with the fallback for the CPU.
func LiveWindows(t testing.TB) {
	t.Helper()
	LiveEngines(t)
	h := cpu
	h.keeper.newBest = func(float64) (sampling.Engine, error) {
		return window.New(h.keeper.symbols, time.Minute, sampling.Process{}), nil
	}
}

// UseFakeEngines is FakeEngines for a TestMain.
func UseFakeEngines() { fakeEngines() }
