package analysis_test

import (
	"encoding/binary"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

// id returns the id of the span that a scenario made as the one with this number.
func id(n uint64) (id trace.SpanID) {
	binary.BigEndian.PutUint64(id[:], n)
	return id
}

// rested fails unless a span's goroutines were in timers for so many rests. A goroutine may lose
// its processor before the trace has that it sleeps, and timers may be late: half a rest may be
// missing, or too much.
func rested(j judge, r *waits.Request, name string, id trace.SpanID, rests int) {
	j.Helper()
	got, want := waiting.Times(r, id)[waits.Timer], time.Duration(rests)*long
	if got < want-long/2 || got > want+long/2 || rests == 0 && got > 0 {
		j.Errorf("%s waited %v for timers, want %v", name, got, want)
	}
}

var ofInnerSpans = []fixture{
	{
		"inner",
		"spans that the trace has at their end only have the time between, without the spans inside",
		func(j judge, _ *recording, got []waits.Request) {
			// The spans end in the order first, second, worker, outer.
			const root, first, second, worker, outer = 1, 2, 3, 4, 5
			r := &got[0]
			rested(j, r, "the root", id(root), 1)
			rested(j, r, "outer", id(outer), 2)
			rested(j, r, "first", id(first), 1)
			rested(j, r, "second", id(second), 4)
			rested(j, r, "worker", id(worker), 1)
			if waited := waiting.Times(r, id(outer))[waits.ChannelReceive]; waited < long/2 {
				j.Errorf("outer waited %v for the worker's goroutine", waited)
			}
			if cause := largest(j, r, waits.Timer); cause.SpanID != id(second) || cause.Span != "second" {
				j.Errorf("the cause is in span %v %q, want second", cause.SpanID, cause.Span)
			}
		},
	},
	{
		"inner-others",
		"goroutines that are created in an inner span work for it, and so do theirs; a woken " +
			"one does not, and the span waits for what that one does",
		func(j judge, _ *recording, got []waits.Request) {
			r := &got[0]
			rested(j, r, "the root", id(1), 0)
			rested(j, r, "load", id(2), 2)
			rested(j, r, "job", id(3), 0)
			if cause := largest(j, r, waits.Timer); cause.Span != "job" {
				j.Errorf("the cause is in span %q, want job", cause.Span)
			}
		},
	},
	{
		"inner-before-trace",
		"a request that began before the trace has its own inner spans, and not the ones " +
			"that its goroutine has for other requests",
		func(j judge, _ *recording, got []waits.Request) {
			rested(j, &got[0], "load", id(2), 1)
			rested(j, &got[0], "a span of another request", id(4), 0)
		},
	},
	{
		"inner-out-of-order",
		"a span may end on another goroutine than it started, and before a span that started " +
			"within it",
		func(j judge, _ *recording, got []waits.Request) {
			rested(j, &got[0], "first", id(2), 1)
			rested(j, &got[0], "second", id(3), 2)
		},
	},
	{
		"inner-earlier-request",
		"a span of an earlier request that ends late is not inside the request that its " +
			"goroutine serves now",
		func(j judge, _ *recording, got []waits.Request) {
			rested(j, &got[0], "the root", got[0].RootID, 1)
			rested(j, &got[0], "a span of another request", id(3), 0)
		},
	},
	{
		"inner-before-root",
		"a span that began before the note of its root, with a start of its own, is inside the root",
		func(j judge, _ *recording, got []waits.Request) {
			rested(j, &got[0], "the root", id(1), 1)
			rested(j, &got[0], "the span", id(2), 1)
		},
	},
	{
		"inner-function",
		"time on a processor without a sample counts for the function that ended the inner span",
		func(j judge, _ *recording, got []waits.Request) {
			for _, i := range got[0].Goroutines[0].Intervals {
				if i.Kind == waits.OnCPU && i.Stack != nil {
					j.Errorf("the goroutine was preempted")
				}
			}
			c := largest(j, &got[0], waits.OnCPU)
			if in(j, c.Function, "analysis_test.within"); c.Span != "page" {
				j.Errorf("the cause is in span %q, want page", c.Span)
			}
		},
	},
	{
		"provider",
		"spans of perfline's tracer provider, on their parent's goroutine and on others, and " +
			"a measure of marks.Time",
		provided,
	},
	{
		"provider-sdk",
		"the same spans of the SDK's provider, with bridge.Processor",
		provided,
	},
}

// provided fails unless each span has its rests, and the request has its own goroutines only.
func provided(j judge, _ *recording, got []waits.Request) {
	spans := map[trace.SpanID]bool{}
	for _, g := range got[0].Goroutines {
		for _, i := range g.Intervals {
			spans[i.SpanID] = true
		}
	}
	// The provider makes the ids. The root has no rest, and the other spans have one to
	// four.
	missing := map[int]bool{0: true, 1: true, 2: true, 3: true, 4: true}
	for span := range spans {
		rests := int((waiting.Times(&got[0], span)[waits.Timer] + long/2) / long)
		rested(j, &got[0], span.String(), span, rests)
		if !missing[rests] {
			j.Errorf("another span has %d rests", rests)
		}
		delete(missing, rests)
	}
	if len(missing) > 0 {
		j.Errorf("no span has so many rests: %v", missing)
	}
	goroutines(j, &got[0], 2)
	for _, c := range got[0].Causes {
		if c.In != nil {
			j.Errorf("the cause %+v is of another request", c)
		}
	}
	says(j, &got[0], "in span inside: waited for a timer in analysis_test.tracedBy")
}
