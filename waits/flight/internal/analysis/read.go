package analysis

import (
	"io"
	"time"

	"go.opentelemetry.io/otel/trace"
	xtrace "golang.org/x/exp/trace"

	"github.com/perfline/perfline/waits"
)

// A Root is a local root span whose request is wanted.
type Root struct {
	TraceID trace.TraceID
	SpanID  trace.SpanID

	// Duration is how long the root took, by its span. It may be zero, and then the trace decides.
	Duration time.Duration
}

// longestPause is the longest time that the kernel is taken to pause a thread between two
// statements. A larger difference is no pause: the span has times of the program's choice.
//
// The longest pauses come from limits of CPU time, as containers have them. Threads that have used
// up the quota wait for the next period. Linux allows periods of up to 1 s (max_cfs_quota_period).
// The usual period of 100 ms can be as long: each processor notices at its next tick that the quota
// is used up, and later periods pay for that. With a quota of 10 ms, ticks of 4 ms and 20 threads,
// that is 80 ms, or 8 periods more. Measured pauses were 355 ms with that quota and 4 threads on 2
// processors, and 860 ms with a quota of 100 ms in periods of 1 s.
const longestPause = xtrace.Time(time.Second)

// fit returns when the root ran, from the times of its notes. A span reads the clock before it
// makes a note, at both of its ends. If the kernel pauses the thread between the two, the note is
// late.
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

// Read reads the execution trace r from its beginning, and returns the requests of the wanted
// roots, in the order of wanted. Roots of which the trace has neither start nor end are left out.
//
// An error says that the trace is malformed, or cut. The requests are valid then, too: a root whose
// end could not be read is Unended. A cut in the first bytes of a generation looks like the end,
// unless it is the first generation.
//
// Read calls pause, if it is not nil, at least once in every millisecond of its own work, so that
// the caller can sleep there. The caller may also panic there to stop: that panic passes through
// Read.
func Read(r io.ReadSeeker, wanted []Root, pause func()) (requests []waits.Request, err error) {
	if len(wanted) == 0 {
		return nil, nil
	}
	s := &source{r: r, caller: pause}
	windows, err := locate(s, wanted)
	if len(windows) == 0 {
		return nil, err
	}
	a := newAnalyzer(wanted, windows, s.pause)
	// The second reading meets the same error at the same place.
	err = s.events(a.event)
	a.close()
	return a.requests(), err
}
