package waiting

import (
	"sort"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/waits"
)

// SampleSkew is the largest difference between the time of a profile's sample and the same moment
// in a [waits.Request]. Both times are readings of time.Now's clock, on the thread of the
// goroutine. Their difference is the time between the reading for the root span's start and the
// message of that start in the execution trace: microseconds, or a millisecond if the kernel stops
// the thread in between.
const SampleSkew = time.Millisecond

// Agrees reports whether a result agrees with a sample. The sample's time at since the start of the
// request may be wrong by skew. A sample of running code agrees with a goroutine on a processor,
// and an idle sample agrees with a goroutine that waited. worked reports whether the sample's
// goroutine may have worked for a span. A gap agrees, unless another interval of such a span covers
// the time.
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
