package otlpprofiles

import (
	"fmt"

	"github.com/perfline/perfline/internal/continuous"
	"github.com/perfline/perfline/profiling/profile"
)

// spanName is the attribute of samples with the name of their span, as in Pyroscope.
// OpenTelemetry's conventions have no such attribute.
const spanName = "span_name"

// A contextFields holds the common fields of the samples of a context.
type contextFields struct {
	indices []int32 // of attributes; nil before the first sample of the context
	link    int32
}

// A sampleKey identifies a sample of the request: samples of a trace with the same key are joined.
type sampleKey struct {
	at      profile.Position
	context int
}

// cpu encodes CPU samples, and calls send for each request.
func (e *encoder) cpu(c continuous.CPU, send func(request)) {
	t := c.Trace
	// The clock of the trace may have moved against the wall clock since the program began.
	origin := c.End.UnixNano() - int64(t.Stopped)
	typ := sampleType{name: "cpu", unit: "nanoseconds", from: origin + int64(t.Started),
		to: origin + int64(t.Stopped)}
	h := header{
		kind: "cpu", types: []sampleType{typ},
		periodType: sampleType{name: "cpu", unit: "nanoseconds"}, period: int64(t.Interval),
		comments: comments(t),
	}
	timed := t.Engine != profile.EngineWindow
	e.begin(h)
	e.contexts = append(e.contexts[:0], make([]contextFields, len(t.Contexts))...)
	for _, s := range t.Samples {
		if e.full() {
			e.end(send)
			e.begin(h)
			clear(e.contexts)
		}
		n := e.sampleOf(t, s)
		value := int64(float64(s.Weight) * c.Factor)
		if !timed {
			e.sum(n, value)
			continue
		}
		at := origin + int64(s.Timestamp)
		e.observe(observation{n, value, max(typ.from, min(at, typ.to-1))})
	}
	e.end(send)
	e.release()
}

// sampleOf returns the request's sample for s, a sample of the trace.
func (e *encoder) sampleOf(t *profile.Trace, s profile.Sample) int32 {
	at, ok := t.Position(s)
	key := sampleKey{at, s.ContextID}
	if n, known := e.seen[key]; known {
		return n
	}
	stack, known := e.stacks[at]
	if !known {
		stack = e.stackOf(t, at, ok)
		e.stacks[at] = stack
	}
	link := int32(0)
	e.resetAttributes()
	if s.ContextID != profile.None {
		c := &e.contexts[s.ContextID]
		if c.indices == nil {
			*c = e.context(&t.Contexts[s.ContextID])
		}
		e.indices, link = append(e.indices[:0], c.indices...), c.link
	}
	n := e.sample(stack, link)
	e.seen[key] = n
	return n
}

// stackOf returns the stack of a position; ok is false without a position.
func (e *encoder) stackOf(t *profile.Trace, at profile.Position, ok bool) int32 {
	e.stack = e.stack[:0]
	for ; ok; at, ok = t.Caller(at) {
		location, known := e.positions[at]
		if !known {
			c := t.Call(at)
			location = e.d.location(
				line{name: c.Name, file: c.File, start: int64(c.StartLine), line: int64(c.Line)})
			e.positions[at] = location
		}
		e.stack = append(e.stack, location)
	}
	if len(e.stack) == 0 {
		e.stack = append(e.stack, e.d.location(line{name: profile.NoStack}))
	}
	return e.d.stack(e.stack)
}

// context returns the fields of a context. It overwrites e.indices.
func (e *encoder) context(c *profile.SampleContext) contextFields {
	e.resetAttributes()
	link := int32(0)
	if c.SpanID.IsValid() {
		if c.SpanName != "" {
			e.addAttribute(spanName, labelValue(c.SpanName), "")
		}
		if c.TraceID.IsValid() {
			link = e.d.link(c.TraceID, c.SpanID)
		}
	}
	for _, l := range c.Labels {
		e.addLabel(l.Key, labelValue(l.Value), "")
	}
	return contextFields{indices: append([]int32{}, e.indices...), link: link}
}

// comments returns notes for the readers of the profile.
func comments(t *profile.Trace) (all []string) {
	if t.Stats.BusyGaps > 0 {
		all = append(all, fmt.Sprintf(
			"other code in the process had the CPU profiler for %v of %v, %d times: nothing was sampled then",
			t.Stats.BusyTime, t.Stopped-t.Started, t.Stats.BusyGaps))
	}
	if t.Stats.Lost > 0 {
		all = append(all, fmt.Sprintf("%d samples were lost", t.Stats.Lost))
	}
	return all
}
