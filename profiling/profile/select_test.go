package profile_test

import (
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	"pgregory.net/rapid"

	"github.com/perfline/perfline/profiling/profile"
)

func TestSelect_JSP16_JSP17(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, b := newProgram(), profile.NewBuilder(nil)
		for i := range rapid.IntRange(0, 20).Draw(t, "samples") {
			var stack []*profile.Call
			for range rapid.IntRange(0, 5).Draw(t, "depth") {
				stack = append(stack, p.call(profile.Call{
					Name: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name"), File: rapid.SampledFrom([]string{"", "x.go", "y.go"}).Draw(t, "file"),
					Line: rapid.IntRange(0, 3).Draw(t, "line"),
				}))
			}
			context := b.Context(rapid.IntRange(0, 3).Draw(t, "context"), func(key any) profile.SampleContext {
				return profile.SampleContext{Labels: []profile.Label{{"n", string(rune('0' + key.(int)))}}}
			})
			b.Add(stack, profile.Sample{Timestamp: time.Duration(i), ContextID: context})
		}
		whole := b.Trace(nil)
		before := *whole
		keep := map[time.Duration]bool{}
		for _, s := range whole.Samples {
			keep[s.Timestamp] = rapid.Bool().Draw(t, "keep")
		}
		got := whole.Select(func(s profile.Sample) bool { return keep[s.Timestamp] })
		checkTrace(t, got)
		checkTrace(t, whole)
		if !slices.Equal(before.Stacks, whole.Stacks) || !slices.Equal(before.Samples, whole.Samples) {
			t.Fatal("the whole trace changed")
		}
		var want []profile.Sample
		for _, s := range whole.Samples {
			if keep[s.Timestamp] {
				want = append(want, s)
			}
		}
		if len(got.Samples) != len(want) {
			t.Fatalf("%d samples, want %d", len(got.Samples), len(want))
		}
		for i, s := range got.Samples {
			calls, wantCalls := slices.Collect(got.Calls(s)), slices.Collect(whole.Calls(want[i]))
			if s.Timestamp != want[i].Timestamp || !slices.Equal(calls, wantCalls) {
				t.Fatalf("sample %d is %v at %v, want %v at %v", i, calls, s.Timestamp, wantCalls, want[i].Timestamp)
			}
			if g, w := got.Contexts[s.ContextID].Labels[0], whole.Contexts[want[i].ContextID].Labels[0]; g != w {
				t.Fatalf("sample %d is of %v, want %v", i, g, w)
			}
		}
	})
}

func TestOfTraceAndSpan(t *testing.T) {
	tr := byHand()
	tr.Contexts[1] = profile.SampleContext{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{3}, SpanName: "query"}
	tr.Stats.Lost = 7
	for _, c := range []struct {
		name                                string
		got                                 *profile.Trace
		times                               []time.Duration
		contexts, stacks, frames, resources int
	}{
		{"a trace", tr.OfTrace(trace.TraceID{1}), []time.Duration{1, 1551734999998}, 2, 1, 1, 1},
		{"a span", tr.OfSpan(trace.SpanID{3}), []time.Duration{1551734999998}, 1, 1, 1, 1},
		{"another trace", tr.OfTrace(trace.TraceID{2}), nil, 0, 0, 0, 0},
		{"another span", tr.OfSpan(trace.SpanID{9}), nil, 0, 0, 0, 0},
		// A sample without a span is of no span, not of the one whose id is zero.
		{"no span", tr.OfSpan(trace.SpanID{}), nil, 0, 0, 0, 0},
		{"all", tr.Select(func(profile.Sample) bool { return true }), []time.Duration{-time.Millisecond, 1, 1551734999998}, 2, 3, 3, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			checkTrace(t, c.got)
			var times []time.Duration
			for _, s := range c.got.Samples {
				times = append(times, s.Timestamp)
			}
			if !slices.Equal(times, c.times) {
				t.Errorf("samples at %v, want %v", times, c.times)
			}
			if got := []int{len(c.got.Contexts), len(c.got.Stacks), len(c.got.Frames), len(c.got.Resources)}; !slices.Equal(got, []int{c.contexts, c.stacks, c.frames, c.resources}) {
				t.Errorf("%v contexts, stacks, frames, resources; want %v", got, []int{c.contexts, c.stacks, c.frames, c.resources})
			}
			if c.got.Origin != tr.Origin || c.got.Interval != tr.Interval || c.got.Stats != tr.Stats {
				t.Errorf("it says %v, %v, %+v; want what the whole says", c.got.Origin, c.got.Interval, c.got.Stats)
			}
		})
	}
}

func TestSelectOfSampleWithAnotherStack(t *testing.T) {
	p, b := newProgram(), profile.NewBuilder(nil)
	b.Add(p.stack("f", "main"), profile.Sample{ContextID: profile.None})
	b.Add(p.stack("main"), profile.Sample{Timestamp: 1, ContextID: profile.None})
	tr := b.Trace(nil)
	tr.Samples[0].StackID = 0
	got := tr.Select(func(profile.Sample) bool { return true })
	checkTrace(t, got)
	if calls := slices.Collect(got.Calls(got.Samples[0])); len(calls) != 1 || calls[0].Line != 0 {
		t.Errorf("calls are %v, want main at a line that is not known", calls)
	}
}
