package requests

import (
	"cmp"
	"math"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/scope"
	"github.com/perfline/perfline/internal/tracelog"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

// A Segment is a part of a span in which its goroutine was mostly in states of one kind.
type Segment struct {
	Kind       waits.Kind
	Start, End time.Duration   // since the request's start
	Longest    *waits.Interval // of this kind in the segment
}

// Segments returns what the goroutine of each span did between two times since the request's start,
// from the execution trace in q.Waits. The time between them is divided into n equal parts. A
// segment is one or more parts in which the same kind took most of the time. Spans of which the
// execution trace has nothing are missing. The result is empty unless 0 ≤ from < to ≤ q.Duration().
//
// The goroutine of a span is the first that worked for it. The execution trace does not know all
// measures of marks.Time, and no spans under 0.1 ms. These have all that the goroutine of the span
// above them did meanwhile.
func Segments(q Request, from, to time.Duration, n int) map[trace.SpanID][]Segment {
	all := map[trace.SpanID][]Segment{}
	tree := newSpanWaits(q)
	if tree == nil || from < 0 || from >= to || to > q.Duration() {
		return all
	}
	for _, s := range q.Spans {
		if segments := tree.segments(s,
			columns{from: from, to: to, width: float64(to-from) / float64(n), last: n - 1}); len(
			segments) > 0 {
			all[s.SpanID] = segments
		}
	}
	return all
}

// A spanWaits relates the spans of a request to the states of its goroutines. Times of states count
// from the start of the root span, also where the clocks of the two differ: the execution trace has
// that start, too.
type spanWaits struct {
	q       Request
	workers map[trace.SpanID]*waits.Goroutine // the first that worked for the span
	places  map[trace.SpanID]place
}

// A place is where a span is in [Rows]. The rows of the spans below it follow its own.
type place struct {
	span       *otlpenc.Span
	first, end int           // the rows of the span and of those below it are first to end-1
	worked     *otlpenc.Span // see spanWaits.worked
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
	var above []*otlpenc.Span // what worked returns for the spans above a row
	for i, r := range rows {
		p := place{span: r.Span, first: i, end: ends[i]}
		above = above[:r.Depth]
		switch {
		case t.workers[r.Span.SpanID] != nil:
			p.worked = r.Span
		case unnoted(r.Span) && r.Depth > 0:
			p.worked = above[r.Depth-1]
		}
		t.places[r.Span.SpanID] = p
		above = append(above, p.worked)
	}
	return t
}

// within reports whether a span is s or below it. Spans that were not kept are below the root: like
// the root, they have row 0.
func (t *spanWaits) within(id trace.SpanID, s trace.SpanID) bool {
	at, above := t.places[id].first, t.places[s]
	return above.first <= at && at < above.end
}

// unnoted reports whether the execution trace may lack s although it was written then: measures of
// marks.Time and short spans have no note in it.
func unnoted(s *otlpenc.Span) bool {
	return isMeasure(s) || s.End.Sub(s.Start) < tracelog.ShortestInner
}

// isMeasure reports whether s may be a measure of marks.Time.
func isMeasure(s *otlpenc.Span) bool { return s.Group.Scope().Name == scope.Name }

// worked returns the span whose goroutine s has: s itself, or the span above if the trace lacks s.
// It returns nil if the trace lacks a span that has a note.
func (t *spanWaits) worked(s *otlpenc.Span) *otlpenc.Span { return t.places[s.SpanID].worked }

// segments returns the segments of a span in the time of the columns.
func (t *spanWaits) segments(s *otlpenc.Span, c columns) []Segment {
	of := t.worked(s)
	if of == nil {
		return nil
	}
	from, to := max(c.from, s.Start.Sub(t.q.Root.Start)), min(c.to, s.End.Sub(t.q.Root.Start))
	intervals := t.workers[of.SpanID].Intervals
	first, _ := slices.BinarySearchFunc(intervals, from,
		func(i waits.Interval, from time.Duration) int {
			return cmp.Compare(i.End, from+1)
		})
	for i := first; i < len(intervals) && intervals[i].Start < to; i++ {
		interval := &intervals[i]
		// The span of a gap is uncertain. The span above one without a note may have ended before
		// that one did.
		if of != s || interval.Kind == waits.Gap || t.within(interval.SpanID, of.SpanID) {
			c.add(interval, max(from, interval.Start), min(to, interval.End))
		}
	}
	c.flush()
	for i := range c.done {
		c.done[i].Start, c.done[i].End = max(from, c.done[i].Start), min(to, c.done[i].End)
	}
	return c.done
}

// columns divide a time of a request into equal parts, and find what takes most of the time in
// each.
type columns struct {
	from, to time.Duration
	width    float64 // of a column, in nanoseconds
	last     int     // column

	at    int // the column that is summed up
	times [waiting.Kinds]time.Duration
	some  bool                           // of times is positive
	long  [waiting.Kinds]*waits.Interval // the longest intervals in the column
	done  []Segment
}

// add adds an interval. Intervals come by time.
func (c *columns) add(i *waits.Interval, from, to time.Duration) {
	for from < to {
		at := min(c.last, int(float64(from-c.from)/c.width))
		if at != c.at {
			c.flush()
			c.at = at
		}
		end := min(to, max(from+1, c.start(at+1)))
		c.times[i.Kind] += end - from
		c.some = true
		if long := c.long[i.Kind]; long == nil || i.Duration() > long.Duration() {
			c.long[i.Kind] = i
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

// flush ends a column.
func (c *columns) flush() {
	if !c.some {
		return
	}
	most := waits.Kind(0)
	for kind := range waiting.Kinds {
		if c.times[kind] > c.times[most] {
			most = kind
		}
	}
	start, end := c.start(c.at), c.start(c.at+1)
	if last := len(c.done) - 1; last >= 0 && c.done[last].Kind == most &&
		c.done[last].End == start {
		c.done[last].End = end
		if c.long[most].Duration() > c.done[last].Longest.Duration() {
			c.done[last].Longest = c.long[most]
		}
	} else {
		c.done = append(c.done, Segment{most, start, end, c.long[most]})
	}
	c.times, c.some, c.long = [waiting.Kinds]time.Duration{}, false,
		[waiting.Kinds]*waits.Interval{}
}
