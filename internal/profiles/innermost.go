package profiles

import (
	"strings"

	"github.com/perfline/perfline/profiling/profile"
)

// Innermost returns the innermost function outside the runtime on the stack of s. If the stack
// contains only functions of the runtime, Innermost returns the innermost function. For a sample
// without a stack, the name is [profile.NoStack].
func Innermost(t *profile.Trace, s profile.Sample) profile.Call {
	first := profile.Call{Name: profile.NoStack}
	for c := range t.Calls(s) {
		if !strings.HasPrefix(c.Name, "runtime.") && !strings.HasPrefix(c.Name, "internal/") {
			return c
		}
		if first.Name == profile.NoStack {
			first = c
		}
	}
	return first
}

// InnermostFunction returns the name of the function that [Innermost] returns, such as
// "view.Shown". The name does not contain the path of the package's folder. If the goroutine waits,
// " (waits)" follows the name.
func InnermostFunction(t *profile.Trace, s profile.Sample) string {
	name := Innermost(t, s).Name
	name = name[strings.LastIndexByte(name, '/')+1:]
	if name == "" {
		name = profile.NoStack
	}
	if s.Marker == profile.Idle {
		name += " (waits)"
	}
	return name
}
