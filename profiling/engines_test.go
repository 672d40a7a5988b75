package profiling

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/profiling/internal/cpuprof"
	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/profile"
)

// withFallback gives the desk a second engine, which samples when the first does not work.
func (d *desk) withFallback() (first, second *fakeEngine) {
	first, second = d.engine, &fakeEngine{name: "fallback"}
	d.hub.keeper.newBest = func(float64) (sampling.Engine, error) { return first, nil }
	d.hub.keeper.newFallback = func() sampling.Engine { return second }
	return first, second
}

func (d *desk) wantEngine(p *Profiler, name profile.Engine, reason string) {
	d.Helper()
	if got := p.Engine(); got != name {
		d.Errorf("the engine is %s, want %s", got, name)
	}
	if got := p.Fallback(); reason == "" && got != "" || !strings.Contains(got, reason) {
		d.Errorf("the reason of the fallback is %q, want %q", got, reason)
	}
}

// unsupported is an error of an engine that does not work here; it may work later.
func unsupported(later bool) error {
	if later {
		return fmt.Errorf("%w: %w", cpuprof.ErrUnsupported, sampling.ErrTransient)
	}
	return cpuprof.ErrUnsupported
}

// An engine that turns out not to work here is replaced by the one that works
// everywhere, for good. One line in the log names the loss, however many profilers come.
func TestFallback(t *testing.T) {
	log := logged(t)
	onDesk(t, func(d *desk) {
		first, second := d.withFallback()
		first.failsAt, first.fails = always, unsupported(false)
		for range 3 {
			d.engine = second
			p := d.start(d.Context(), 10*time.Millisecond, 0)
			d.wantState(p, Started)
			d.wantEngine(p, "fallback", "profiler cannot be read")
			d.emit(2)
			time.Sleep(2 * maxRetryDelay)
			d.wantEngine(p, "fallback", "profiler cannot be read")
			if tr := d.stop(p); len(tr.Samples) != 2 || tr.Engine != "fallback" {
				t.Errorf("%d samples of the engine %s, want 2 of the fallback", len(tr.Samples), tr.Engine)
			}
		}
	})
	const want = `level=WARN msg="profiling: per-sample timestamps unavailable on go`
	if strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), want) {
		t.Errorf("log:\n%s\nwant one line with %s", log, want)
	}
}

// A machine that stalls at the start does not rule the engine out. The hub tries the engine again,
// less and less often, and running profilers change to it.
func TestFallbackForAWhile(t *testing.T) {
	log := logged(t)
	onDesk(t, func(d *desk) {
		first, second := d.withFallback()
		first.failsAt, first.fails = always, unsupported(true)
		d.engine = second
		p := d.start(d.Context(), 10*time.Millisecond, 0)
		d.wantEngine(p, "fallback", "profiler cannot be read")
		d.emit(2)
		time.Sleep(100 * time.Second)
		synctest.Wait()
		if n := len(second.starts); n < 5 || n > 8 { // after 1, 3, 7, 15, 31, 63 seconds
			t.Errorf("in 100 s the fallback was started %d times, want 7 at growing pauses", n)
		}
		d.wantEngine(p, "fallback", "profiler cannot be read")
		time.Sleep(1000 * time.Second) // the last try was after 1023 s, the next comes after the longest pause
		d.emit(1)
		d.tell(func(e *fakeEngine) { e.onStop = []sampling.Sample{sample("last")} })
		first.mu.Lock()
		first.failsAt, first.fails = 0, nil
		first.mu.Unlock()
		time.Sleep(maxRetryDelay)
		d.wantEngine(p, "fake", "")
		d.wantState(p, Started)
		if d.runs() {
			t.Error("the fallback still runs")
		}
		d.engine = first
		d.stop(d.start(d.Context(), time.Millisecond, 0)) // for which the engine is started anew
		d.emit(3)
		tr := d.stop(p)
		if len(tr.Samples) != 7 || tr.Engine != "fake" || tr.Stats.BusyGaps != 0 || tr.Stats.Gaps < 5 {
			t.Errorf("%d samples, engine %s, %+v; want 7 of both engines, and a gap for each try", len(tr.Samples), tr.Engine, tr.Stats)
		}
	})
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "timestamps unavailable") || !strings.Contains(lines[1], "timestamps available again") {
		t.Errorf("log:\n%s\nwant one line when it fell back and one when it did not need to any more", log)
	}
}

// After the last profiler, the pauses between tries begin anew.
func TestFallbackForAWhileBeginsAnew(t *testing.T) {
	onDesk(t, func(d *desk) {
		first, second := d.withFallback()
		first.failsAt, first.fails = always, unsupported(true)
		d.engine = second
		p := d.start(d.Context(), 10*time.Millisecond, 0)
		time.Sleep(40 * time.Second)
		d.stop(p)
		p = d.start(d.Context(), 10*time.Millisecond, 0)
		d.wantEngine(p, "fallback", "profiler cannot be read")
		first.mu.Lock()
		first.failsAt, first.fails = 0, nil
		first.mu.Unlock()
		time.Sleep(2 * minRetryDelay)
		d.wantEngine(p, "fake", "")
		d.stop(p)
	})
}

// Samples of the fallback have no time of their own. A trace with one of them names the fallback.
func TestTraceOfBothEngines(t *testing.T) {
	onDesk(t, func(d *desk) {
		p := d.start(d.Context(), 10*time.Millisecond, 0)
		of := func(since int64) {
			d.tell(func(e *fakeEngine) {
				e.queue = []sampling.Sample{sample("f")}
				e.queue[0].Since = since
			})
			d.pass()
		}
		of(sampling.Now())
		of(0)
		if tr := d.take(p); tr.Engine != profile.EngineWindow {
			t.Errorf("the engine is %s, want window, which took the less exact samples", tr.Engine)
		}
		of(0)
		if tr := d.stop(p); tr.Engine != "fake" {
			t.Errorf("the engine is %s, want the one that took all samples of this part", tr.Engine)
		}
	})
}

// A panic of an engine does not end the process, and its profilers go on.
func TestEnginePanics(t *testing.T) {
	for _, method := range []string{"Start", "Tick"} {
		t.Run(method, func(t *testing.T) {
			log := logged(t)
			onDesk(t, func(d *desk) {
				first, second := d.withFallback()
				if method == "Start" {
					first.panics = method
				}
				p := d.start(d.Context(), 10*time.Millisecond, 0)
				want, lost := 0, uint64(0)
				if method == "Tick" {
					d.emit(2)
					want, lost = 2, 3
					d.tell(func(e *fakeEngine) { e.panics, e.lost = method, lost })
				}
				d.pass()
				d.wantState(p, Started)
				d.wantEngine(p, "fallback", "the engine panicked: broken")
				if d.runs() {
					t.Error("the engine that panicked was not stopped")
				}
				d.engine = second
				d.emit(1)
				time.Sleep(2 * maxRetryDelay)
				if tr := d.stop(p); len(tr.Samples) != want+1 || tr.Stats.Lost != lost {
					t.Errorf("%d samples, %d lost, want %d and %d", len(tr.Samples), tr.Stats.Lost, want+1, lost)
				}
				p = d.start(d.Context(), 10*time.Millisecond, 0)
				d.wantEngine(p, "fallback", "the engine panicked: broken") // it is not trusted again
				d.stop(p)
			})
			if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "engine panicked: broken") || !strings.Contains(got, "stack=") {
				t.Errorf("log:\n%s\nwant one line with the panic and its stack", got)
			}
		})
	}
	t.Run("Stop", func(t *testing.T) {
		log := logged(t)
		onDesk(t, func(d *desk) {
			p := d.start(d.Context(), 10*time.Millisecond, 0)
			d.emit(2)
			d.tell(func(e *fakeEngine) { e.panics = "Stop" })
			if tr := d.stop(p); len(tr.Samples) != 2 {
				t.Errorf("%d samples, want 2", len(tr.Samples))
			}
		})
		if !strings.Contains(log.String(), "engine panicked: broken") {
			t.Errorf("log:\n%s\nwant the panic", log)
		}
	})
}

// A fallback that waits for the CPU profiler stops waiting when the better engine replaces it.
// Otherwise it would get the CPU profiler later, and keep it.
func TestFallbackThatWaits(t *testing.T) {
	onDesk(t, func(d *desk) {
		first, second := d.withFallback()
		first.failsAt, first.fails = always, unsupported(true)
		second.busy = true
		p := d.start(d.Context(), 10*time.Millisecond, 0)
		d.wantEngine(p, "fallback", "profiler cannot be read")
		d.wantState(p, Paused)
		d.tell(func(e *fakeEngine) { e.failsAt, e.fails = 0, nil })
		time.Sleep(2 * minRetryDelay)
		d.wantEngine(p, "fake", "")
		d.wantState(p, Started)
		if second.stops == 0 {
			t.Error("the fallback was not stopped")
		}
		d.emit(1)
		d.stop(p)
	})
}

// When the last engine breaks, too, the profilers end with what they have and the reason.
func TestFallbackPanics(t *testing.T) {
	onDesk(t, func(d *desk) {
		first, second := d.withFallback()
		first.failsAt, first.fails = always, unsupported(false)
		d.engine = second
		p := d.start(d.Context(), 10*time.Millisecond, 0)
		d.emit(2)
		d.tell(func(e *fakeEngine) { e.panics = "Tick" })
		d.pass()
		d.wantState(p, Stopped)
		tr, err := p.Stop()
		if err == nil || !strings.Contains(err.Error(), "the engine panicked: broken") || len(tr.Samples) != 2 {
			t.Errorf("Stop: %d samples, error %v, want 2 and the panic", len(tr.Samples), err)
		}
		d.tell(func(e *fakeEngine) { e.panics = "" })
		d.wantSession()
	})
}

// A panic in an engine without a fallback ends its profilers.
func TestOnlyEnginePanics(t *testing.T) {
	onDesk(t, func(d *desk) {
		p := d.start(d.Context(), 10*time.Millisecond, 0)
		d.tell(func(e *fakeEngine) { e.panics = "Tick" })
		d.pass()
		d.wantState(p, Stopped)
		if _, err := p.Stop(); err == nil || !strings.Contains(err.Error(), "the engine panicked: broken") {
			t.Errorf("Stop: error %v, want the panic", err)
		}
		d.tell(func(e *fakeEngine) { e.panics = "" })
		d.stop(d.start(d.Context(), 10*time.Millisecond, 0))
	})
}

// Where there is no better engine, that is the reason.
func TestNoEngine(t *testing.T) {
	onDesk(t, func(d *desk) {
		_, second := d.withFallback()
		d.hub.keeper.newBest = func(float64) (sampling.Engine, error) { return nil, errors.New("not on this system") }
		d.engine = second
		p := d.start(d.Context(), 10*time.Millisecond, 0)
		d.wantEngine(p, "fallback", "not on this system")
		d.stop(p)
	})
}
