package viewers

import (
	"testing"

	"github.com/perfline/perfline/profiling/profile"
)

// The work over frames grows with the different stacks and not with the samples. Shared callers
// count once.
func TestStacksAreWalkedOnce(t *testing.T) {
	const stacks, callers = 100, 500
	tr := &profile.Trace{}
	for i := range callers + stacks {
		tr.Frames = append(tr.Frames, profile.Frame{ResourceID: profile.None})
		tr.Stacks = append(tr.Stacks, profile.Stack{FrameID: i, ParentID: min(i, callers) - 1})
	}
	for _, samples := range []int{1_000, 10_000} {
		walked := 0
		table := stackTable{trace: tr, frame: func(profile.Call, int) int { walked++; return walked }}
		for i := range samples {
			table.of(profile.Sample{StackID: callers + i%stacks}, categoryGo)
		}
		if walked != stacks+callers || len(table.list) != stacks+callers {
			t.Errorf("%d frames were looked at for %d samples and %d stacks were made, want %d of both", walked, samples, len(table.list), stacks+callers)
		}
	}
}
