package mcpserver

import (
	"strings"

	"github.com/perfline/perfline/profiling/profile"
)

// mostModules is how many modules an answer names.
const mostModules = 8

// missing writes what a session lacks, as far as it is known. It returns true if time without
// samples may have used the CPU.
func missing(a *answer, t *profile.Trace) (unknown bool) {
	s := t.Stats
	if s.Filtered > 0 || len(t.Modules) > 0 {
		note := word("The origin policy or the profiler's Modules hide functions of some modules")
		if s.Filtered > 0 {
			note += word(formatted(": %d of %d samples of the session have no stack", s.Filtered,
				max(s.Filtered, s.Samples)))
		}
		note += "."
		if len(t.Modules) > 0 {
			note += " It shows functions of " + moduleNames(t.Modules) +
				". The time of other functions counts for their callers."
		}
		a.line("%s", note)
	}
	if s.Lost > 0 {
		a.line("%d samples of the session are LOST.", s.Lost)
	}
	if s.BusyTime > 0 {
		a.line("Other code had the CPU profiler for %s: there are no samples of this time.",
			took(s.BusyTime))
	}
	return s.Lost > 0 || s.BusyTime > 0
}

// moduleNames returns the names of modules.
func moduleNames(all []string) word {
	var names []string
	for i, name := range all {
		if i == mostModules {
			names = append(names, formatted("%d more", len(all)-i))
			break
		}
		names = append(names, formatted("%s", name))
	}
	return word(strings.Join(names, ", "))
}
