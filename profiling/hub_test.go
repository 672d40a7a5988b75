package profiling

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/profile"
)

func TestProfilerStates_JSP2_JSP4_JSP5_JSP21(t *testing.T) {
	onDesk(t, func(d *desk) {
		p := d.start(d.Context(), 10*time.Millisecond, 0)
		d.wantState(p, Started)
		d.emit(3)
		d.tell(func(e *fakeEngine) { e.busy, e.taken = true, true })
		d.pass()
		d.wantState(p, Paused)
		time.Sleep(time.Second)
		d.wantState(p, Paused)
		d.tell(func(e *fakeEngine) { e.queue = nil })
		d.tell(func(e *fakeEngine) { e.busy = false })
		d.pass()
		d.wantState(p, Started)
		d.emit(2)
		tr := d.stop(p)
		d.wantState(p, Stopped)
		if len(tr.Samples) != 5 {
			t.Errorf("%d samples, want 3 before the pause and 2 after it", len(tr.Samples))
		}
		if s := tr.Stats; s.Gaps != 1 || s.GapTime <= 0 || s.BusyGaps != s.Gaps || s.BusyTime != s.GapTime {
			t.Errorf("gaps %d of %v, busy %d of %v, want one of some length, the same", s.Gaps, s.GapTime, s.BusyGaps, s.BusyTime)
		}
		if d.runs() {
			t.Error("the engine runs without a profiler")
		}
		d.pass()
		d.wantState(p, Stopped) // for good
	})
}

// A gap in which the profiler was free is not busy, after one that was.
func TestGapAfterABusyOne(t *testing.T) {
	onDesk(t, func(d *desk) {
		p := d.start(d.Context(), 10*time.Millisecond, 0)
		d.tell(func(e *fakeEngine) { e.busy, e.taken = true, true })
		d.pass()
		d.tell(func(e *fakeEngine) { e.busy = false })
		d.pass()
		d.emit(1)
		d.stop(d.start(d.Context(), time.Millisecond, 0)) // for which the engine is started anew
		if s := d.stop(p).Stats; s.Gaps != 2 || s.BusyGaps != 1 {
			t.Errorf("%d gaps, %d of them busy, want 2 and 1", s.Gaps, s.BusyGaps)
		}
	})
}

// A profiler may begin while other code has the CPU profiler.
func TestStartWhileBusy(t *testing.T) {
	onDesk(t, func(d *desk) {
		d.tell(func(e *fakeEngine) { e.busy = true })
		p := d.start(d.Context(), 10*time.Millisecond, 0)
		d.wantState(p, Paused)
		d.hub.do(func() { d.hub.force(nil, nil) }) // nothing is sampled, not by force either
		if s := p.Stats(); s.Gaps != 1 || s.Samples != 0 {
			t.Errorf("%d gaps while the profiler is paused, want the one that lasts", s.Gaps)
		}
		d.tell(func(e *fakeEngine) { e.busy = false })
		d.pass()
		d.wantState(p, Started)
		d.emit(1)
		if tr := d.stop(p); len(tr.Samples) != 1 || tr.Stats.Gaps != 1 {
			t.Errorf("%d samples and %d gaps, want 1 and 1", len(tr.Samples), tr.Stats.Gaps)
		}
	})
}

// Tries to get the CPU profiler look at all goroutines. They have a hundredth of a processor, and the longest pause is a minute.
func TestTriesWhileBusy(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{0: time.Second, 10 * time.Millisecond: time.Second, 100 * time.Millisecond: 10 * time.Second, time.Second: time.Minute} {
		t.Run(took.String(), func(t *testing.T) {
			onDesk(t, func(d *desk) {
				d.hub.keeper.spent = func(try func()) time.Duration {
					try()
					return took
				}
				d.tell(func(e *fakeEngine) { e.busy = true })
				p := d.start(d.Context(), 10*time.Millisecond, 0)
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				d.tell(func(e *fakeEngine) {
					if n := len(e.tries); n < 3 || e.tries[n-1].Sub(e.tries[n-2]) != want {
						d.Errorf("%d tries, %v after each other, want %v", n, e.tries[n-1].Sub(e.tries[n-2]), want)
					}
					e.busy = false
				})
				time.Sleep(time.Minute)
				synctest.Wait()
				d.wantState(p, Started)
				d.emit(1)
				d.stop(p)
			})
		})
	}
}

// A profiler that has taken no sample when other code takes the CPU profiler from it returns ErrBusy from Stop.
func TestStopWithoutSamples(t *testing.T) {
	onDesk(t, func(d *desk) {
		p, sampled := d.start(d.Context(), 10*time.Millisecond, 0), d.start(d.Context(), 10*time.Millisecond, 0)
		d.emit(1)
		if _, err := p.TakeTrace(); err != nil {
			t.Error(err)
		}
		late := d.start(d.Context(), 10*time.Millisecond, 0)
		d.tell(func(e *fakeEngine) { e.busy, e.taken = true, true })
		d.pass()
		if _, err := late.Stop(); !errors.Is(err, ErrBusy) {
			t.Errorf("without a sample: %v, want ErrBusy", err)
		}
		d.stop(p) // had one before
		d.stop(sampled)
	})
}

// A profiler that never had the CPU profiler returns ErrBusy from Stop. Its counts have the gap
// until then.
func TestStopWhilePaused(t *testing.T) {
	onDesk(t, func(d *desk) {
		d.tell(func(e *fakeEngine) { e.busy = true })
		p := d.start(d.Context(), 10*time.Millisecond, 0)
		tr, err := p.Stop()
		if !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), "has no samples") {
			t.Errorf("Stop: error %v, want ErrBusy and what it means", err)
		}
		if _, again := p.Stop(); !errors.Is(again, err) {
			t.Errorf("Stop: another error %v the second time, %v the first", again, err)
		}
		if tr.Stats.BusyGaps != 1 || tr.Stats.BusyTime != tr.Stats.GapTime {
			t.Errorf("busy %d times for %v of %v, want once and all of it", tr.Stats.BusyGaps, tr.Stats.BusyTime, tr.Stats.GapTime)
		}
		if len(tr.Samples) != 0 || tr.Stats.Gaps != 1 || tr.Stats.GapTime != tr.Stopped-tr.Started {
			t.Errorf("%d samples, %d gaps of %v in %v, want none and one gap that is all of it", len(tr.Samples), tr.Stats.Gaps, tr.Stats.GapTime, tr.Stopped-tr.Started)
		}
		if again := p.Stats(); again != tr.Stats {
			t.Errorf("counts after the end %+v, in the trace %+v", again, tr.Stats)
		}
	})
}

// The buffer's limit ends that profiler and no other, exactly there.
func TestBufferFull_JSP7_JSP8_JSP9(t *testing.T) {
	onDesk(t, func(d *desk) {
		full := 0
		var fromCallback *profile.Trace
		small := d.start(d.Context(), 10*time.Millisecond, 3, func(p *Profiler) {
			full++
			fromCallback, _ = p.Stop()
		})
		large := d.start(d.Context(), 10*time.Millisecond, 0, func(*Profiler) { t.Error("the other profiler's buffer is full") })
		d.emit(2)
		d.wantState(small, Started)
		d.tell(func(e *fakeEngine) { // several of one moment, as a wall tick has
			for range 5 {
				e.queue = append(e.queue, sample("f"))
				e.queue[len(e.queue)-1].At = e.queue[0].At
			}
		})
		d.pass()
		d.wantState(small, Stopped)
		d.wantState(large, Started)
		if full != 1 {
			t.Errorf("samplebufferfull came %d times, want once", full)
		}
		tr := d.stop(small)
		if len(tr.Samples) != 3 {
			t.Errorf("%d samples in a buffer of 3", len(tr.Samples))
		}
		if again := d.stop(small); again != tr || fromCallback != tr {
			t.Error("Stop gave different traces")
		}
		if tr := d.stop(large); len(tr.Samples) != 7 {
			t.Errorf("the other profiler has %d samples, want 7", len(tr.Samples))
		}
	})
}

// A buffer that the last samples before Stop fill is full.
func TestBufferFullAtStop_JSP8(t *testing.T) {
	onDesk(t, func(d *desk) {
		full := 0
		p := d.start(d.Context(), 10*time.Millisecond, 2, func(*Profiler) { full++ })
		d.tell(func(e *fakeEngine) { e.queue = []sampling.Sample{sample("f"), sample("f"), sample("f")} })
		tr := d.stop(p)
		synctest.Wait()
		if len(tr.Samples) > 2 || full != 1 {
			t.Errorf("%d samples, samplebufferfull %d times, want at most 2 and once", len(tr.Samples), full)
		}
	})
}

// Each listener is called once, also one that comes late and beside one that hangs or panics. One that was removed is not.
func TestListenersOfAFullBuffer_JSP8(t *testing.T) {
	onDesk(t, func(d *desk) {
		var mu sync.Mutex
		called := map[string]int{}
		p := d.start(d.Context(), 10*time.Millisecond, 2)
		listen := func(name string, then func()) (remove func()) {
			return p.OnSampleBufferFull(func() {
				mu.Lock()
				called[name]++
				mu.Unlock()
				then()
			})
		}
		hang := make(chan struct{})
		defer close(hang)
		listen("hangs", func() { <-hang })
		listen("panics", func() { panic("user") })
		first := listen("first", func() {})
		removed := listen("removed", func() {})
		removed()
		removed()
		d.emit(1)
		if len(called) > 0 {
			t.Errorf("called %v before the buffer is full", called)
		}
		d.emit(1)
		first()
		listen("late", func() {})()
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if want := map[string]int{"hangs": 1, "panics": 1, "first": 1, "late": 1}; !maps.Equal(called, want) {
			t.Errorf("called %v, want %v", called, want)
		}
		d.stop(p)
	})
}

// A profiler that Stop or its context ends has no full buffer.
func TestBufferNotFull(t *testing.T) {
	onDesk(t, func(d *desk) {
		ctx, cancel := context.WithCancel(d.Context())
		defer cancel()
		for _, ctx := range []context.Context{d.Context(), ctx} {
			p := d.start(ctx, 10*time.Millisecond, 2)
			p.OnSampleBufferFull(func() { t.Error("its buffer is not full") })
			d.emit(1)
			cancel()
			d.stop(p)
			p.OnSampleBufferFull(func() { t.Error("its buffer is not full") })
		}
	})
}

// Samples that come when the engine is stopped for another interval fill a buffer as
// others do.
func TestBufferFullWhileTuning(t *testing.T) {
	onDesk(t, func(d *desk) {
		full := make(chan struct{})
		slow := d.start(d.Context(), 10*time.Millisecond, 2, func(*Profiler) { close(full) })
		d.tell(func(e *fakeEngine) { e.onStop = []sampling.Sample{sample("f"), sample("f"), sample("f")} })
		fast := d.start(d.Context(), time.Millisecond, 0)
		<-full
		d.wantState(slow, Stopped)
		if tr := d.stop(slow); len(tr.Samples) != 2 || tr.Stats.GapTime != 0 {
			t.Errorf("%d samples in a buffer of 2, gaps of %v, want none of after its end", len(tr.Samples), tr.Stats.GapTime)
		}
		if tr := d.stop(fast); len(tr.Samples) != 0 {
			t.Errorf("a profiler has %d samples from before it began", len(tr.Samples))
		}
	})
}

// The engine runs at the shortest interval that is wanted, and each profiler gets its
// own.
func TestProfilersShareTheEngine_JSP7_JSP20(t *testing.T) {
	onDesk(t, func(d *desk) {
		slow := d.start(d.Context(), 50*time.Millisecond, 0)
		fast := d.start(d.Context(), 10*time.Millisecond, 0)
		for p, want := range map[*Profiler]time.Duration{slow: 50 * time.Millisecond, fast: 10 * time.Millisecond} {
			if got := p.SampleInterval(); got != want {
				t.Errorf("the interval is %v, want %v", got, want)
			}
		}
		d.emit(100)
		if tr := d.stop(fast); len(tr.Samples) != 100 || tr.Stats.Gaps != 0 {
			t.Errorf("the profiler of 10 ms has %d samples and %d gaps, want 100 and none", len(tr.Samples), tr.Stats.Gaps)
		}
		time.Sleep(slowDownDelay - time.Second)
		brief := d.start(d.Context(), 10*time.Millisecond, 0) // it needs no change
		d.stop(brief)
		time.Sleep(2 * time.Second)
		if want := "[50ms 10ms]"; d.intervals() != want {
			t.Errorf("a while after the faster one left, and soon after another did, the engine was started with %v, want %v", d.intervals(), want)
		}
		time.Sleep(slowDownDelay)
		d.pass()
		tr := d.stop(slow)
		if len(tr.Samples) != 20 {
			t.Errorf("the profiler of 50 ms has %d samples of 100, want 20", len(tr.Samples))
		}
		if tr.Stats.Gaps != 2 || tr.Stats.BusyGaps != 0 {
			t.Errorf("%d gaps, %d of them busy, want one when the faster profiler came and one a while after it left", tr.Stats.Gaps, tr.Stats.BusyGaps)
		}
		if want := "[50ms 10ms 50ms]"; d.intervals() != want {
			t.Errorf("the engine was started with %v, want %v", d.intervals(), want)
		}
	})
}

// Intervals that are not there become the next one that is: shorter, or the shortest.
func TestInterval_JSP20(t *testing.T) {
	for _, tt := range []struct {
		name        string
		asked, want time.Duration
	}{
		{"supported", 10 * time.Millisecond, 10 * time.Millisecond},
		{"zero is the default", 0, defaultSampleInterval},
		{"shorter than any", time.Microsecond, time.Millisecond},
		{"longer than any: the engine's samples are thinned", time.Hour, time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onDesk(t, func(d *desk) {
				p := d.start(d.Context(), tt.asked, 0)
				if got := p.SampleInterval(); got != tt.want {
					t.Errorf("asked for %v: %v, want %v", tt.asked, got, tt.want)
				}
				if tr := d.stop(p); tr.Interval != tt.want {
					t.Errorf("the trace says %v, want %v", tr.Interval, tt.want)
				}
			})
		})
	}
}

// The trace has the samples from before Stop, and none from after it.
func TestStopTakesWhatWasBefore_JSP27(t *testing.T) {
	onDesk(t, func(d *desk) {
		p := d.start(d.Context(), 10*time.Millisecond, 0)
		earlier, after := sample("earlier"), sample("after")
		earlier.At -= int64(time.Hour)
		after.At += int64(time.Hour)
		d.tell(func(e *fakeEngine) { e.queue = []sampling.Sample{earlier, sample("before"), after} })
		tr := d.stop(p)
		if len(tr.Frames) != 1 || tr.Frames[0].Name != "before" {
			t.Errorf("frames %+v, want before only", tr.Frames)
		}
	})
}

func TestContextEndsSession(t *testing.T) {
	onDesk(t, func(d *desk) {
		ctx, cancel := context.WithCancel(d.Context())
		p := d.start(ctx, 10*time.Millisecond, 0)
		d.emit(2)
		cancel()
		synctest.Wait()
		d.wantState(p, Stopped)
		if tr := d.stop(p); len(tr.Samples) != 2 {
			t.Errorf("%d samples, want the 2 from before the cancellation", len(tr.Samples))
		}
	})
}

func TestLostSamplesAreCounted(t *testing.T) {
	onDesk(t, func(d *desk) {
		p := d.start(d.Context(), 10*time.Millisecond, 0)
		d.tell(func(e *fakeEngine) { e.lost = 7 })
		d.pass()
		late := d.start(d.Context(), 10*time.Millisecond, 0)
		d.tell(func(e *fakeEngine) { e.lost = 9 })
		d.pass()
		if got := d.stop(p).Stats.Lost; got != 9 {
			t.Errorf("lost %d, want 9", got)
		}
		if got := d.stop(late).Stats.Lost; got != 2 {
			t.Errorf("the later profiler lost %d, want the 2 since it began", got)
		}
		d.tell(func(e *fakeEngine) { e.lost = 1000 }) // of no profiler
		if got := d.stop(d.start(d.Context(), 10*time.Millisecond, 0)).Stats.Lost; got != 0 {
			t.Errorf("a profiler lost %d, of before it began", got)
		}
	})
}

// An engine that breaks ends the profilers, with what they have and the reason.
func TestEngineFails(t *testing.T) {
	onDesk(t, func(d *desk) {
		p := d.start(d.Context(), 10*time.Millisecond, 0)
		d.emit(2)
		broken := errors.New("broken")
		d.tell(func(e *fakeEngine) { e.fails = broken })
		d.pass()
		d.wantState(p, Stopped)
		tr, err := p.Stop()
		if !errors.Is(err, broken) || len(tr.Samples) != 2 {
			t.Errorf("Stop: %d samples, error %v, want 2 and %v", len(tr.Samples), err, broken)
		}
		d.tell(func(e *fakeEngine) { e.fails, e.on = nil, false })
		d.wantSession()
	})
}

// Profilers come and go by the hundred, from several goroutines, and some are
// stopped several times at once.
func TestManySessions(t *testing.T) {
	onDesk(t, func(d *desk) {
		stay := d.start(d.Context(), 10*time.Millisecond, 0)
		done := make(chan struct{})
		for range 8 {
			go func() {
				for i := range 100 {
					p := d.start(d.Context(), time.Duration(1+i%20)*time.Millisecond, 1+i%3)
					go p.Stop() //nolint:errcheck // the one below tells
					if _, err := p.Stop(); err != nil {
						t.Error(err)
					}
				}
				done <- struct{}{}
			}()
		}
		for range 8 {
			<-done
		}
		d.emit(4)
		if tr := d.stop(stay); len(tr.Samples) != 4 {
			t.Errorf("the profiler that stayed has %d samples, want 4", len(tr.Samples))
		}
		if len(d.hub.profilers) != 0 || d.runs() {
			t.Errorf("%d profilers left, engine on: %v", len(d.hub.profilers), d.runs())
		}
	})
}

// An engine that does not start ends nothing but the attempt.
func TestEngineDoesNotStart(t *testing.T) {
	onDesk(t, func(d *desk) {
		stay := d.start(d.Context(), 10*time.Millisecond, 0)
		broken := errors.New("broken")
		d.tell(func(e *fakeEngine) { e.failsAt = time.Millisecond; e.fails = broken })
		s := newProfiler(d.hub, Options{SampleInterval: time.Millisecond, MaxBufferSize: 10}, observer.NewTimeline(observer.TimelineOptions{}), nil)
		if err := d.hub.attach(s); !errors.Is(err, broken) {
			t.Errorf("attach: %v, want %v", err, broken)
		}
		d.tell(func(e *fakeEngine) { e.fails = nil })
		d.wantState(stay, Started)
		d.emit(3)
		if tr := d.stop(stay); len(tr.Samples) != 3 {
			t.Errorf("the profiler that was there has %d samples, want 3", len(tr.Samples))
		}
	})
}

// A profiler that waits for the CPU profiler when the engine breaks ends with the engine's error.
func TestEngineFailsWhilePaused(t *testing.T) {
	onDesk(t, func(d *desk) {
		d.tell(func(e *fakeEngine) { e.busy = true })
		p := d.start(d.Context(), 10*time.Millisecond, 0)
		broken := errors.New("broken")
		d.tell(func(e *fakeEngine) { e.failsAt, e.fails = always, broken })
		d.pass()
		d.wantState(p, Stopped)
		if _, err := p.Stop(); !errors.Is(err, broken) || errors.Is(err, ErrBusy) {
			t.Errorf("Stop: error %v, want %v", err, broken)
		}
	})
}

// A buffer that is full when the engine breaks is full, and its profiler whole.
func TestFullWhenTheEngineFails(t *testing.T) {
	onDesk(t, func(d *desk) {
		full := make(chan struct{})
		p := d.start(d.Context(), 10*time.Millisecond, 2, func(*Profiler) { close(full) })
		d.tell(func(e *fakeEngine) { e.fails = errors.New("broken") })
		d.emit(2)
		<-full
		if tr := d.stop(p); len(tr.Samples) != 2 {
			t.Errorf("%d samples, want 2", len(tr.Samples))
		}
	})
}

// A callback that panics is reported; the process goes on.
func TestCallbackPanics(t *testing.T) {
	onDesk(t, func(d *desk) {
		p := d.start(d.Context(), 10*time.Millisecond, 1, func(*Profiler) { panic("user") })
		d.emit(1)
		if tr := d.stop(p); len(tr.Samples) != 1 {
			t.Errorf("%d samples, want 1", len(tr.Samples))
		}
	})
}

// A wall profiler gets every so many ticks, as many as make the interval asked for or
// the next shorter one.
func TestWallIntervals_JSP20(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{T: t, hub: newHub(true), engine: &fakeEngine{name: "fake", period: 10 * time.Millisecond}}
		d.hub.keeper.newBest = func(float64) (sampling.Engine, error) { return d.engine, nil }
		const ms = time.Millisecond
		for asked, want := range map[time.Duration]time.Duration{0: 10 * ms, 10 * ms: 10 * ms, 15 * ms: 10 * ms, 25 * ms: 20 * ms, 30 * ms: 30 * ms} {
			fast := d.start(t.Context(), 10*time.Millisecond, 0)
			p := d.start(t.Context(), asked, 0)
			if got := p.SampleInterval(); got != want {
				t.Errorf("asked for %v: %v, want %v", asked, got, want)
			}
			d.stop(p)
			d.stop(fast)
		}
	})
}

// A context that outlives its profiler does not keep it.
func TestContextLetsGo(t *testing.T) {
	onDesk(t, func(d *desk) {
		ctx := &watched{Context: d.Context()}
		d.stop(d.start(ctx, 10*time.Millisecond, 0))
		if ctx.left != 1 {
			t.Errorf("the context was left %d times, want once", ctx.left)
		}
	})
}

type watched struct {
	context.Context
	left int
}

// Done returns a channel of its own, unlike the contexts of the standard library.
func (w *watched) Done() <-chan struct{} { return make(chan struct{}) }

func (w *watched) AfterFunc(func()) (stop func() bool) {
	return func() bool { w.left++; return true }
}

// The zero options have an interval and a buffer size.
func TestZeroOptions_JSP22_JSP23(t *testing.T) {
	onDesk(t, func(d *desk) {
		p := d.startWith(Options{})
		if got := p.SampleInterval(); got != defaultSampleInterval {
			t.Errorf("the interval is %v, want %v", got, defaultSampleInterval)
		}
		// Rarely, the thinner counts one sample for two and leaves out the next.
		for missing := defaultMaxBufferSize - 1; missing > 0; missing = defaultMaxBufferSize - 1 - int(p.Stats().Samples) {
			d.emit(missing)
		}
		d.wantState(p, Started)
		d.emit(2)
		d.wantState(p, Stopped)
		if tr := d.stop(p); len(tr.Samples) != defaultMaxBufferSize {
			t.Errorf("the trace has %d samples, want %d", len(tr.Samples), defaultMaxBufferSize)
		}
	})
}
