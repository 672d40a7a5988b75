package sessions

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Events answers a query (Scope Profiler, GetEvents). The error is a [BadRequestError].
func (s *Session) Events(q Query) (Events, error) {
	if q.Mode > ReduceAll {
		return Events{}, BadRequestError(fmt.Sprintf("mode %d: must be ALL (1) to REDUCE_ALL (4)", q.Mode))
	}
	t := s.timeline(q.Timeline)
	if t == nil && len(s.timelines) == 0 {
		return Events{}, BadRequestError(fmt.Sprintf("timeline %d: session %d has no timelines: it has no events", q.Timeline, s.id))
	}
	if t == nil {
		return Events{}, BadRequestError(fmt.Sprintf("timeline %d: session %d has timelines 1 to %d", q.Timeline, s.id, len(s.timelines)))
	}
	w, err := t.window(q)
	if err != nil {
		return Events{}, err
	}
	switch q.Mode {
	case ReduceUniqueTypes:
		return t.reduce(w, func(n *node) kind { return kind{typ: n.typ} }), nil
	case ReduceUniqueEvents:
		return t.reduce(w, func(n *node) kind { return kind{n.typ, n.name} }), nil
	case ReduceAll:
		return s.reduceAll(t, w), nil
	default:
		return t.list(w, q.Limit), nil
	}
}

// reduceAll is the answer of mode ReduceAll.
func (s *Session) reduceAll(t *timeline, w window) Events {
	everything := func(*node) kind { return kind{typ: Generic} }
	all := t.reduce(w, everything)
	if w.types != 0 && w.types&(1<<Process) == 0 {
		return all
	}
	of := all.Interval
	if of == nil { // of those that are of other types
		w.types = 0
		of = t.reduce(w, everything).Interval
	}
	if p, ok := s.process(w, of); ok {
		all.add(p)
	}
	return all
}

// A window is the part of a timeline that a query is about.
type window struct {
	first, end int   // nodes
	depth      int32 // the deepest that is given, 0 for all
	types      uint16
	from, to   *time.Duration
}

func (t *timeline) window(q Query) (window, error) {
	w := window{end: len(t.nodes), from: q.From, to: q.To}
	top := int32(0)
	if q.Event != 0 {
		if uint64(q.Event) > uint64(len(t.nodes)) {
			return w, BadRequestError(fmt.Sprintf("event %d: timeline %d has events 1 to %d", q.Event, t.ID, len(t.nodes)))
		}
		root := &t.nodes[q.Event-1]
		w.first, w.end, top = int(q.Event), int(q.Event)+int(root.size)-1, root.depth
	}
	if q.MaxDepth != 0 && q.MaxDepth < 1<<30 {
		w.depth = top + int32(q.MaxDepth)
	}
	for _, typ := range q.Types {
		if typ < Generic || typ > Samples {
			return w, BadRequestError(fmt.Sprintf("event type %d: must be GENERIC (1) to SAMPLES (9)", typ))
		}
		w.types |= 1 << typ
	}
	if q.From != nil && q.To != nil && *q.From > *q.To {
		return w, BadRequestError(fmt.Sprintf("interval from %v to %v: must not end before it starts", *q.From, *q.To))
	}
	if q.Limit < 0 {
		return w, BadRequestError(fmt.Sprintf("limit %d: must not be negative", q.Limit))
	}
	if (q.Limit != 0 || q.After != 0) && q.Mode > All {
		return w, BadRequestError(fmt.Sprintf("limit %d after event %d: mode %v gives its events at once", q.Limit, q.After, q.Mode))
	}
	if q.After != 0 {
		if uint64(q.After) <= uint64(w.first) || uint64(q.After) > uint64(w.end) {
			return w, BadRequestError(fmt.Sprintf("after event %d: is not among those asked for", q.After))
		}
		w.first = int(q.After)
	}
	return w, nil
}

// each goes through the nodes that a query is about.
func (t *timeline) each(w window, yield func(i int, n *node) bool) {
	for i := w.first; i < w.end; {
		n := &t.nodes[i]
		if w.to != nil && n.start >= *w.to {
			return // so are all that come
		}
		skip := int(n.size)
		switch {
		case w.depth != 0 && n.depth > w.depth:
			i += skip
			continue
		case w.from != nil && (n.end < *w.from || n.end == *w.from && n.start < n.end):
			// What is below lies within, but for a moment at its end.
			if n.end < *w.from {
				i += skip
				continue
			}
		case w.types == 0 || w.types&(1<<n.typ) != 0:
			if !yield(i, n) {
				return
			}
		}
		i++
	}
}

// list is the answer of mode All.
func (t *timeline) list(w window, limit int) Events {
	var all Events
	t.each(w, func(i int, _ *node) bool {
		if limit > 0 && len(all.List) == limit {
			all.More = true
			return false
		}
		all.add(t.event(i))
		return true
	})
	return all
}

// kind is what events have in common that become one.
type kind struct {
	typ  EventType
	name string
}

// reduce makes a virtual event of all that are of one kind.
func (t *timeline) reduce(w window, of func(*node) kind) Events {
	indexes := map[kind]int{}
	var list []Event
	t.each(w, func(_ int, n *node) bool {
		k := of(n)
		i, known := indexes[k]
		if !known {
			i = len(list)
			indexes[k] = i
			list = append(list, Event{Type: k.typ, Name: k.name, Interval: Interval{n.start, n.end}})
		}
		e := &list[i]
		e.Time += n.self
		e.Overhead += n.overhead
		e.Hits++
		e.Interval.cover(Interval{n.start, n.end})
		return true
	})
	slices.SortFunc(list, func(a, b Event) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name))
	})
	var all Events
	for _, e := range list {
		all.add(e)
	}
	return all
}

func (a *Events) add(e Event) {
	if a.Interval == nil {
		hull := e.Interval
		a.Interval = &hull
	}
	a.Interval.cover(e.Interval)
	a.List = append(a.List, e)
}

func (i *Interval) cover(other Interval) {
	i.Start, i.End = min(i.Start, other.Start), max(i.End, other.End)
}

// process is the event of type Process for the time that is asked about, else that of
// the events, as far as the session was recording. ok is false where the system does not tell, and
// when there are no events.
func (s *Session) process(w window, events *Interval) (Event, bool) {
	if events == nil || len(s.cpu) < 2 {
		return Event{}, false
	}
	within := *events
	if w.from != nil {
		within.Start = *w.from
	}
	if w.to != nil {
		within.End = *w.to
	}
	first, last := s.cpu[0], s.cpu[len(s.cpu)-1]
	within.Start, within.End = max(within.Start, first.at, 0), min(within.End, last.at)
	if within.End < within.Start {
		return Event{}, false
	}
	return Event{
		Type: Process, Time: s.used(within.End) - s.used(within.Start), Hits: 1, Interval: within,
	}, true
}

// used is the CPU time that the process had used at some time, between two readings as if
// it had used it evenly.
func (s *Session) used(at time.Duration) time.Duration {
	i, exact := slices.BinarySearchFunc(s.cpu, at, func(r reading, at time.Duration) int { return cmp.Compare(r.at, at) })
	if exact || i == 0 {
		return s.cpu[i].used
	}
	if i == len(s.cpu) {
		return s.cpu[i-1].used
	}
	a, b := s.cpu[i-1], s.cpu[i]
	return a.used + time.Duration(float64(b.used-a.used)*float64(at-a.at)/float64(b.at-a.at))
}
