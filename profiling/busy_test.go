package profiling

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The pprof profile of a time in which other code had the CPU profiler says so.
func TestPprofTellsOfTheGap(t *testing.T) {
	onDesk(t, func(d *desk) {
		d.tell(func(e *fakeEngine) { e.busy = true })
		p := d.start(d.Context(), 10*time.Millisecond, 0)
		d.tell(func(e *fakeEngine) { e.busy = false })
		d.pass()
		d.emit(1)
		tr := d.stop(p)
		if s := tr.Stats; s.Gaps != 1 || s.GapTime <= 0 || s.BusyGaps != 1 || s.BusyTime != s.GapTime {
			t.Errorf("%d gaps of %v, busy %d of %v, want one, which is that", s.Gaps, s.GapTime, s.BusyGaps, s.BusyTime)
		}
		written, err := tr.Pprof()
		if err != nil {
			t.Fatal(err)
		}
		if len(written.Comments) != 1 || !strings.Contains(written.Comments[0], "other code in the process had the CPU profiler for") {
			t.Errorf("the profile's comments are %q, want one that tells of the gap", written.Comments)
		}
	})
}

// A part of a profiler that never had the CPU profiler is no error: the profiler goes on.
func TestTakeTraceWhileBusy(t *testing.T) {
	onDesk(t, func(d *desk) {
		d.tell(func(e *fakeEngine) { e.busy = true })
		p := d.start(d.Context(), 10*time.Millisecond, 0)
		d.pass()
		part := d.take(p)
		if len(part.Samples) != 0 || part.Stats.BusyTime != part.Stopped-part.Started {
			t.Errorf("%d samples, busy for %v of %v, want all of it", len(part.Samples), part.Stats.BusyTime, part.Stopped-part.Started)
		}
		d.wantState(p, Paused)
		_, _ = p.Stop()
	})
}

// A stack that is deeper than the engine sees is marked as cut, and counted.
func TestDeepStacksAreCut(t *testing.T) {
	onDesk(t, func(d *desk) {
		p := d.start(d.Context(), 10*time.Millisecond, 0)
		d.tell(func(e *fakeEngine) {
			e.queue = append(e.queue, sample("f"), sample("deep"))
			e.queue[1].Cut = true
		})
		d.pass()
		tr := d.stop(p)
		if s := tr.Samples; len(s) != 2 || s[0].Truncated || !s[1].Truncated || tr.Stats.Truncated != 1 {
			t.Errorf("samples %+v, %d cut by the counts, want the second one", s, tr.Stats.Truncated)
		}
	})
}

// What a sample costs comes from the engine that knows it.
func TestSampleCost(t *testing.T) {
	onDesk(t, func(d *desk) {
		p := d.start(d.Context(), 10*time.Millisecond, 0)
		d.emit(1)
		d.tell(func(e *fakeEngine) { e.cost = 3 * time.Microsecond })
		d.emit(1)
		if got := d.stop(p).Stats.SampleCost; got != 3*time.Microsecond {
			t.Errorf("a sample costs %v, want the 3 µs that the engine measured", got)
		}
	})
}

// The program's log handler is its own business: one that blocks holds up no profiler, nor the
// code that has the CPU profiler.
func TestLogHandlerBlocks(t *testing.T) {
	onDesk(t, func(d *desk) {
		entered, open := make(chan struct{}, 1), make(chan struct{})
		logTo(t, handle{do: func(slog.Record) {
			select {
			case entered <- struct{}{}:
			default: // it has been
			}
			<-open
		}})
		p := d.start(d.Context(), 10*time.Millisecond, 0)
		d.tell(func(e *fakeEngine) { e.busy, e.taken = true, true })
		d.pass()
		<-entered // by the line that it is paused
		d.wantState(p, Paused)
		if _, err := d.start(d.Context(), 10*time.Millisecond, 0).Stop(); err == nil {
			t.Error("Stop of a profiler without samples: no error")
		}
		d.tell(func(e *fakeEngine) { e.busy = false })
		d.pass()
		d.wantState(p, Started)
		d.emit(2)
		if n := len(d.stop(p).Samples); n != 2 {
			t.Errorf("%d samples, want 2", n)
		}
		close(open)
		synctest.Wait()
	})
}
