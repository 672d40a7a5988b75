package requests

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

// watcher is the function of the goroutine in which net/http watches a connection during a handler.
const watcher = "net/http.(*connReader).backgroundRead"

// A Wait contains the sum of similar waits of a span. Waits are similar if the following values are
// equal:
//
//   - the kind and the function of the wait
//   - the function and the request that ended the wait
type Wait struct {
	Kind     waits.Kind
	Function string       // the innermost function outside the standard library; may be empty
	By       *waits.Party // ended the longest wait; nil if unknown or no goroutine
	Total    time.Duration
	Count    int

	longest time.Duration
}

// Waits returns the waits of each span from the execution trace in q.Waits. The longest total time
// is first. Every state except running is a wait. Waits of all goroutines that worked for the span
// count. So the times may add up to more than the span's duration.
//
// Waits ignores the goroutine in which net/http watches an HTTP/1 connection. That goroutine waits
// for the client until the request ends, and no other goroutine waits for that goroutine.
//
// A wait belongs to the innermost span of the waiting goroutine. If a shorter measure of marks.Time
// on the same goroutine encloses the wait, the wait belongs to the measure.
func Waits(q Request) map[trace.SpanID][]Wait {
	tree := newSpanWaits(q)
	if tree == nil {
		return nil
	}
	measures := tree.measures()
	sums := map[trace.SpanID]*waitSums{}
	for n := range q.Waits.Goroutines {
		g := &q.Waits.Goroutines[n]
		if g.Function == watcher {
			continue
		}
		open := openMeasures{tree: tree, next: measures[g]}
		for i := range g.Intervals {
			interval := &g.Intervals[i]
			switch waiting.ClassOf(interval.Kind) {
			case waiting.ClassUnknown, waiting.ClassRunning:
				continue
			default:
			}
			id := interval.SpanID
			if tree.places[id].span == nil {
				id = q.Root.SpanID // the span was dropped
			}
			start, end := q.Root.Start.Add(interval.Start), q.Root.Start.Add(interval.End)
			if m := open.shortest(id, start, end); m != nil {
				id = m.SpanID
			}
			if sums[id] == nil {
				sums[id] = &waitSums{}
			}
			took := interval.Duration()
			sums[id].add(Wait{Kind: interval.Kind, Function: waiting.Function(interval),
				By: interval.By, Total: took, Count: 1, longest: took})
		}
	}
	all := map[trace.SpanID][]Wait{}
	for id, sum := range sums {
		all[id] = sum.sorted()
	}
	return all
}

// measures returns the measures that the execution trace does not record, by goroutine and start.
func (t *spanWaits) measures() map[*waits.Goroutine][]*otlpenc.Span {
	all := map[*waits.Goroutine][]*otlpenc.Span{}
	for _, s := range t.q.Spans {
		if of := t.recorded(s); of != nil && of != s {
			g := t.workers[of.SpanID]
			all[g] = append(all[g], s)
		}
	}
	for _, measures := range all {
		slices.SortStableFunc(measures,
			func(a, b *otlpenc.Span) int { return a.Start.Compare(b.Start) })
	}
	return all
}

// openMeasures tracks the open measures of a goroutine as time advances.
type openMeasures struct {
	tree *spanWaits
	next []*otlpenc.Span // by start
	open []*otlpenc.Span
}

// shortest returns the shortest measure that encloses an interval of a span, or nil if the span is
// shorter. Calls must be ordered by start.
func (o *openMeasures) shortest(span trace.SpanID, start, end time.Time) *otlpenc.Span {
	for len(o.next) > 0 && !o.next[0].Start.After(start) {
		o.open, o.next = append(o.open, o.next[0]), o.next[1:]
	}
	o.open = slices.DeleteFunc(o.open, func(m *otlpenc.Span) bool { return m.End.Before(start) })
	var found *otlpenc.Span
	longest := o.tree.places[span].span.Duration()
	for _, m := range o.open {
		if !end.After(m.End) && m.Duration() < longest && !o.tree.within(span, m.SpanID) {
			found, longest = m, m.Duration()
		}
	}
	return found
}

// waitSums sums up waits with the same waitKey.
type waitSums struct {
	waits []Wait
	at    map[waitKey]int // in waits
}

// A waitKey identifies waits that count together.
type waitKey struct {
	kind     waits.Kind
	function string
	known    bool // the party, in the fields below
	by       string
	traceID  trace.TraceID
	rootID   trace.SpanID
}

func (s *waitSums) add(w Wait) {
	key := waitKey{kind: w.Kind, function: w.Function}
	if w.By != nil {
		key.known, key.by, key.traceID, key.rootID = true, w.By.Function, w.By.TraceID, w.By.RootID
	}
	i, known := s.at[key]
	if !known {
		if s.at == nil {
			s.at = map[waitKey]int{}
		}
		s.at[key] = len(s.waits)
		s.waits = append(s.waits, w)
		return
	}
	sum := &s.waits[i]
	sum.Total += w.Total
	sum.Count += w.Count
	if w.longest > sum.longest {
		sum.longest, sum.By = w.longest, w.By
	}
}

// sorted returns the sums, the longest time first.
func (s *waitSums) sorted() []Wait {
	slices.SortStableFunc(s.waits, func(a, b Wait) int { return cmp.Compare(b.Total, a.Total) })
	return s.waits
}

// describe returns the wait in words, without its time and with escaped names. root is the root
// span of the request.
func (w *Wait) describe(root trace.SpanID) string {
	s := w.Kind.String()
	if w.Count > 1 {
		s += fmt.Sprintf(" × %d", w.Count)
	}
	if w.Function != "" {
		s += " in " + shortFunction(w.Function)
	}
	return s + w.party(root)
}

// party names the function that ended the wait or used the processor.
func (w *Wait) party(root trace.SpanID) string {
	if w.By == nil {
		return ""
	}
	s := ", ended by "
	if w.Kind == waits.Runnable {
		s = ", processor used by "
	}
	if w.By.Function != "" {
		s += shortFunction(w.By.Function)
	} else {
		s += fmt.Sprintf("goroutine %d", w.By.Goroutine)
	}
	switch {
	case w.By.RootID == root:
		s += " of this request"
	case w.By.RootID.IsValid():
		s += " of " + text.Escape(w.By.Request, "")
	}
	return s
}

// shortFunction returns a function's short and escaped name.
func shortFunction(name string) string { return text.Escape(text.Function(name), "") }
