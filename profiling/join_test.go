package profiling

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"
)

// A trace in parts, joined, is as if it had never been taken in parts.
func TestJoin(t *testing.T) {
	onDesk(t, func(d *desk) {
		whole := d.start(context.Background(), 10*time.Millisecond, 0)
		p := d.start(context.Background(), 10*time.Millisecond, 0)
		var parts []*Trace
		program := newProgram()
		for _, stacks := range [][][]string{{{"a"}, {"b", "a"}}, {{"b", "a"}, {"c", "b", "a"}}, nil, {{"d"}, {"a"}}} {
			for _, s := range stacks {
				taken := sample(s[0])
				taken.Stack = program.stack(s...)
				d.tell(func(e *fakeEngine) { e.queue = append(e.queue, taken) })
				d.pass()
			}
			parts = append(parts, d.take(p))
		}
		parts = append(parts, d.stop(p))
		before := *parts[1]
		got, want := Join(parts...), d.stop(whole)
		if err := got.check(); err != nil {
			t.Error(err)
		}
		if !reflect.DeepEqual(*parts[1], before) {
			t.Error("a part was changed")
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
		if len(got.Stacks) != len(want.Stacks) || len(got.Frames) != len(want.Frames) || len(got.places) != len(want.places) ||
			!slices.Equal(got.Resources, want.Resources) {
			t.Errorf("%d stacks, %d frames, %d places, want %d, %d, %d", len(got.Stacks), len(got.Frames), len(got.places),
				len(want.Stacks), len(want.Frames), len(want.places))
		}
		last := parts[len(parts)-1]
		if got.Started != parts[0].Started || got.Stopped != last.Stopped || got.Origin != last.Origin || got.Engine != "fake" ||
			got.Interval != 10*time.Millisecond || got.Stats.Samples != 6 {
			t.Errorf("from %v to %v since %v, engine %q, interval %v, %+v", got.Started, got.Stopped, got.Origin, got.Engine, got.Interval, got.Stats)
		}
	})
}

func TestJoinCountsAndContexts(t *testing.T) {
	a, b := byHand(), byHand()
	for i := range b.Samples {
		b.Samples[i].Timestamp += time.Hour
	}
	a.Stats = Stats{Samples: 3, Lost: 1, Truncated: 2, Filtered: 3, Gaps: 4, GapTime: 5, BusyGaps: 6, BusyTime: 7, SampleCost: 6}
	b.Stats = Stats{Samples: 3, Lost: 10, Truncated: 20, Filtered: 30, Gaps: 40, GapTime: 50, BusyGaps: 60, BusyTime: 70, SampleCost: 60}
	got := Join(a, b)
	if err := got.check(); err != nil {
		t.Error(err)
	}
	if want := (Stats{Samples: 6, Lost: 11, Truncated: 22, Filtered: 33, Gaps: 44, GapTime: 55, BusyGaps: 66, BusyTime: 77, SampleCost: 60}); got.Stats != want {
		t.Errorf("counts are %+v, want %+v", got.Stats, want)
	}
	if len(got.Contexts) != len(a.Contexts) || len(got.Stacks) != len(a.Stacks) || len(got.Samples) != 2*len(a.Samples) {
		t.Errorf("%d contexts, %d stacks, %d samples", len(got.Contexts), len(got.Stacks), len(got.Samples))
	}
	for i, s := range got.Samples {
		was := a.Samples[i%len(a.Samples)]
		if (s.ContextID == None) != (was.ContextID == None) || s.ContextID != None && !reflect.DeepEqual(got.Contexts[s.ContextID], a.Contexts[was.ContextID]) {
			t.Errorf("sample %d has context %d", i, s.ContextID)
		}
	}
	if empty := Join(); len(empty.Samples) != 0 || empty.check() != nil {
		t.Errorf("of nothing: %+v", empty)
	}
}
