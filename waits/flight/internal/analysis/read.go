package analysis

import (
	"io"
	"time"

	"go.opentelemetry.io/otel/trace"
	xtrace "golang.org/x/exp/trace"

	"github.com/perfline/perfline/waits"
)

// A Root identifies a request to analyse. The fields describe the request's local root span.
type Root struct {
	TraceID trace.TraceID
	SpanID  trace.SpanID

	// Duration is the duration of the root span. With 0, Read uses the times in the trace.
	Duration time.Duration
}

// longestPause is the longest plausible pause of a thread between two statements. A larger
// difference is no pause: the program chose the times of the span.
//
// The longest pauses come from limits of CPU time, as for containers. Threads that have used up the
// quota wait for the next period. Linux allows periods of up to 1 s (max_cfs_quota_period). The
// usual period of 100 ms can pause as long: each processor notices only at its next tick that the
// quota is used up, and later periods pay for the excess. With a quota of 10 ms, ticks of 4 ms and
// 20 threads, the excess is 80 ms, or 8 more periods. Measured pauses were 355 ms with that quota
// and 4 threads on 2 processors, and 860 ms with a quota of 100 ms in periods of 1 s.
const longestPause = xtrace.Time(time.Second)

// fit returns the times of the root from the times of its notes. At both ends, a span reads the
// clock before it writes a note. If the kernel pauses the thread in between, the note is late.
func (r Root) fit(start, end xtrace.Time) (from, to xtrace.Time) {
	late := end - start - xtrace.Time(r.Duration)
	switch {
	case r.Duration <= 0 || late < -longestPause || late > longestPause:
		return start, end
	case late > 0:
		return start, end - late
	default:
		return start + late, end
	}
}

// Read returns the requests of the wanted roots in the execution trace r, in the order of wanted.
// Read omits a root if the trace contains no note of the root. Read reads r twice, from the
// beginning. began is the time of the first event, or zero if the trace has none.
//
// An error means that the trace is malformed or cut. The returned requests are valid in this case,
// too. The field Unended marks roots without a readable end. Read cannot detect a cut in the first
// bytes of a generation, except in the first generation.
//
// own reports whether a function belongs to the program, as modules.Set.Own does. Causes and
// parties name such functions before functions of libraries.
//
// Read calls pause, unless it is nil, at least once in every millisecond of its own work, so that
// the caller can sleep in pause. A panic of pause passes through Read, to stop it.
func Read(r io.ReadSeeker, wanted []Root, own func(function string) bool,
	pause func()) (requests []waits.Request, began time.Time, err error) {
	if len(wanted) == 0 {
		return nil, time.Time{}, nil
	}
	s := &source{r: r, caller: pause}
	windows, began, err := locate(s, wanted)
	if len(windows) == 0 {
		return nil, began, err
	}
	a := newAnalyzer(wanted, windows, own, s.pause)
	// The second reading meets the errors of the first one.
	err = s.events(a.event)
	a.close()
	return a.requests(), began, err
}
