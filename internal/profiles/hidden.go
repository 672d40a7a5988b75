package profiles

import (
	"github.com/perfline/perfline/internal/modules"
	"github.com/perfline/perfline/profiling/profile"
)

// HiddenNote returns sentences about the functions that the trace hides because of the origin
// policy or the profiler's Modules, for pictures and files. It is empty if no function is hidden. A
// trace that was selected from another trace has the counts of the whole, see [profile.Stats].
func HiddenNote(t *profile.Trace) string {
	return modules.HiddenNote(t.Modules, t.Stats.Samples, t.Stats.Filtered)
}
