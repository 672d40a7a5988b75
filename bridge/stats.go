package bridge

import (
	"sync/atomic"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/record"
)

// Stats count what became of a timeline's marks and measures, and of spans. Each is counted once.
type Stats struct {
	// marks that became events of their span, and perhaps log records as well
	MarkEvents uint64
	// marks that became log records and no events; if their span lost them, all providers of the timeline count them
	MarkRecords  uint64
	MeasureSpans uint64 // measures that became spans
	OtherSpans   uint64 // other spans that a TracerProvider handed over
	// marks that stay on the timeline, because no local span was active and no LogOutput is set
	MarksWithoutSpan uint64
	// marks made after their span's end, lost; none of them is a log record
	MarksAfterEnd uint64
	// marks over their span's limit of events, lost; not those that became events at once
	MarksOverLimit uint64
	// marks of spans that had not ended at Shutdown, or when too many waited, lost
	MarksOfOpenSpans uint64
	// marks that found the timeline or their request's journal full, lost
	MarksDropped uint64
	Requests     RequestStats // of a TracerProvider with a KeepPolicy

	// spans of the SDK that did not join their request's timeline: too many had not ended
	SpansOffTimeline uint64

	// calls of outputs, processors, samplers, observers and the like that panicked or ended their goroutine; of all providers
	Panics uint64
}

// RequestStats count the decisions of a [KeepPolicy]. Each request that ended is counted once,
// sampled or not, but for Exported, Untracked and Refused.
type RequestStats struct {
	Chosen, Failed, Slow, Share uint64 // requests that are kept, by reason
	// requests with a reason, over KeepPolicy.PerSecond: not kept
	OverCeiling uint64
	Others      uint64 // requests without a reason

	// Untracked counts local roots that the sampler dropped and that the policy does not see,
	// because most of their instrumentation scope never end. They are in no other count.
	Untracked uint64

	// of those that are kept, requests that the sampler dropped and that were exported
	Exported uint64
	// marks, measures and spans without room in memory before the decision; of all providers of the timeline
	Refused uint64
}

// Lost is the number of marks that were lost at the bridge.
func (s Stats) Lost() uint64 {
	return s.MarksAfterEnd + s.MarksOverLimit + s.MarksOfOpenSpans + s.MarksDropped
}

// The places of counts. Each one is the field of [Stats] or [RequestStats] of that name.
const (
	markEvents = iota
	markRecords
	measureSpans
	otherSpans
	marksWithoutSpan
	marksAfterEnd
	marksOverLimit
	requestsOverCeiling
	requestsUntracked
	requestsExported
	// the first of a place for each local.KeepReason; local.NotKept counts as Others
	requestsByReason
	places = requestsByReason + int(local.KeepReasons)
)

// counts are the counts that a hand-over adds to its provider's counters.
type counts [places]uint64

type counters [places]atomic.Uint64

func (c *counters) add(more *counts) {
	for i, n := range more {
		if n > 0 {
			c[i].Add(n)
		}
	}
}

// read returns the counts, together with the timeline's.
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
		MarksOverLimit:   c[marksOverLimit].Load() + u.MarksOverLimit,
		MarksOfOpenSpans: u.MarksOfOpenSpans,
		MarksDropped:     u.MarksDropped,
		Panics:           t.Panics(),
		Requests: RequestStats{
			Chosen: kept(local.KeptForProgram), Failed: kept(local.KeptForFailure),
			Slow: kept(local.KeptForTime), Share: kept(local.KeptForShare),
			OverCeiling: c[requestsOverCeiling].Load(), Others: kept(local.NotKept),
			Untracked: c[requestsUntracked].Load(), Exported: c[requestsExported].Load(),
			Refused: u.Refused,
		},
	}
	if logs != nil && logs.form == SpanEventsAndLogRecords { // else the log records are counted
		s.MarkRecords += u.MarksOnlyTaken
	}
	return s
}
