package profiles

import (
	"github.com/perfline/perfline/internal/modules"
	"github.com/perfline/perfline/profiling/profile"
)

// HiddenNote returns sentences about the number of hidden functions. Pictures and files contain the
// sentences. The origin policy or the profiler's Modules can hide functions. If no function is
// hidden, HiddenNote returns an empty string. If t contains selected samples of another trace, the
// sentences contain the counts of the other trace: see [profile.Stats].
func HiddenNote(t *profile.Trace) string {
	return modules.HiddenNote(t.Modules, t.Stats.Samples, t.Stats.Filtered)
}
