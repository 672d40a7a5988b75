package profiling

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/profile"
)

func (d *desk) take(p *Profiler) *profile.Trace {
	d.Helper()
	tr, err := p.TakeTrace()
	if err != nil {
		d.Fatal(err)
	}
	return tr
}

// The parts of a profiler are as long as it, and each sample is in one of them.
func TestTakeTrace(t *testing.T) {
	onDesk(t, func(d *desk) {
		p := d.start(context.Background(), 10*time.Millisecond, 5)
		var parts []*profile.Trace
		for _, n := range []int{3, 4, 0} {
			d.emit(n)
			if got := p.Stats().Samples; got != uint64(n) {
				d.Errorf("%d samples counted before TakeTrace, want %d", got, n)
			}
			parts = append(parts, d.take(p))
			if got := p.Stats(); got != (profile.Stats{}) {
				d.Errorf("after TakeTrace the counts are %+v", got)
			}
			d.wantState(p, Started)
		}
		d.tell(func(e *fakeEngine) { e.queue = append(e.queue, sample("last")) })
		parts = append(parts, d.take(p)) // with what the engine has not given yet
		d.emit(2)
		whole := d.stop(p)
		parts = append(parts, whole)
		for i, want := range []int{3, 4, 0, 1, 2} {
			part := parts[i]
			if len(part.Samples) != want || part.Stats.Samples != uint64(want) {
				d.Errorf("part %d has %d samples and counts %d, want %d", i, len(part.Samples), part.Stats.Samples, want)
			}
			if err := part.WriteJSON(io.Discard); err != nil {
				d.Errorf("part %d: %v", i, err)
			}
			if i > 0 && part.Started != parts[i-1].Stopped {
				d.Errorf("part %d starts at %v, the one before stopped at %v", i, part.Started, parts[i-1].Stopped)
			}
			if part.Engine != "fake" || part.Interval != 10*time.Millisecond || part.Origin != parts[0].Origin {
				d.Errorf("part %d is of engine %q, interval %v, origin %v", i, part.Engine, part.Interval, part.Origin)
			}
		}
		if got := d.take(p); got != whole {
			d.Error("TakeTrace after Stop is another trace than Stop's")
		}
	})
}

// A gap that goes on is of both parts, each with its share of the time.
func TestTakeTraceInAGap(t *testing.T) {
	onDesk(t, func(d *desk) {
		p := d.start(context.Background(), 10*time.Millisecond, 0)
		d.emit(1)
		d.tell(func(e *fakeEngine) { e.taken, e.busy = true, true })
		d.pass()
		d.wantState(p, Paused)
		first := d.take(p)
		d.wantState(p, Paused)
		d.tell(func(e *fakeEngine) { e.busy = false })
		d.pass()
		d.wantState(p, Started)
		second, third := d.take(p), d.stop(p)
		for i, c := range []struct {
			of   *profile.Trace
			gaps int
		}{{first, 1}, {second, 1}, {third, 0}} {
			got := c.of.Stats
			if got.Gaps != c.gaps || (got.GapTime > 0) != (c.gaps > 0) || got.GapTime > c.of.Stopped-c.of.Started {
				t.Errorf("part %d of %v: %d gaps of %v, want %d within it", i, c.of.Stopped-c.of.Started, got.Gaps, got.GapTime, c.gaps)
			}
		}
	})
}

// A profiler whose buffer is full has ended: TakeTrace gives what it has.
func TestTakeTraceOfAFullSession(t *testing.T) {
	onDesk(t, func(d *desk) {
		p := d.start(context.Background(), 10*time.Millisecond, 2)
		d.tell(func(e *fakeEngine) { e.queue = []sampling.Sample{sample("a"), sample("b"), sample("c")} })
		tr := d.take(p)
		d.wantState(p, Stopped)
		if len(tr.Samples) != 2 {
			d.Errorf("%d samples, want the 2 that fit", len(tr.Samples))
		}
		for _, s := range tr.Samples {
			if s.Weight != 10*time.Millisecond {
				d.Errorf("a sample stands for %v, want 10ms: what the process used since it was full is not known", s.Weight)
			}
		}
	})
}

func TestTakeTraceConcurrently(t *testing.T) {
	onDesk(t, func(d *desk) {
		p := d.start(context.Background(), 10*time.Millisecond, 0)
		var mu sync.Mutex // guards got
		got := 0
		add := func(tr *profile.Trace) {
			mu.Lock()
			defer mu.Unlock()
			got += len(tr.Samples)
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 20 {
					d.tell(func(e *fakeEngine) { e.queue = append(e.queue, sample("f")) })
					add(d.take(p))
				}
			})
		}
		all.Wait()
		add(d.stop(p))
		if got != 80 {
			d.Errorf("%d samples in all parts, want 80", got)
		}
	})
}

// That other code has the CPU profiler is logged when it begins and when it is over.
func TestPauseIsLogged(t *testing.T) {
	log := logged(t)
	onDesk(t, func(d *desk) {
		p := d.start(context.Background(), 10*time.Millisecond, 0)
		d.emit(1)
		for range 2 {
			d.tell(func(e *fakeEngine) { e.taken, e.busy = true, true })
			for range 3 {
				d.pass()
			}
			d.tell(func(e *fakeEngine) { e.busy = false })
			d.pass()
		}
		d.tell(func(e *fakeEngine) { e.taken, e.busy = true, true })
		d.pass()
		d.stop(p)
		d.tell(func(e *fakeEngine) { e.busy = false })
		d.stop(d.start(context.Background(), 10*time.Millisecond, 0)) // was never paused
	})
	const away, again = "level=WARN msg=\"profiling: CPU profiler is in use elsewhere in this process; sampling paused\" reason=", "level=INFO msg=\"profiling: sampling again\" gap=6s"
	got := strings.Split(strings.TrimSpace(log.String()), "\n")
	want := []string{away, again, away, again, away}
	if !slices.EqualFunc(got, want, strings.Contains) {
		t.Errorf("log:\n%s\nwant lines with %q", log.String(), want)
	}
}

// The parts of a profiler, joined, are as if they had never been taken.
func TestJoinedParts(t *testing.T) {
	onDesk(t, func(d *desk) {
		whole := d.start(context.Background(), 10*time.Millisecond, 0)
		p := d.start(context.Background(), 10*time.Millisecond, 0)
		var parts []*profile.Trace
		symbols := sampling.NewSymbols()
		for _, stacks := range [][][]string{{{"a"}, {"b", "a"}}, {{"b", "a"}, {"c", "b", "a"}}, nil, {{"d"}, {"a"}}} {
			for _, names := range stacks {
				taken := sample(names[0])
				taken.Stack = nil
				for _, name := range names {
					taken.Stack = append(taken.Stack, symbols.Place(profile.Call{Name: name, File: "shop.go", StartLine: 10, Line: 11}))
				}
				d.tell(func(e *fakeEngine) { e.queue = append(e.queue, taken) })
				d.pass()
			}
			parts = append(parts, d.take(p))
		}
		parts = append(parts, d.stop(p))
		got, want := profile.Join(parts...), d.stop(whole)
		if err := got.WriteJSON(io.Discard); err != nil {
			t.Error(err)
		}
		if len(got.Samples) != 6 || len(got.Samples) != len(want.Samples) {
			t.Fatalf("%d samples, %d in the trace that was not taken in parts", len(got.Samples), len(want.Samples))
		}
		for i, s := range got.Samples {
			if a, b := slices.Collect(got.Calls(s)), slices.Collect(want.Calls(want.Samples[i])); !slices.Equal(a, b) || len(a) == 0 || a[0].Line != 11 {
				t.Errorf("sample %d is %v, want %v", i, a, b)
			}
			if s.Timestamp-got.Samples[0].Timestamp != want.Samples[i].Timestamp-want.Samples[0].Timestamp || s.Weight != want.Samples[i].Weight {
				t.Errorf("sample %d is %+v, want %+v", i, s, want.Samples[i])
			}
		}
		if !slices.Equal(got.Stacks, want.Stacks) || !slices.Equal(got.Frames, want.Frames) || !slices.Equal(got.Resources, want.Resources) {
			t.Errorf("the stacks are %v of %v, want %v of %v", got.Stacks, got.Frames, want.Stacks, want.Frames)
		}
		last := parts[len(parts)-1]
		if got.Started != parts[0].Started || got.Stopped != last.Stopped || got.Origin != last.Origin || got.Engine != "fake" ||
			got.Interval != 10*time.Millisecond || got.Stats.Samples != 6 {
			t.Errorf("from %v to %v since %v, engine %q, interval %v, %+v", got.Started, got.Stopped, got.Origin, got.Engine, got.Interval, got.Stats)
		}
	})
}
