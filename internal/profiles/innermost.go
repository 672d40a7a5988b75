package profiles

import (
	"strings"

	"github.com/perfline/perfline/profiling/profile"
)

// Innermost returns the innermost function outside the runtime on the stack of s, or the innermost
// function if all are the runtime's. Without a stack, the name is [profile.NoStack].
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

// InnermostFunction returns the name of [Innermost] without the path of its package's folder,
// followed by " (waits)" if the goroutine waits.
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
