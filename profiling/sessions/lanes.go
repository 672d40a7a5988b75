package sessions

import (
	"cmp"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// maxMarkLanes is the most lanes of a frame for measures between marks. A program that repeatedly
// measures since its start would fill a lane with each measure.
const maxMarkLanes = 64

// A frameBuilder arranges the records of a frame in lanes.
type frameBuilder struct {
	*frame
	records   []*storedEntry
	spans     map[trace.SpanID]*storedEntry // records with a span
	lanes     []*lane
	tops      []laneTop // of lanes
	markLanes int       // number of lanes for measures between marks
}

// A lane becomes a timeline: its records may have been on one call stack.
type lane struct {
	records []*storedEntry
	parents []int32 // of records: indexes, or none
	stack   []openRecord
	samples []int32 // indexes in the trace of the session

	betweenMarks bool // the records were on no call stack
	hasRequest   bool
}

// An openRecord is a record of a lane that has not ended when the next record begins.
type openRecord struct {
	index       int32
	end, length time.Duration
	span        trace.SpanID // active in the record
	parent      trace.SpanID // of the record, if the record has a span
}

// A laneTop is the innermost open record of a lane, for the choice of a lane. A frame may have a
// thousand lanes, and a slice of tops is quick to search.
type laneTop struct {
	openRecord
	open         bool // the lane has an open record
	betweenMarks bool // the lane's
}

func (l *lane) top() laneTop {
	if n := len(l.stack); n > 0 {
		return laneTop{l.stack[n-1], true, l.betweenMarks}
	}
	return laneTop{betweenMarks: l.betweenMarks}
}

// sortRecords sorts the records so that a parent precedes its children.
func (f *frameBuilder) sortRecords() {
	f.spans = map[trace.SpanID]*storedEntry{}
	for _, r := range f.records {
		if r.span.IsValid() {
			f.spans[r.span] = r
		}
	}
	type sortKey struct {
		r *storedEntry
		i int
		// first is set for the last moment of a span that began earlier: the moment precedes the
		// records that begin at the same time.
		first bool
	}
	keys := make([]sortKey, len(f.records))
	for i, r := range f.records {
		keys[i] = sortKey{r: r, i: i}
		if r.isMoment() {
			p := f.parent(r)
			keys[i].first = p != nil && p.start < r.start
		}
	}
	slices.SortFunc(keys, func(a, b sortKey) int {
		if c := cmp.Compare(a.r.start, b.r.start); c != 0 {
			return c
		}
		if a.first != b.first {
			if a.first {
				return -1
			}
			return 1
		}
		// The longer record comes first. Of two records with equal times, the caller ended last.
		return cmp.Or(cmp.Compare(b.r.end, a.r.end), cmp.Compare(b.i, a.i))
	})
	for i := range keys {
		f.records[i] = keys[i].r
	}
}

// maxEmptySpans is the most spans of no length that parent skips: wrong ids may form a circle.
const maxEmptySpans = 64

// parent returns the span that a record is below, or nil. It skips spans of no length.
func (f *frameBuilder) parent(r *storedEntry) *storedEntry {
	id := r.parent
	for range maxEmptySpans {
		p := f.spans[id]
		if p == nil || p != r && !p.isMoment() {
			return p
		}
		id = p.parent
	}
	return nil
}

// add adds a record to a lane, below the record on top of the call stack.
func (f *frameBuilder) add(r *storedEntry) {
	var under trace.SpanID
	if p := f.parent(r); p != nil {
		under = p.span
	}
	i := f.laneFor(r, under)
	f.lanes[i].push(r, under)
	f.tops[i] = f.lanes[i].top()
}

// laneFor returns the index of the lane for a record: the lane whose top encloses the record most
// tightly, under the record's parent span. Otherwise, laneFor returns a lane without an open
// record, or a new lane. No other span encloses a root span. Measures between marks have their own
// lanes.
func (f *frameBuilder) laneFor(r *storedEntry, under trace.SpanID) int {
	best, idle := -1, -1
	anySpan := !under.IsValid()
	isRoot, isMoment := r.isRootSpan(), r.isMoment()
	for i := range f.tops {
		t := &f.tops[i]
		if t.betweenMarks != r.betweenMarks {
			continue
		}
		if t.open && (t.end < r.start || t.end == r.start && !isMoment) {
			f.lanes[i].pop(r)
			*t = f.lanes[i].top()
		}
		switch {
		case !t.open:
			if idle < 0 {
				idle = i
			}
		case r.betweenMarks || t.end < r.end || !anySpan && t.span != under:
		case isRoot && t.span.IsValid():
		case anySpan && r.parent.IsValid() && f.lanes[i].hasSibling(r.parent):
		case best < 0 || t.length < f.tops[best].length:
			best = i
		}
	}
	switch {
	case best >= 0:
		return best
	case idle >= 0:
		return idle
	case r.betweenMarks && f.markLanes == maxMarkLanes:
		r.collapse()
		return slices.IndexFunc(f.tops, func(t laneTop) bool { return t.betweenMarks })
	case r.betweenMarks:
		f.markLanes++
	}
	l := &lane{betweenMarks: r.betweenMarks}
	f.lanes, f.tops = append(f.lanes, l), append(f.tops, l.top())
	return len(f.lanes) - 1
}

// hasSibling reports whether an open span was recorded under parent. Records under the same parent
// are siblings, also if the parent is still open and has no record.
func (l *lane) hasSibling(parent trace.SpanID) bool {
	return slices.ContainsFunc(l.stack, func(o openRecord) bool { return o.parent == parent })
}

// pop removes records that ended before r. A moment may be below a record that ends at its time.
func (l *lane) pop(r *storedEntry) {
	for n := len(l.stack); n > 0; n-- {
		if end := l.stack[n-1].end; end > r.start || end == r.start && r.isMoment() {
			return
		}
		l.stack = l.stack[:n-1]
	}
}

func (l *lane) push(r *storedEntry, under trace.SpanID) {
	parent, span := none, r.span
	if n := len(l.stack); n > 0 && !l.betweenMarks {
		parent = l.stack[n-1].index
		if !under.IsValid() {
			under = l.stack[n-1].span
		}
	}
	if !span.IsValid() {
		span = under
	}
	if !r.isMoment() {
		o := openRecord{
			index: int32(len(l.records)), end: r.end, length: r.end - r.start, span: span,
		}
		if r.span.IsValid() {
			o.parent = r.parent
		}
		l.stack = append(l.stack, o)
	}
	l.hasRequest = l.hasRequest || r.typ == Request
	l.records, l.parents = append(l.records, r), append(l.parents, parent)
}

// sortLanes moves the request's lane to the front, and lanes of measures between marks to the end.
func (f *frameBuilder) sortLanes() {
	rank := func(l *lane) int {
		switch {
		case l.hasRequest:
			return 0
		case l.betweenMarks:
			return 2
		default:
			return 1
		}
	}
	slices.SortStableFunc(f.lanes, func(a, b *lane) int { return rank(a) - rank(b) })
	f.tops = nil
}

// start returns the beginning of the first record, or of the first sample without records.
func (f *frameBuilder) start(sampledAt func(sample int32) time.Duration) time.Duration {
	if len(f.records) > 0 {
		return f.records[0].start
	}
	return sampledAt(f.lanes[0].samples[0])
}
