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

// watcher is the function of net/http's goroutine that watches a connection while a handler works.
const watcher = "net/http.(*connReader).backgroundRead"

// A Wait sums up the waits of a span for the same: of one kind, in one function, and ended by one
// function of one request.
type Wait struct {
	Kind waits.Kind
	// where the goroutines waited: the innermost function outside the standard library; may be empty
	Function string
	By       *waits.Party // ended the longest of them; nil if no goroutine did, or if it is unknown
	Total    time.Duration
	Count    int

	longest time.Duration // of them
}

// Waits returns what each span waited for, the longest time first, from the execution trace in
// q.Waits. All goroutines that worked for the span count, so that the times may add up to more than
// its duration. Waiting is all but running. The goroutine with which net/http watches a connection
// of HTTP/1 does not count: it waits for the client until the request is over, and nothing waits
// for it.
//
// A wait belongs to the innermost span that its goroutine worked for. It belongs to a shorter
// measure of marks.Time that encloses the wait and has the same goroutine, if there is one.
func Waits(q Request) map[trace.SpanID][]Wait {
	tree := newSpanWaits(q)
	if tree == nil {
		return nil
	}
	measures := tree.measures()
	sums := map[trace.SpanID]*waitSums{}
	for g := range q.Waits.Goroutines {
		if q.Waits.Goroutines[g].Function == watcher {
			continue
		}
		open := openMeasures{tree: tree, next: measures[&q.Waits.Goroutines[g]]}
		for i := range q.Waits.Goroutines[g].Intervals {
			interval := &q.Waits.Goroutines[g].Intervals[i]
			if class := waiting.ClassOf(interval.Kind); class == waiting.ClassUnknown ||
				class == waiting.ClassRunning {
				continue
			}
			id := interval.SpanID
			if tree.places[id].span == nil {
				id = q.Root.SpanID // the span was not kept
			}
			if m := open.shortest(id, q.Root.Start.Add(interval.Start),
				q.Root.Start.Add(interval.End)); m != nil {
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

// measures returns the measures that the execution trace does not know, by their goroutines and
// their start.
func (t *spanWaits) measures() map[*waits.Goroutine][]*otlpenc.Span {
	all := map[*waits.Goroutine][]*otlpenc.Span{}
	for _, s := range t.q.Spans {
		if of := t.worked(s); of != nil && of != s {
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

// openMeasures are the measures of a goroutine at a time, which goes on.
type openMeasures struct {
	tree *spanWaits
	next []*otlpenc.Span // by their start
	open []*otlpenc.Span
}

// shortest returns the shortest measure that encloses a time of a span, or nil if the span is
// shorter. Times come by their start.
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

// waitSums sum up waits for the same.
type waitSums struct {
	waits []Wait
	at    map[waitKey]int // in waits
}

// A waitKey is what waits must have in common to be summed up.
type waitKey struct {
	kind     waits.Kind
	function string
	known    bool // what follows is of a party
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

// describe returns the wait in words, without its time, for the request of a root span. Names are
// escaped.
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

// party returns who ended the wait, or had the processor.
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

// shortFunction returns a function as the sentence names it, escaped.
func shortFunction(name string) string { return text.Escape(text.Function(name), "") }
