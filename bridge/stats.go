package bridge

import "sync/atomic"

// Stats count what a timeline's bridge did with entries and spans.
type Stats struct {
	Events     uint64 // marks handed over as span events
	Measures   uint64 // measures handed over as spans
	Spans      uint64 // spans of other instrumentation handed over
	Unattached uint64 // marks that stay on the timeline: no span, or a remote one, or one of a provider without a processor
	Late       uint64 // marks made after their span's end, lost
	Limited    uint64 // marks over their span's event limit, lost
	AgedOut    uint64 // marks of spans that never ended, lost
	Unmade     uint64 // measures under no local span that were recorded right before their provider's Shutdown, lost
	Overflow   uint64 // marks and measures that found the bridge's queue full because a next processor hangs, lost
	Dropped    uint64 // spans of other instrumentation that found it full, lost
	Unjoined   uint64 // spans of other instrumentation that did not join their request's timeline: too many had not ended
	Unrecorded uint64 // spans of other instrumentation that are no measure of their request's timeline, because that had no room
	Hurried    uint64 // spans handed over at once, without their marks, because the timeline had no room
}

// Lost is the number of marks, measures and spans that were lost at the bridge.
func (s Stats) Lost() uint64 {
	return s.Late + s.Limited + s.AgedOut + s.Unmade + s.Overflow + s.Dropped
}

type counters struct {
	events, measures, spans, unattached, late, limited, agedOut, unmade, overflow, dropped, unrecorded, hurried atomic.Uint64
}

func (c *counters) read() Stats {
	return Stats{
		Events:     c.events.Load(),
		Measures:   c.measures.Load(),
		Spans:      c.spans.Load(),
		Unattached: c.unattached.Load(),
		Late:       c.late.Load(),
		Limited:    c.limited.Load(),
		AgedOut:    c.agedOut.Load(),
		Unmade:     c.unmade.Load(),
		Overflow:   c.overflow.Load(),
		Dropped:    c.dropped.Load(),
		Unrecorded: c.unrecorded.Load(),
		Hurried:    c.hurried.Load(),
	}
}
