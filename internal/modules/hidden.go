package modules

import (
	"fmt"
	"strings"
)

// HiddenNote returns sentences about the functions that a profile lacks because of the origin
// policy or of the profiler's Modules. It is empty if no function is hidden. The profile has the
// functions of the modules shown, and all functions if shown is empty. Of all samples, filtered
// have no stack.
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
