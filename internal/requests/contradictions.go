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

// Contradictions returns the number of samples that contradict the execution trace in q.Waits.
// [Samples] omits these samples. t may be nil. A sample contradicts the trace in two cases:
//
//   - The sample is of running code, but no goroutine of the sample's span ran.
//   - The sample is of waiting code, but no goroutine of the sample's span waited.
//
// Samples outside of the execution trace do not count. Without q.Waits, Contradictions returns 0.
//
// Times may differ by a millisecond, and by a second for profile.EngineWindow: see [SampleSkew].
//
// The execution trace does not record short spans and measures of marks.Time. Contradictions
// compares samples of such spans with the goroutines of the span above. If q.Waits omits
// goroutines, a sample contradicts only a known state of the sample's span at that time.
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

// SampleSkew returns the largest possible error of the samples' times in t, relative to an
// execution trace. For profile.EngineWindow, the result is a second: a sample carries the time of a
// window, and a window lasts a second.
func SampleSkew(t *profile.Trace) time.Duration {
	if t.Engine == profile.EngineWindow {
		return time.Second
	}
	return waiting.SampleSkew
}

// agreement returns a function that reports whether a sample of a span agrees with q.Waits.
func (q Request) agreement(t *profile.Trace) func(*otlpenc.Span, profile.Sample) bool {
	tree := newSpanWaits(q)
	if tree == nil {
		return func(*otlpenc.Span, profile.Sample) bool { return true }
	}
	skew := SampleSkew(t)
	known := *q.Waits
	if known.Omitted > 0 { // a goroutine with a gap at all times stands for them
		gap := waits.Goroutine{Intervals: []waits.Interval{{Kind: waits.Gap, Start: math.MinInt64,
			End: math.MaxInt64}}}
		known.Goroutines = append(slices.Clip(known.Goroutines), gap)
	}
	return func(s *otlpenc.Span, sample profile.Sample) bool {
		of := tree.recorded(s)
		if of == nil {
			if mayLackRecord(s) {
				return true
			}
			of = s
		}
		at := t.Origin.Add(sample.Timestamp).Sub(q.Root.Start)
		worked := func(id trace.SpanID) bool { return tree.within(id, of.SpanID) }
		return waiting.Agrees(&known, at, skew, sample.Marker == profile.Idle, worked)
	}
}
