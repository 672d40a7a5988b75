package profile_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perfline/perfline/profiling/profile"
)

// A trace without the calls of some functions is the trace that a builder without them makes.
func TestWithCalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := drawTrace(t)
		hidden := rapid.SampledFrom([]string{"a", "b", "c", "none"}).Draw(t, "hidden")
		got := tr.WithCalls(func(c *profile.Call) bool { return c.Name != hidden })
		checkTrace(t, got)
		if len(got.Samples) != len(tr.Samples) || total(got) != total(tr) {
			t.Fatalf("%d samples of %v, want %d of %v", len(got.Samples), total(got), len(tr.Samples), total(tr))
		}
		lost := uint64(0)
		for i, s := range tr.Samples {
			want := slices.DeleteFunc(slices.Collect(tr.Calls(s)), func(c profile.Call) bool { return c.Name == hidden })
			if calls := slices.Collect(got.Calls(got.Samples[i])); !slices.Equal(calls, want) {
				t.Fatalf("sample %d has the calls %v, want %v", i, calls, want)
			}
			if s.StackID != profile.None && len(want) == 0 {
				lost++
			}
			if g := got.Samples[i]; g.Timestamp != s.Timestamp || g.Weight != s.Weight || g.Marker != s.Marker {
				t.Fatalf("sample %d is %+v, want %+v", i, g, s)
			}
		}
		if got.Stats.Filtered != lost || got.Stats.Samples != tr.Stats.Samples {
			t.Fatalf("the counts are %+v, want %d filtered", got.Stats, lost)
		}
	})
}

// drawTrace draws a trace of few functions, so that stacks are often recursive, alike or missing.
func drawTrace(t *rapid.T) *profile.Trace {
	p, b := newProgram(), profile.NewBuilder(nil)
	for i := range rapid.IntRange(0, 12).Draw(t, "samples") {
		var stack []*profile.Call
		for range rapid.IntRange(0, 6).Draw(t, "depth") {
			name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")
			stack = append(stack, p.call(profile.Call{Name: name, File: rapid.SampledFrom([]string{"", name + ".go", "other.go"}).Draw(t, "file"),
				StartLine: 10, Line: rapid.IntRange(0, 3).Draw(t, "line")}))
		}
		b.Add(stack, profile.Sample{Timestamp: time.Duration(i), ContextID: profile.None, Weight: time.Duration(rapid.IntRange(0, 9).Draw(t, "weight")),
			Marker: rapid.SampledFrom([]profile.Marker{profile.Ordinary, profile.Idle, profile.GC}).Draw(t, "marker")})
	}
	return b.Trace(nil)
}

func total(t *profile.Trace) (sum time.Duration) {
	for _, s := range t.Samples {
		sum += s.Weight
	}
	return sum
}
