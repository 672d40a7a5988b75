package bridge

import (
	"sync/atomic"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/record"
)

// Stats contains counts of a timeline's marks and measures, and of spans. Each mark, measure and
// span is counted in one field.
type Stats struct {
	MarkEvents uint64 // marks that became span events, and perhaps log records, too

	// MarkRecords counts marks that became only log records. If a mark's span dropped the mark, all
	// providers of the timeline count the mark.
	MarkRecords uint64

	MeasureSpans     uint64 // measures that became spans
	OtherSpans       uint64 // other spans that a TracerProvider handed over
	MarksWithoutSpan uint64 // marks without a local span and a LogOutput: only timeline entries
	MarksAfterEnd    uint64 // lost marks: made after their span's end
	MarksUnderNoOp   uint64 // lost marks: under a span of another package that records nothing
	MarksOverLimit   uint64 // lost marks in journals: over their span's limit of events
	MarksOfOpenSpans uint64 // lost marks: their span was open at Shutdown, or too many waited
	MarksDropped     uint64 // lost marks: the timeline or the request's journal was full

	Requests RequestStats // the decisions of a TracerProvider's KeepPolicy

	// SpansUnderUnsampled counts spans that the sampler dropped in a sampled request, because a
	// span of another provider above them is not sampled. The marks and measures under these spans
	// belong to the request.
	SpansUnderUnsampled uint64

	// SpansOffTimeline counts spans of the SDK that are missing on the request's timeline, because
	// too many spans were open.
	SpansOffTimeline uint64

	// Panics counts calls of the program's code that panicked or ended their goroutine, for all
	// providers. The program's code includes outputs, processors, samplers and observers.
	Panics uint64
}

// RequestStats contains the decisions of a [KeepPolicy]. Each ended request, sampled or not, is
// counted in exactly one of the fields from Chosen to Others.
type RequestStats struct {
	Chosen, Failed, Slow, Share uint64 // kept requests, by reason
	OverCeiling                 uint64 // requests with a reason over KeepPolicy.PerSecond: not kept
	Others                      uint64 // requests without a reason

	// Untracked counts local roots that the sampler dropped and the policy ignored. The policy
	// ignores these roots because most local roots of their instrumentation scope never end.
	Untracked uint64

	Exported uint64 // kept requests that the sampler dropped, and that were exported

	// Refused counts marks, measures and spans that were dropped before the decision, because
	// memory was full. Refused includes all providers of the timeline.
	Refused uint64
}

// Lost returns the number of lost marks.
func (s Stats) Lost() uint64 {
	return s.MarksAfterEnd + s.MarksUnderNoOp + s.MarksOverLimit + s.MarksOfOpenSpans +
		s.MarksDropped
}

// The counters, named after the fields of [Stats] and [RequestStats].
const (
	markEvents = iota
	markRecords
	measureSpans
	otherSpans
	marksWithoutSpan
	marksAfterEnd
	marksOverLimit
	marksUnderNoOp
	spansUnderUnsampled
	requestsOverCeiling
	requestsUntracked
	requestsExported
	requestsByReason // and one counter for each further local.KeepReason; local.NotKept is Others
	counterCount     = requestsByReason + int(local.KeepReasons)
)

// counts are the counts of one hand-over.
type counts [counterCount]uint64

type counters [counterCount]atomic.Uint64

func (c *counters) add(more *counts) {
	for i, n := range more {
		if n > 0 {
			c[i].Add(n)
		}
	}
}

// read returns the counts of c and the timeline.
func (c *counters) read(t *record.Timeline, logs *markLogs) Stats {
	u := t.UnitStats()
	kept := func(reason local.KeepReason) uint64 { return c[requestsByReason+int(reason)].Load() }
	s := Stats{
		MarkEvents:       c[markEvents].Load(),
		MarkRecords:      c[markRecords].Load(),
		MeasureSpans:     c[measureSpans].Load(),
		OtherSpans:       c[otherSpans].Load(),
		MarksWithoutSpan: c[marksWithoutSpan].Load() + u.MarksWithoutSpan,
		MarksAfterEnd:    c[marksAfterEnd].Load() + u.MarksAfterEnd,
		MarksUnderNoOp:   c[marksUnderNoOp].Load(),
		MarksOverLimit:   c[marksOverLimit].Load() + u.MarksOverLimit,
		MarksOfOpenSpans: u.MarksOfOpenSpans,
		MarksDropped:     u.MarksDropped,
		Panics:           t.Panics(),

		SpansUnderUnsampled: c[spansUnderUnsampled].Load(),

		Requests: RequestStats{
			Chosen: kept(local.KeptForProgram), Failed: kept(local.KeptForFailure),
			Slow: kept(local.KeptForTime), Share: kept(local.KeptForShare),
			OverCeiling: c[requestsOverCeiling].Load(), Others: kept(local.NotKept),
			Untracked: c[requestsUntracked].Load(), Exported: c[requestsExported].Load(),
			Refused: u.Refused,
		},
	}
	if logs != nil && logs.form == SpanEventsAndLogRecords { // other forms count the log records
		s.MarkRecords += u.MarksOnlyTaken
	}
	return s
}
