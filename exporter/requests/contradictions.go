package requests

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter/otlpenc"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/states"
)

// What may lie between the time of a sample and the same moment in the execution trace.
const (
	// maxSkew is for samples with a time of their own. Both times are readings of the clock that time.Now has, on the thread that
	// runs the goroutine. They differ by the time between the reading for the root span's start and the message with that start in
	// the execution trace. This is microseconds, and a millisecond if the kernel takes the thread away there.
	maxSkew = time.Millisecond
	// maxWindow is for samples of profile.EngineWindow: the time of such a sample is that of its window of a second.
	maxWindow = time.Second
)

// Contradictions returns how many samples of the request Samples leaves out, because they contradict the execution trace in q.States.
// These are samples of running code at a time at which no goroutine of their span ran, and samples of waiting code at a time
// at which none waited. Where the execution trace does not reach, no sample contradicts it. Without q.States, none does.
//
// The two times may differ by a millisecond: a sample agrees if a goroutine of the span ran within that time. Samples of
// profile.EngineWindow have no times of their own. They may differ by a second. t may be nil.
func (q Request) Contradictions(t *profile.Trace) int {
	if t == nil || q.States == nil {
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

// agreement returns a function that reports whether a sample of a span agrees with q.States.
func (q Request) agreement(t *profile.Trace) func(*otlpenc.Span, profile.Sample) bool {
	tree := newSpanStates(q)
	if tree == nil {
		return func(*otlpenc.Span, profile.Sample) bool { return true }
	}
	skew := maxSkew
	if t.Engine == profile.EngineWindow {
		skew = maxWindow
	}
	return func(s *otlpenc.Span, sample profile.Sample) bool {
		at := t.Origin.Add(sample.Timestamp).Sub(q.Root.Start)
		return tree.agrees(s.SpanID, at, skew, sample.Marker != profile.Idle)
	}
}

// agrees reports whether a goroutine of a span or of one below it was on a processor, or waited, at a time or not further from it than
// skew. A gap agrees unless another state is known at the time.
func (t *spanStates) agrees(span trace.SpanID, at, skew time.Duration, onProcessor bool) bool {
	known, gap := false, false
	for g := range t.q.States.Goroutines {
		intervals := t.q.States.Goroutines[g].Intervals
		first, _ := slices.BinarySearchFunc(intervals, at-skew, func(i states.Interval, from time.Duration) int {
			if i.End < from {
				return -1
			}
			return 1
		})
		for _, i := range intervals[first:] {
			if i.Start > at+skew {
				break
			}
			switch {
			case i.Kind == states.Gap:
				gap = true
			case !t.within(i.SpanID, span):
			case onProcessor && i.Kind.OnProcessor(), !onProcessor && i.Kind != states.Running:
				return true
			case i.Start <= at && at < i.End:
				known = true
			}
		}
	}
	return gap && !known
}
