package modules

import (
	"fmt"
	"strings"
)

// HiddenNote returns a note about functions that a profile hides. The origin policy or the
// profiler's Modules hide functions. HiddenNote returns "" if the profile shows all functions.
//
// shown lists the modules with visible functions. An empty list means all modules. samples is the
// number of samples. filtered is the number of samples without a stack.
func HiddenNote(shown []string, samples, filtered uint64) string {
	if filtered == 0 && len(shown) == 0 {
		return ""
	}
	note := "Config.Sessions.Policy.Modules or the profiler's Modules hide functions of some modules"
	switch filtered {
	case 0:
	case 1:
		note += fmt.Sprintf(": 1 of %d samples has no stack", max(1, samples))
	default:
		note += fmt.Sprintf(": %d of %d samples have no stack", filtered, max(filtered, samples))
	}
	note += "."
	if len(shown) > 0 {
		note += " It shows functions of " + strings.Join(shown, ", ") +
			". The time of other functions counts for their callers."
	}
	return note
}
