package modules

import (
	"fmt"
	"strings"
)

// HiddenNote returns sentences about the functions that the origin policy or the profiler's Modules
// hide in a profile, or "" if no function is hidden. The profile shows functions of the modules
// shown; no modules means all functions. filtered of the samples have no stack.
func HiddenNote(shown []string, samples, filtered uint64) string {
	if filtered == 0 && len(shown) == 0 {
		return ""
	}
	note := "The origin policy or the profiler's Modules hide functions of some modules"
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
