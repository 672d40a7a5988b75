package requests

import (
	"math"
	"sort"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/scope"
	"github.com/perfline/perfline/internal/tracelog"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

// A Segment is a part of a span. Kind is the state of the span's goroutine that occupied the most
// time of the segment.
type Segment struct {
	Kind       waits.Kind
	Start, End time.Duration   // since the request's start
	Longest    *waits.Interval // of Kind in the segment
}

// Segments returns the states of each span's goroutine between two times, from the execution trace
// in q.Waits. from and to count from the request's start. The result is empty unless 0 ≤ from < to
// ≤ q.Duration(). The result omits spans that the execution trace does not cover.
//
// Segments divides the period into n equal columns. The kind of a column is the kind of state that
// lasted longest in the column. A segment consists of adjacent columns with the same kind.
//
// The goroutine of a span is the first goroutine that worked for the span. The execution trace does
// not record spans under 0.1 ms and measures of marks.Time. For such spans, the segments contain
// the states of the goroutine of the span above.
func Segments(q Request, from, to time.Duration, n int) map[trace.SpanID][]Segment {
	all := map[trace.SpanID][]Segment{}
	tree := newSpanWaits(q)
	if tree == nil || from < 0 || from >= to || to > q.Duration() {
		return all
	}
	for _, s := range q.Spans {
		c := columns{from: from, to: to, width: float64(to-from) / float64(n), last: n - 1}
		if segments := tree.segments(s, c); len(segments) > 0 {
			all[s.SpanID] = segments
		}
	}
	return all
}

// A spanWaits relates the spans of a request to the states of its goroutines. Times of states count
// from the start of the root span. The execution trace records that start, too, so a difference of
// the clocks does not matter.
type spanWaits struct {
	q       Request
	workers map[trace.SpanID]*waits.Goroutine // the first goroutine that worked for each span
	places  map[trace.SpanID]place
}

// A place locates a span in [Rows].
type place struct {
	span       *otlpenc.Span
	first, end int           // the span and the spans below are the rows from first to end-1
	recorded   *otlpenc.Span // see spanWaits.recorded
}

// newSpanWaits returns nil if the states are unknown.
func newSpanWaits(q Request) *spanWaits {
	if q.Waits == nil || len(q.Waits.Goroutines) == 0 {
		return nil
	}
	t := &spanWaits{q: q, workers: map[trace.SpanID]*waits.Goroutine{},
		places: make(map[trace.SpanID]place, len(q.Spans))}
	since := map[trace.SpanID]time.Duration{}
	for g := range q.Waits.Goroutines {
		for i := range q.Waits.Goroutines[g].Intervals {
			interval := &q.Waits.Goroutines[g].Intervals[i]
			first, known := since[interval.SpanID]
			if interval.Kind != waits.Gap && (!known || interval.Start < first) {
				since[interval.SpanID] = interval.Start
				t.workers[interval.SpanID] = &q.Waits.Goroutines[g]
			}
		}
	}
	t.workers[q.Root.SpanID] = &q.Waits.Goroutines[0]
	rows := Rows(q)
	ends := ends(rows)
	var above []*otlpenc.Span // the recorded spans of the rows above
	for i, r := range rows {
		p := place{span: r.Span, first: i, end: ends[i]}
		above = above[:r.Depth]
		switch {
		case t.workers[r.Span.SpanID] != nil:
			p.recorded = r.Span
		case mayLackRecord(r.Span) && r.Depth > 0:
			p.recorded = above[r.Depth-1]
		}
		t.places[r.Span.SpanID] = p
		above = append(above, p.recorded)
	}
	return t
}

// within reports whether a span is s or below s. A dropped span counts as the root: its row is 0.
func (t *spanWaits) within(id trace.SpanID, s trace.SpanID) bool {
	at, above := t.places[id].first, t.places[s]
	return above.first <= at && at < above.end
}

// mayLackRecord reports whether the execution trace may cover s without recording s. It does not
// record measures of marks.Time and short spans.
func mayLackRecord(s *otlpenc.Span) bool {
	return isMeasure(s) || s.End.Sub(s.Start) < tracelog.ShortestInner
}

// isMeasure reports whether s may be a measure of marks.Time.
func isMeasure(s *otlpenc.Span) bool { return s.Group.Scope().Name == scope.Name }

// recorded returns s if the execution trace records s. Otherwise s shares the goroutine of the span
// above, and recorded returns the span above if s may lack a record, or nil.
func (t *spanWaits) recorded(s *otlpenc.Span) *otlpenc.Span { return t.places[s.SpanID].recorded }

// segments returns the segments of a span in the period of the columns.
func (t *spanWaits) segments(s *otlpenc.Span, c columns) []Segment {
	of := t.recorded(s)
	if of == nil {
		return nil
	}
	from, to := max(c.from, s.Start.Sub(t.q.Root.Start)), min(c.to, s.End.Sub(t.q.Root.Start))
	intervals := t.workers[of.SpanID].Intervals
	first := sort.Search(len(intervals), func(i int) bool { return intervals[i].End > from })
	for i := first; i < len(intervals) && intervals[i].Start < to; i++ {
		interval := &intervals[i]
		// The span of a gap is uncertain. A recorded span above s may have ended before s.
		if of != s || interval.Kind == waits.Gap || t.within(interval.SpanID, of.SpanID) {
			c.add(interval, max(from, interval.Start), min(to, interval.End))
		}
	}
	c.flush()
	for i := range c.segments {
		segment := &c.segments[i]
		segment.Start, segment.End = max(from, segment.Start), min(to, segment.End)
	}
	return c.segments
}

// columns divides a period of a request into equal columns, and finds the kind that takes most of
// the time in each column.
type columns struct {
	from, to time.Duration
	width    float64 // of a column, in nanoseconds
	last     int     // the number of the last column

	at       int // the number of the current column; the next three fields sum it up
	times    [waiting.Kinds]time.Duration
	nonempty bool
	longest  [waiting.Kinds]*waits.Interval
	segments []Segment // of the columns before
}

// add adds the part of an interval between two times. Intervals must be in order.
func (c *columns) add(i *waits.Interval, from, to time.Duration) {
	for from < to {
		at := min(c.last, int(float64(from-c.from)/c.width))
		if at != c.at {
			c.flush()
			c.at = at
		}
		end := min(to, max(from+1, c.start(at+1)))
		c.times[i.Kind] += end - from
		c.nonempty = true
		if l := c.longest[i.Kind]; l == nil || i.Duration() > l.Duration() {
			c.longest[i.Kind] = i
		}
		from = end
	}
}

// start returns the first nanosecond of a column.
func (c *columns) start(column int) time.Duration {
	if column > c.last {
		return c.to
	}
	return c.from + time.Duration(math.Ceil(float64(column)*c.width))
}

// flush ends the current column.
func (c *columns) flush() {
	if !c.nonempty {
		return
	}
	most := waits.Kind(0)
	for kind := range waiting.Kinds {
		if c.times[kind] > c.times[most] {
			most = kind
		}
	}
	next := Segment{most, c.start(c.at), c.start(c.at + 1), c.longest[most]}
	n := len(c.segments)
	if n > 0 && c.segments[n-1].Kind == most && c.segments[n-1].End == next.Start {
		last := &c.segments[n-1]
		last.End = next.End
		if next.Longest.Duration() > last.Longest.Duration() {
			last.Longest = next.Longest
		}
	} else {
		c.segments = append(c.segments, next)
	}
	c.nonempty = false
	clear(c.times[:])
	clear(c.longest[:])
}
