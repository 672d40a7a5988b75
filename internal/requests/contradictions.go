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

// Contradictions counts the samples that Samples omits because they contradict the execution trace
// in q.Waits: samples of running code while no goroutine of their span ran, and samples of waiting
// code while no goroutine waited. Outside of the execution trace, and without q.Waits, no sample
// contradicts. t may be nil.
//
// The execution trace does not record short spans and measures of marks.Time. Their samples must
// agree with the goroutines of the span above. If q.Waits omits goroutines, a sample agrees unless
// another state of its span is known at the time.
//
// A sample agrees if a goroutine of the span ran within a millisecond of the sample's time, and for
// profile.EngineWindow within a second.
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

// SampleSkew returns how far the time of a sample of t may be from the same moment in an execution
// trace: a sample of profile.EngineWindow has the time of its window, which lasts a second.
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
