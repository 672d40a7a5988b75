package profile_test

import (
	"io"
	"reflect"
	"testing"
	"time"

	"github.com/perfline/perfline/profiling/profile"
)

// A trace in parts, joined, is as if it had never been taken in parts.
func TestJoin(t *testing.T) {
	p, whole := newProgram(), profile.NewBuilder(nil)
	var parts []*profile.Trace
	for i, stacks := range [][][]string{{{"a"}, {"b", "a"}}, {{"b", "a"}, {"c", "b", "a"}}, nil, {{"d"}, {"a"}}} {
		b := profile.NewBuilder(nil)
		for j, names := range stacks {
			s := profile.Sample{Timestamp: time.Duration(2*i + j), ContextID: profile.None, Weight: time.Duration(j)}
			b.Add(p.stack(names...), s)
			whole.Add(p.stack(names...), s)
		}
		part := b.Trace(nil)
		part.Started, part.Stopped, part.Origin, part.Engine, part.Interval = time.Duration(i), time.Duration(i+1), time.Unix(1, 0), "fake", 10
		parts = append(parts, part)
	}
	before := *parts[1]
	got, want := profile.Join(parts...), whole.Trace(nil)
	checkTrace(t, got)
	if !reflect.DeepEqual(*parts[1], before) {
		t.Error("a part was changed")
	}
	want.Stopped, want.Origin, want.Engine, want.Interval = 4, time.Unix(1, 0), "fake", 10
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestJoinCountsAndContexts(t *testing.T) {
	a, b := byHand(), byHand()
	for i := range b.Samples {
		b.Samples[i].Timestamp += time.Hour
	}
	a.Stats = profile.Stats{Samples: 3, Lost: 1, Truncated: 2, Filtered: 3, Gaps: 4, GapTime: 5, BusyGaps: 6, BusyTime: 7, SampleCost: 6}
	b.Stats = profile.Stats{Samples: 3, Lost: 10, Truncated: 20, Filtered: 30, Gaps: 40, GapTime: 50, BusyGaps: 60, BusyTime: 70, SampleCost: 60}
	got := profile.Join(a, b)
	if err := got.WriteJSON(io.Discard); err != nil {
		t.Error(err)
	}
	if want := (profile.Stats{Samples: 6, Lost: 11, Truncated: 22, Filtered: 33, Gaps: 44, GapTime: 55, BusyGaps: 66, BusyTime: 77, SampleCost: 60}); got.Stats != want {
		t.Errorf("counts are %+v, want %+v", got.Stats, want)
	}
	if len(got.Contexts) != len(a.Contexts) || len(got.Stacks) != len(a.Stacks) || len(got.Samples) != 2*len(a.Samples) {
		t.Errorf("%d contexts, %d stacks, %d samples", len(got.Contexts), len(got.Stacks), len(got.Samples))
	}
	for i, s := range got.Samples {
		was := a.Samples[i%len(a.Samples)]
		if (s.ContextID == profile.None) != (was.ContextID == profile.None) || s.ContextID != profile.None && !reflect.DeepEqual(got.Contexts[s.ContextID], a.Contexts[was.ContextID]) {
			t.Errorf("sample %d has context %d", i, s.ContextID)
		}
	}
	if empty := profile.Join(); len(empty.Samples) != 0 || empty.WriteJSON(io.Discard) != nil {
		t.Errorf("of nothing: %+v", empty)
	}
}
