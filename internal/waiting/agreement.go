package waiting

import (
	"sort"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/waits"
)

// SampleSkew is the largest difference between the time of a profile's sample and the same moment
// in a [waits.Request]. Both times are readings of the clock of time.Now, on the goroutine's
// thread. The difference is the delay between the reading for the root span's start and the message
// of that start in the execution trace. The delay is microseconds, or a millisecond if the kernel
// stops the thread in between.
const SampleSkew = time.Millisecond

// Agrees reports whether the intervals of a request agree with a sample of a profile:
//
//   - A sample of running code agrees with an interval that may use a processor: see [OnProcessor].
//   - An idle sample agrees with an interval of any kind, except [waits.OnCPU].
//   - Both kinds of samples agree with a gap, unless another interval covers the sample's time.
//
// at is the sample's time since the request's start, with an error of at most skew. worked reports
// whether the sample's goroutine may have worked for a span. Agrees ignores the intervals of other
// spans, except gaps.
func Agrees(r *waits.Request, at, skew time.Duration, idle bool,
	worked func(trace.SpanID) bool) bool {
	known, gap := false, false
	for g := range r.Goroutines {
		intervals := r.Goroutines[g].Intervals
		reaches := func(i int) bool { return intervals[i].End >= at-skew }
		first := sort.Search(len(intervals), reaches)
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
