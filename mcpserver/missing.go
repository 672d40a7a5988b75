package mcpserver

import (
	"strings"

	"github.com/perfline/perfline/profiling/profile"
)

const maxModules = 8 // names in an answer

// writeGaps writes the known gaps of a session's samples. unknown is true if the program may have
// used the CPU without samples.
func writeGaps(a *answer, t *profile.Trace) (unknown bool) {
	s := t.Stats
	if s.Filtered > 0 || len(t.Modules) > 0 {
		note := word("Config.Sessions.Policy.Modules or the profiler's Modules hide functions of some modules")
		if s.Filtered > 0 {
			note += word(quotef(": %d of %d samples of the session have no stack", s.Filtered,
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

func moduleNames(all []string) word {
	var names []string
	for i, name := range all {
		if i == maxModules {
			names = append(names, quotef("%d more", len(all)-i))
			break
		}
		names = append(names, quotef("%s", name))
	}
	return word(strings.Join(names, ", "))
}
