package profiling

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/profile"
)

// An engine that does as it is told, see tell.
type fakeEngine struct {
	name        profile.Engine
	period      time.Duration // 0 is a third of a second
	mu          sync.Mutex    // guards what follows
	busy, taken bool
	fails       error
	failsAt     time.Duration // the interval at which Start fails, and nothing else; 0 for none
	panics      string        // the methods that do
	on          bool
	starts      []time.Duration // the intervals of each Start
	tries       []time.Time     // of Start while it is busy
	stops       int
	queue       []sampling.Sample
	onStop      []sampling.Sample
	lost        uint64
	cost        time.Duration
}

func (e *fakeEngine) Name() profile.Engine { return e.name }

func (e *fakeEngine) Interval(requested time.Duration) time.Duration {
	return max(time.Millisecond, min(requested, time.Second))
}

func (e *fakeEngine) Period() time.Duration { return cmp.Or(e.period, time.Second/3) }

func (e *fakeEngine) Start(interval time.Duration) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.on:
		return errors.New("started twice")
	case strings.HasPrefix(e.panics, "Start"):
		e.on = true
		panic("broken")
	case e.failsAt == always || e.failsAt == everywhere || e.failsAt != 0 && e.failsAt == interval:
		return e.fails
	case e.busy:
		e.tries = append(e.tries, time.Now())
		return sampling.ErrBusy
	}
	e.on = true
	e.starts = append(e.starts, interval)
	return nil
}

func (e *fakeEngine) read(emit func(*sampling.Sample)) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range e.queue {
		emit(&e.queue[i])
	}
	e.queue = nil
	switch {
	case strings.HasSuffix(e.panics, "Tick"):
		panic("broken")
	case !e.on:
		return errors.New("read while it does not run")
	case e.taken:
		e.on, e.taken = false, false
		return sampling.ErrTaken
	}
	if e.failsAt == 0 || e.failsAt == everywhere {
		return e.fails
	}
	return nil
}

func (e *fakeEngine) Tick(emit func(*sampling.Sample)) error  { return e.read(emit) }
func (e *fakeEngine) Flush(emit func(*sampling.Sample)) error { return e.read(emit) }

func (e *fakeEngine) Lost() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lost
}

func (e *fakeEngine) Cost() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.cost
}

func (e *fakeEngine) Stop(emit func(*sampling.Sample)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range e.onStop {
		emit(&e.onStop[i])
	}
	e.onStop, e.on = nil, false
	e.stops++
	if e.panics == "Stop" {
		panic("broken")
	}
}

// A fakeEngine.failsAt of any interval. With everywhere, the engine also fails when it is read.
const (
	always     = -1
	everywhere = -2
)

// A desk is a hub with a fake engine, in a bubble.
type desk struct {
	*testing.T
	hub    *hub
	engine *fakeEngine
}

func onDesk(t *testing.T, test func(*desk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(newDesk(t, false))
	})
}

func newDesk(t *testing.T, wall bool) *desk {
	d := &desk{T: t, hub: newHub(wall), engine: &fakeEngine{name: "fake"}}
	d.hub.keeper.newBest = func(float64) (sampling.Engine, error) { return d.engine, nil }
	d.hub.keeper.newFallback = nil
	return d
}

// start begins a profiler; 0 samples means plenty.
func (d *desk) start(ctx context.Context, interval time.Duration, size int, onFull ...func(*Profiler)) *Profiler {
	d.Helper()
	if size == 0 {
		size = 1000
	}
	p := d.startWith(Options{SampleInterval: interval, MaxBufferSize: size})
	for _, f := range onFull {
		p.OnSampleBufferFull(func() { f(p) })
	}
	p.watch(ctx)
	return p
}

// startWith begins a profiler as Start does.
func (d *desk) startWith(o Options) *Profiler {
	d.Helper()
	o, err := o.fill()
	if err != nil {
		d.Fatal(err)
	}
	p := newProfiler(d.hub, o, observer.NewTimeline(observer.TimelineOptions{}), nil)
	if err := d.hub.attach(p); err != nil {
		d.Fatal(err)
	}
	return p
}

// tell lets the test at the engine.
func (d *desk) tell(f func(e *fakeEngine)) {
	d.engine.mu.Lock()
	defer d.engine.mu.Unlock()
	f(d.engine)
}

// runs reports whether the engine does.
func (d *desk) runs() (on bool) {
	d.tell(func(e *fakeEngine) { on = e.on })
	return on
}

// sample is one of 10 ms, taken now, of a function.
func sample(name string) sampling.Sample {
	return sampling.Sample{At: sampling.Now(), Stack: []*profile.Call{{Name: name, File: "f.go", StartLine: 1, Line: 2}}, Count: 1, Weight: 10 * time.Millisecond}
}

// emit lets the engine have samples, and waits until the profilers have them.
func (d *desk) emit(n int) {
	d.tell(func(e *fakeEngine) { e.queue = append(e.queue, slices.Repeat([]sampling.Sample{sample("f")}, n)...) })
	d.pass()
}

// pass lets the hub come to its next tick, or to the next try to start.
func (d *desk) pass() {
	time.Sleep(2 * minBusyPause)
	synctest.Wait()
}

func (d *desk) wantState(p *Profiler, want State) {
	d.Helper()
	if got := p.State(); got != want {
		d.Errorf("the state is %s, want %s", got, want)
	}
	if p.Stopped() != (want == Stopped) {
		d.Errorf("Stopped() is %v in state %s", p.Stopped(), want)
	}
}

func (d *desk) stop(p *Profiler) *profile.Trace {
	d.Helper()
	tr, err := p.Stop()
	if err != nil {
		d.Fatal(err)
	}
	return tr
}

// intervals are those that the engine was started with.
func (d *desk) intervals() string {
	var s []string
	d.tell(func(e *fakeEngine) {
		for _, i := range e.starts {
			s = append(s, i.String())
		}
	})
	return "[" + strings.Join(s, " ") + "]"
}

// wantSession wants that a profiler gets samples.
func (d *desk) wantSession() {
	d.Helper()
	p := d.start(d.Context(), 10*time.Millisecond, 0)
	d.emit(1)
	if tr := d.stop(p); len(tr.Samples) != 1 {
		d.Errorf("a profiler after that has %d samples, want 1", len(tr.Samples))
	}
}
