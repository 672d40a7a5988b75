package waiting

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/waits"
)

// SampleSkew is how far apart the time of a profile's sample and the same moment in a
// [waits.Request] may be. Both times are readings of the clock that time.Now has, on the thread
// that runs the goroutine. They differ by the time between the reading for the root span's start
// and the message with that start in the execution trace. This is microseconds, and a millisecond
// if the kernel takes the thread away there.
const SampleSkew = time.Millisecond

// Agrees reports whether a result agrees with a sample. The sample was taken at a time since the
// request's start, which may be wrong by skew. The result agrees with a sample of running code if a
// goroutine was on a processor then. It agrees with a sample that is idle if a goroutine waited.
// worked says which spans the sample's goroutine may have worked for. A gap agrees, unless another
// interval of such a span is known at the time.
func Agrees(r *waits.Request, at, skew time.Duration, idle bool,
	worked func(trace.SpanID) bool) bool {
	known, gap := false, false
	for g := range r.Goroutines {
		intervals := r.Goroutines[g].Intervals
		end := func(i waits.Interval, from time.Duration) int {
			if i.End < from {
				return -1
			}
			return 1
		}
		first, _ := slices.BinarySearchFunc(intervals, at-skew, end)
		for _, i := range intervals[first:] {
			if i.Start > at+skew {
				break
			}
			switch {
			case i.Kind == waits.Gap:
				gap = true
			case !worked(i.SpanID):
			case !idle && OnProcessor(i.Kind), idle && i.Kind != waits.OnCPU:
				return true
			case i.Start <= at && at < i.End:
				known = true
			}
		}
	}
	return gap && !known
}
