package profiles

import (
	"github.com/perfline/perfline/internal/modules"
	"github.com/perfline/perfline/profiling/profile"
)

// HiddenNote returns sentences that report the number of hidden functions, for pictures and files.
// The origin policy or the profiler's Modules can hide functions. If no function is hidden,
// HiddenNote returns an empty string. For a trace selected from another trace, the sentences
// contain the counts of the other trace: see [profile.Stats].
func HiddenNote(t *profile.Trace) string {
	return modules.HiddenNote(t.Modules, t.Stats.Samples, t.Stats.Filtered)
}
