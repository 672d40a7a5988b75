package requests

import (
	"math"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/waits"
)

// windowSkew is waiting.SampleSkew for samples of profile.EngineWindow: such a sample has the time
// of its window, which is a second long.
const windowSkew = time.Second

// Contradictions returns how many samples of the request Samples leaves out, because they
// contradict the execution trace in q.Waits. These are samples of running code at a time at which
// no goroutine of their span ran, and samples of waiting code at a time at which none waited. Where
// the execution trace does not reach, no sample contradicts it. Without q.Waits, none does.
//
// The execution trace has no notes of short spans and of measures of marks.Time. Their samples are
// compared with the goroutines of the span above. If q.Waits omits goroutines, a sample agrees
// unless another state of its span is known at the time.
//
// The two times may differ by a millisecond: a sample agrees if a goroutine of the span ran within
// that time. Samples of profile.EngineWindow have no times of their own. They may differ by a
// second. t may be nil.
func Contradictions(q Request, t *profile.Trace) int {
	if t == nil || q.Waits == nil {
		return 0
	}
	contexts, _ := q.contexts(t)
	agrees := q.agreement(t)
	n := 0
	for _, sample := range t.Samples {
		if span := contexts[sample.ContextID]; span != nil && !agrees(span, sample) {
			n++
		}
	}
	return n
}

// agreement returns a function that reports whether a sample of a span agrees with q.Waits.
func (q Request) agreement(t *profile.Trace) func(*otlpenc.Span, profile.Sample) bool {
	tree := newSpanWaits(q)
	if tree == nil {
		return func(*otlpenc.Span, profile.Sample) bool { return true }
	}
	skew := waiting.SampleSkew
	if t.Engine == profile.EngineWindow {
		skew = windowSkew
	}
	known := *q.Waits
	if known.Omitted > 0 { // what they did is a gap, at all times
		gap := waits.Goroutine{Intervals: []waits.Interval{{Kind: waits.Gap, Start: math.MinInt64,
			End: math.MaxInt64}}}
		known.Goroutines = append(slices.Clip(known.Goroutines), gap)
	}
	return func(s *otlpenc.Span, sample profile.Sample) bool {
		of := tree.worked(s)
		switch {
		case of == nil && unnoted(s):
			return true
		case of == nil:
			of = s
		}
		at := t.Origin.Add(sample.Timestamp).Sub(q.Root.Start)
		worked := func(id trace.SpanID) bool { return tree.within(id, of.SpanID) }
		return waiting.Agrees(&known, at, skew, sample.Marker == profile.Idle, worked)
	}
}
