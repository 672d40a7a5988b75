package profile

import (
	"fmt"
	"strings"
)

// HiddenNote returns sentences about the functions that the trace lacks, because of the origin policy or of the profiler's
// Modules, for pictures and files. It is empty if the trace has functions of all modules. A trace that was selected from another
// one has the counts of the whole, see [Stats].
func (t *Trace) HiddenNote() string {
	s := t.Stats
	if s.Filtered == 0 && len(t.Modules) == 0 {
		return ""
	}
	note := "The origin policy or the profiler's Modules hide functions of some modules"
	switch s.Filtered {
	case 0:
	case 1:
		note += fmt.Sprintf(": 1 of %d samples has no stack", max(1, s.Samples))
	default:
		note += fmt.Sprintf(": %d of %d samples have no stack", s.Filtered, max(s.Filtered, s.Samples))
	}
	note += "."
	if len(t.Modules) > 0 {
		note += " It shows functions of " + strings.Join(t.Modules, ", ") + ". The time of other functions counts for their callers."
	}
	return note
}
