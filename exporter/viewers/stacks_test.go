package viewers

import (
	"fmt"
	"slices"
	"testing"

	"github.com/perfline/perfline/profiling/profile"
)

// deep is a trace of samples on some stacks, which have all frames but the innermost in common.
func deep(samples, stacks, frames int) *profile.Trace {
	tr := &profile.Trace{Engine: "cpu", Interval: 10 * ms}
	for i := range frames {
		tr.Frames = append(tr.Frames, profile.Frame{Name: fmt.Sprint("caller", i), ResourceID: profile.None})
		tr.Stacks = append(tr.Stacks, profile.Stack{FrameID: i, ParentID: i - 1})
	}
	for i := range stacks {
		tr.Frames = append(tr.Frames, profile.Frame{Name: fmt.Sprint("leaf", i), ResourceID: profile.None})
		tr.Stacks = append(tr.Stacks, profile.Stack{FrameID: frames + i, ParentID: frames - 1})
	}
	for i := range samples {
		tr.Samples = append(tr.Samples, profile.Sample{StackID: frames + i%stacks, ContextID: profile.None, Count: 1, Weight: 10 * ms})
	}
	return tr
}

// The work over frames grows with the different stacks and not with the samples. Shared callers
// count once.
func TestStacksAreWalkedOnce(t *testing.T) {
	const stacks, frames = 100, 500
	for _, samples := range []int{1_000, 10_000} {
		tr, walked := deep(samples, stacks, frames), 0
		table := stackTable{trace: tr, frame: func(profile.Call, int) int { walked++; return walked }}
		for _, s := range tr.Samples {
			table.of(s, categoryGo)
		}
		if walked != stacks+frames || len(table.list) != stacks+frames {
			t.Errorf("%d frames were looked at for %d samples and %d stacks were made, want %d of both", walked, samples, len(table.list), stacks+frames)
		}
	}
}

// A stack has the calls of its sample, of the sample's category innermost and of Go's before.
func TestStacks(t *testing.T) {
	tr := aSession().trace
	var calls []string
	table := stackTable{trace: tr, frame: func(c profile.Call, category int) int {
		calls = append(calls, fmt.Sprint(c.Name, " ", category))
		return len(calls) - 1
	}}
	for range 2 {
		for i, want := range [][]string{{"main.main 1"}, {"main.main 1", "main.render 1"}, {"main.main 1", "main.render 2"},
			{"main.main 1", "main.render 1", "runtime.gopark 4"}, {"cgo 0"}, {"[no-stack] 3"}} {
			var got []string
			for at := table.of(tr.Samples[i], markerCategories[tr.Samples[i].Marker]); at >= 0; at = table.list[at].parent {
				got = append(got, calls[table.list[at].frame])
			}
			slices.Reverse(got)
			if !slices.Equal(got, want) {
				t.Errorf("sample %d has stack %q, want %q", i, got, want)
			}
		}
	}
}
