package analysis_test

import (
	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/waits"
)

var ofTraces = []fixture{
	{"generations", "requests, waits and workers go on over the generations of a trace", worked},
	{
		"lost-generations",
		"a lost generation is a gap, and a wait that began before counts",
		func(j judge, _ *recording, got []waits.Request) {
			if gap := interval(j, &got[0], 0, waits.Gap); gap.Start != 0 {
				j.Errorf("gap is %+v, want one at the start", gap)
			}
			if wait := interval(j, &got[0], 0, waits.Mutex); wait.By == nil || text.Function(wait.By.Function) != "(*index).hold" {
				j.Errorf("the wait for the mutex is %+v, want one that hold ended", wait)
			}
		},
	},
	{"several", "several requests in one trace", func(j judge, r *recording, got []waits.Request) {
		if len(got) != 3 || got[0].Name != "GET /1" || got[1].Name != "GET /2" || got[2].Name != "GET /3" {
			j.Errorf("requests are %+v", got)
		}
	}},
}

// Programs of random steps: the golden results are all that is stated.
var ofAny = []fixture{
	{"any-1", "random steps", nil},
	{"any-2", "random steps", nil},
	{"any-3", "random steps", nil},
	{"any-4", "random steps", nil},
}
