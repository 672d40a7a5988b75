package analysis_test

import (
	"time"

	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

var ofOwners = []fixture{
	{
		"children",
		"goroutines that a request's goroutine creates work for the request and for the " +
			"span, as do their own children",
		func(j judge, _ *recording, got []waits.Request) {
			r, child := &got[0], id(2)
			cause := largest(j, r, waits.Timer)
			if cause.SpanID != child || cause.Span != "load all" {
				j.Errorf("cause is in span %v %q, want %v, with the name at its end",
					cause.SpanID, cause.Span, child)
			}
			goroutines(j, r, 3)
			if waiting.Times(r, child)[waits.Timer] < long {
				j.Errorf("times of the span are %v, want the timer of its grandchild",
					waiting.Times(r, child))
			}
			if first := r.Goroutines[0].Intervals[0]; first.SpanID != r.RootID {
				j.Errorf("the request begins in span %v, want the root", first.SpanID)
			}
		},
	},
	{
		"worker",
		"a worker was created outside any request, and has a job of a request: the worker is no " +
			"goroutine of the request, and the request waits for what the worker does",
		worked,
	},
	{
		"handed-over",
		"a request that hands a lock, a connection or a value to others has none of their goroutines",
		func(j judge, _ *recording, got []waits.Request) {
			for i := range got {
				goroutines(j, &got[i], 1)
				largest(j, &got[i], waits.Timer)
			}
		},
	},
	{
		"within-before-trace",
		"a request that began before the trace has the spans with notes that name its root",
		func(j judge, r *recording, got []waits.Request) {
			loads(j, r, got)
			goroutines(j, &got[0], 2)
		},
	},
	{
		"task-before-trace",
		"a request that began before the trace has the spans of its task",
		loads,
	},
	{
		"span-before-trace",
		"a span of an unknown request is of no other request: it may be the request's own",
		func(j judge, _ *recording, got []waits.Request) {
			if c := largest(j, &got[0], waits.Timer); c.In != nil {
				j.Errorf("the cause is of %+v, want the request alone", c.In)
			}
		},
	},
	{
		"holder-before-trace",
		"a request that began before the trace holds a mutex: its end in the trace names it",
		func(j judge, _ *recording, got []waits.Request) {
			in(j, by(j, largest(j, &got[0], waits.Mutex), "GET /old"), "(*index).rebuild")
			says(j, &got[0], "waited for a mutex that GET /old held in (*index).rebuild")
		},
	},
	{
		"task-of-another",
		"a span in a task that the program makes within a request is of the request",
		loads,
	},
	{
		"instrumented-twice",
		"two instrumentations make two roots of one request: neither waits for the other one",
		loads,
	},
	{
		"unknown-root",
		"a span of a request that began before the trace holds a mutex: the function is " +
			"named, and no request",
		func(j judge, _ *recording, got []waits.Request) {
			c := largest(j, &got[0], waits.Mutex)
			in(j, by(j, c, ""), "(*index).rebuild")
			says(j, &got[0], "waited for a mutex that a goroutine held in (*index).rebuild")
		},
	},
	{
		"ends-elsewhere",
		"a request that moves to another goroutine is followed to the one on which it ends",
		func(j judge, _ *recording, got []waits.Request) {
			in(j, largest(j, &got[0], waits.Timer).Function, "analysis_test.rest")
			goroutines(j, &got[0], 2)
			if wait := interval(j, &got[0], 0, waits.Wait); wait.By == nil || wait.By.Goroutine != got[0].Goroutines[1].ID {
				j.Errorf("the serving goroutine's wait is %+v, want one for the other goroutine",
					wait)
			}
		},
	},
	{
		"serves-another",
		"a goroutine that serves the next request serves the first one no more, which ends " +
			"elsewhere",
		func(j judge, _ *recording, got []waits.Request) {
			in(j, largest(j, &got[0], waits.Timer).Function, "analysis_test.rest")
			if wait := interval(j, &got[0], 0, waits.Wait); wait.By == nil || wait.By.RootID != got[0].RootID {
				j.Errorf("after the handover, the serving goroutine's wait is %+v, want one for the same request", wait)
			}
		},
	},
}

// worked fails unless both requests wait for the rest of the worker.
func worked(j judge, _ *recording, got []waits.Request) {
	for i := range got {
		in(j, largest(j, &got[i], waits.Timer).Function, "analysis_test.rest")
		goroutines(j, &got[i], 1)
	}
}

var ofEnds = []fixture{
	{
		"before-trace",
		"a request that began before the trace has a gap, and is served by the goroutine on " +
			"which it ends",
		func(j judge, r *recording, got []waits.Request) {
			gap := interval(j, &got[0], 0, waits.Gap)
			if gap.Start != 0 || gap.Duration() < long {
				j.Errorf("gap is %+v, want it from the start to the trace", gap)
			}
			interval(j, &got[0], 0, waits.Timer)

			root := r.roots[0].wanted()
			root.Duration = 0
			unknown := &r.read(j, root)[0]
			if gap := find(unknown, 0, waits.Gap); gap != nil {
				j.Errorf("without its duration, the request has a gap: %+v", gap)
			}
			interval(j, unknown, 0, waits.Timer)
		},
	},
	{
		"before-trace-waits",
		"goroutines that wait since before the trace wait for what those do that end the wait",
		func(j judge, _ *recording, got []waits.Request) {
			beforeTrace(j, got, map[string]waits.Kind{
				"receive": waits.ChannelReceive, "send": waits.ChannelSend, "select": waits.ChannelReceive,
				"mutex":     waits.Mutex,
				"WaitGroup": waits.WaitGroup, "condition": waits.Condition, "pool": waits.Pool,
				"network": waits.Wait,
				"sleep":   waits.Wait, "system call": waits.Syscall,
			})
		},
	},
	{
		"before-trace-stacks",
		"after a generation, the trace has the stacks of goroutines that wait since before " +
			"the trace",
		func(j judge, _ *recording, got []waits.Request) {
			beforeTrace(j, got, map[string]waits.Kind{
				"receive": waits.ChannelReceive, "send": waits.ChannelSend, "select": waits.Select,
				"mutex":     waits.Mutex,
				"WaitGroup": waits.WaitGroup, "condition": waits.Condition, "pool": waits.Pool,
				"network": waits.Network,
				"sleep":   waits.Timer, "system call": waits.Syscall,
			})
		},
	},
	{
		"unended",
		"a request that has not ended at the end of the trace",
		func(j judge, _ *recording, got []waits.Request) {
			if !got[0].Unended {
				j.Errorf("Unended is false")
			}
			in(j, largest(j, &got[0], waits.Timer).Function, "analysis_test.rest")
			says(j, &got[0], " so far: ")
		},
	},
	{
		"unended-waits",
		"where no goroutine has ended a wait, it is the cause itself",
		func(j judge, _ *recording, got []waits.Request) {
			want := map[string]waits.Kind{
				"receive": waits.ChannelReceive, "send": waits.ChannelSend, "select": waits.Select,
				"mutex":     waits.Mutex,
				"WaitGroup": waits.WaitGroup, "condition": waits.Condition, "pool": waits.Pool,
				"network": waits.Network,
				"sleep":   waits.Timer, "system call": waits.Syscall, "forever": waits.Wait,
			}
			for i := range got {
				c := largest(j, &got[i], want[got[i].Name])
				if c.By != nil || c.Function == "" || !got[i].Unended {
					j.Errorf("%s has the cause %+v, want a function, and no goroutine yet",
						got[i].Name, c)
				}
				delete(want, got[i].Name)
			}
			if len(want) > 0 {
				j.Errorf("no request has a wait for %v", want)
			}
		},
	},
	{
		"late-start",
		"the note of the start is late: the request has the time of its span, and the states " +
			"of that time",
		func(j judge, r *recording, got []waits.Request) {
			lateNote(j, r, &got[0], 3)
		},
	},
	{
		"late-end",
		"the note of the end is late: the request has the time of its span, and the states " +
			"of that time",
		func(j judge, r *recording, got []waits.Request) {
			lateNote(j, r, &got[0], 2)
		},
	},
	{
		"long",
		"a request of a second and more, over two generations of the trace",
		func(j judge, _ *recording, got []waits.Request) {
			largest(j, &got[0], waits.Timer)
			if got[0].Duration < time.Second+2*long {
				j.Errorf("the request took %v, want more than a second", got[0].Duration)
			}
		},
	},
}

// beforeTrace fails unless requests that began before the trace have a gap, and then wait in these
// manners.
func beforeTrace(j judge, got []waits.Request, want map[string]waits.Kind) {
	j.Helper()
	for i := range got {
		r := &got[i]
		if gap := r.Goroutines[0].Intervals[0]; gap.Kind != waits.Gap {
			j.Errorf("%s begins with %+v, want a gap", r.Name, gap)
		}
		if wait := find(r, 0, want[r.Name]); wait == nil || wait.Duration() < long {
			j.Errorf("%s: the wait is %+v, want %v for %v at least\n%s",
				r.Name, wait, want[r.Name], long, goldenText(got[i:i+1]))
		}
		delete(want, r.Name)
	}
	if len(want) > 0 {
		j.Errorf("no request has a wait for %v", want)
	}
}

// lateNote fails unless the request has its span's time, with so many rests.
func lateNote(j judge, r *recording, got *waits.Request, rests int) {
	j.Helper()
	if got.Duration != r.roots[0].took {
		j.Errorf("the request took %v, want %v, as its span did", got.Duration, r.roots[0].took)
	}
	if gap := find(got, 0, waits.Gap); gap != nil {
		j.Errorf("the trace has it all, and the request has the gap %+v", gap)
	}
	timers := 0
	for _, i := range got.Goroutines[0].Intervals {
		if i.Kind == waits.Timer && i.Duration() >= long/2 {
			timers++
		}
	}
	if timers != rests {
		j.Errorf("the request waits for %d timers, want %d", timers, rests)
	}
}

// loads wants a timer in the span load of each request itself as the cause.
func loads(j judge, _ *recording, got []waits.Request) {
	for i := range got {
		if c := largest(j, &got[i], waits.Timer); c.In != nil || c.Span != "load" {
			j.Errorf("%s: the cause is in span %q of %+v, want load of the request", got[i].Name, c.Span, c.In)
		}
	}
}
