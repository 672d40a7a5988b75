package analysis_test

import (
	"slices"

	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

var ofCauses = []fixture{
	{"timer", "a request sleeps in rest", func(j judge, _ *recording, got []waits.Request) {
		c := largest(j, &got[0], waits.Timer)
		in(j, c.Function, "analysis_test.rest")
		if c.Duration < long {
			j.Errorf("the timer took %v, want %v at least", c.Duration, long)
		}
	}},
	{
		"network",
		"a request waits for the answer to the call in pay",
		func(j judge, _ *recording, got []waits.Request) {
			in(j, largest(j, &got[0], waits.Network).Function, "analysis_test.pay")
		},
	},
	{
		"pipe",
		"a request waits for a pipe in readPipe",
		func(j judge, _ *recording, got []waits.Request) {
			in(j, largest(j, &got[0], waits.File).Function, "analysis_test.readPipe")
			says(j, &got[0], "waited for a file or a pipe in analysis_test.readPipe")
		},
	},
	{
		"syscall",
		"a request waits in a system call of flush",
		func(j judge, _ *recording, got []waits.Request) {
			in(j, largest(j, &got[0], waits.Syscall).Function, "analysis_test.flush")
		},
	},
	{
		"processor",
		"a request runs in hash, where the runtime preempts it",
		func(j judge, _ *recording, got []waits.Request) {
			in(j, largest(j, &got[0], waits.OnCPU).Function, "analysis_test.hash")
		},
	},
	{
		"processor-sampled",
		"a request runs in hash, where the CPU profiler samples it",
		func(j judge, _ *recording, got []waits.Request) {
			// Where the runtime preempts it, its stack has functions of the runtime above.
			if !slices.ContainsFunc(got[0].Goroutines[0].Intervals, func(i waits.Interval) bool {
				return i.Kind == waits.OnCPU && len(i.Stack) > 0 &&
					text.Function(i.Stack[0].Function) == "analysis_test.hash"
			}) {
				j.Errorf("no interval has a sample")
			}
			in(j, largest(j, &got[0], waits.OnCPU).Function, "analysis_test.hash")
		},
	},
	{
		"processor-unseen",
		"time on a processor without a sample counts for the function that called what came " +
			"before and after",
		func(j judge, _ *recording, got []waits.Request) {
			for _, i := range got[0].Goroutines[0].Intervals {
				if i.Kind != waits.OnCPU || i.Stack != nil {
					j.Errorf("the request was interrupted: %+v", i)
				}
			}
			in(j, largest(j, &got[0], waits.OnCPU).Function, "analysis_test.startsHere")
		},
	},
	{
		"processors-taken",
		"a request waits for the one processor, which others use in hash",
		func(j judge, _ *recording, got []waits.Request) {
			in(j, by(j, largest(j, &got[0], waits.Runnable), "GET /report"), "analysis_test.hash")
		},
	},
	{
		"processor-free",
		"a request is ready while a processor of the runtime is free: other programs run in " +
			"its place",
		func(j judge, _ *recording, got []waits.Request) {
			if c := largest(j, &got[0], waits.OtherPrograms); c.By != nil {
				j.Errorf("by %+v, want none", c.By)
			}
			if i := interval(j, &got[0], 0, waits.Runnable); i.By != nil {
				j.Errorf("the wait for a processor is by %+v, want none", i.By)
			}
		},
	},
	{
		"other-programs",
		"the process got less CPU time than its goroutines ran: other programs ran, and no " +
			"goroutine is named",
		func(j judge, _ *recording, got []waits.Request) {
			if c := largest(j, &got[0], waits.OtherPrograms); c.By != nil {
				j.Errorf("by %+v, want none", c.By)
			}
		},
	},
	{
		"cpu-limit",
		"the process got less CPU time than its goroutines ran: a limit stopped it, which is named",
		func(j judge, _ *recording, got []waits.Request) {
			if c := largest(j, &got[0], waits.CPULimit); c.By != nil || c.Limit != 0.5 {
				j.Errorf("by %+v, with a limit of %v; want none, 0.5", c.By, c.Limit)
			}
			says(j, &got[0], "the limit of 0.5 processors stopped the process")
		},
	},
	{
		"not-run",
		"the process got less CPU time than its goroutines ran, and the kernel counts no reason",
		func(j judge, _ *recording, got []waits.Request) {
			if c := largest(j, &got[0], waits.NotRun); c.By != nil {
				j.Errorf("by %+v, want none", c.By)
			}
			says(j, &got[0], "the operating system did not run the process, and why is not known")
		},
	},
	{
		"collection",
		"a request waits for collections of the garbage, which stop the world",
		func(j judge, _ *recording, got []waits.Request) {
			largest(j, &got[0], waits.GarbageCollection)
			says(j, &got[0], "garbage collection")
			interval(j, &got[0], 0, waits.StopTheWorld)
			for _, c := range got[0].Causes {
				if c.Kind == waits.StopTheWorld {
					j.Errorf("a stop by the collector has a cause of its own: %+v", c)
				}
			}
		},
	},
	{
		"collection-processors",
		"a request waits for the one processor, which the collector uses",
		func(j judge, _ *recording, got []waits.Request) {
			cause(j, &got[0], waits.GarbageCollection)
			if !slices.ContainsFunc(got[0].Goroutines[0].Intervals, func(i waits.Interval) bool {
				return i.Kind == waits.Runnable && i.By != nil && i.By.Function == "runtime.gcBgMarkWorker"
			}) {
				j.Errorf("no wait for a processor is by the collector's worker")
			}
		},
	},
	{
		"collection-help",
		"a request that allocates helps the collector, and its stack is known then",
		func(j judge, r *recording, got []waits.Request) {
			helps, sampled, all := 0, 0, got[0].Goroutines[0].Intervals
			for i := range all {
				if all[i].Kind != waits.GCAssist {
					continue
				}
				if helps++; i > 0 && all[i-1].Kind == waits.OnCPU && len(all[i-1].Stack) > 0 {
					sampled++
				}
			}
			// Within its help, a goroutine may wait, which is an interval, too.
			if want := assists(j, r.data, got[0].Goroutines[0].ID); helps < want || want == 0 {
				j.Errorf("%d intervals are help to the collector, want at least the %d of the trace",
					helps, want)
			}
			if sampled == 0 {
				j.Errorf("no interval before the help has a stack")
			}
			help := interval(j, &got[0], 0, waits.GCAssist)
			in(j, waiting.Function(help), "analysis_test.litter")
			cause(j, &got[0], waits.GarbageCollection)
			if !waitsFor(j, r.data, "GC mark assist wait for work") {
				j.Errorf("no goroutine waits until there is work that helps")
			}
		},
	},
	{
		"stop-the-world",
		"a request stops the world in readStats, and is named",
		func(j judge, _ *recording, got []waits.Request) {
			stop := interval(j, &got[0], 0, waits.StopTheWorld)
			if stop.By == nil || stop.By.Goroutine != got[0].Goroutines[0].ID {
				j.Fatalf("the stop is by %+v, want the request's goroutine", stop.By)
			}
			in(j, stop.By.Function, "analysis_test.readStats")
			in(j, by(j, cause(j, &got[0], waits.StopTheWorld), "GET /"), "analysis_test.readStats")
		},
	},
}
