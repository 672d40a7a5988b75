package sessions

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// Events answers a query (Scope Profiler, GetEvents). The error is a [BadRequestError], or wraps
// ctx's cause: a query goes through all of its timeline's events, which takes some milliseconds
// for a hundred thousand. Its memory is that of its answer, which Query.Limit bounds; in mode
// ReduceUniqueEvents some 150 bytes for each type and name besides, while it is worked on.
func (s *Session) Events(ctx context.Context, q Query) (Events, error) {
	if q.Mode > ReduceAll {
		return Events{}, BadRequestError(fmt.Sprintf("mode %d: must be ALL (1) to REDUCE_ALL (4)", q.Mode))
	}
	t := s.timeline(q.Timeline)
	if t == nil {
		return Events{}, BadRequestError(fmt.Sprintf("timeline %d: %s", q.Timeline, s.hasTimelines()))
	}
	w, err := t.window(q)
	if err != nil {
		return Events{}, err
	}
	var all Events
	switch q.Mode {
	case ReduceUniqueTypes:
		all, err = t.reduce(ctx, w, q.Limit, func(n *node) kind { return kind{typ: n.typ} })
	case ReduceUniqueEvents:
		all, err = t.reduce(ctx, w, q.Limit, func(n *node) kind { return kind{n.typ, n.name} })
	case ReduceAll:
		all, err = s.reduceAll(ctx, t, w, q.Limit)
	default:
		all, err = t.list(ctx, w, q.Limit)
	}
	if err != nil {
		return Events{}, fmt.Errorf("sessions: session %d: not all events were looked at: %w", s.id, err)
	}
	return all, nil
}

// reduceAll is the answer of mode ReduceAll.
func (s *Session) reduceAll(ctx context.Context, t *timeline, w window, limit int) (Events, error) {
	everything := func(*node) kind { return kind{typ: Generic} }
	all, err := t.reduce(ctx, w, limit, everything)
	if err != nil || w.types != 0 && w.types&(1<<Process) == 0 {
		return all, err
	}
	of := all.Interval
	if of == nil { // of those that are of other types
		w.types = 0
		others, err := t.reduce(ctx, w, limit, everything)
		if err != nil {
			return all, err
		}
		of = others.Interval
	}
	p, ok := s.process(w, of)
	switch {
	case !ok:
	case limit > 0 && len(all.List) == limit:
		all.More = true
	default:
		all.add(p)
	}
	return all, nil
}

// hasTimelines says which there are.
func (s *Session) hasTimelines() string {
	if len(s.timelines) == 0 {
		return fmt.Sprintf("session %d has no timelines: it has no events", s.id)
	}
	return fmt.Sprintf("session %d has timelines 1 to %d", s.id, len(s.timelines))
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
	if q.After != 0 && q.Mode > All {
		return w, BadRequestError(fmt.Sprintf("after event %d: mode %d gives virtual events, which have no ids", q.After, q.Mode))
	}
	if q.After != 0 {
		if uint64(q.After) <= uint64(w.first) || uint64(q.After) > uint64(w.end) {
			return w, BadRequestError(fmt.Sprintf("after event %d: is not among those asked for", q.After))
		}
		w.first = int(q.After)
	}
	return w, nil
}

// lookEvery is after how many nodes a query looks whether somebody still waits for it.
const lookEvery = 4096

// each goes through the nodes that a query is about, until ctx ends: it returns its cause.
func (t *timeline) each(ctx context.Context, w window, yield func(i int, n *node) bool) error {
	looked := 0
	for i := w.first; i < w.end; {
		if looked++; looked%lookEvery == 1 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n := &t.nodes[i]
		if w.to != nil && n.start >= *w.to {
			return nil // so are all that come
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
				return nil
			}
		}
		i++
	}
	return nil
}

// list is the answer of mode All.
func (t *timeline) list(ctx context.Context, w window, limit int) (Events, error) {
	var all Events
	err := t.each(ctx, w, func(i int, _ *node) bool {
		if limit > 0 && len(all.List) == limit {
			all.More = true
			return false
		}
		all.add(t.event(i))
		return true
	})
	return all, err
}

// kind is what events have in common that become one.
type kind struct {
	typ  EventType
	name string
}

// A merged is a virtual event in the making: an Event is three times as large, and most of
// those that a long session has are not given.
type merged struct {
	first          int32 // node of its kind
	hits           uint32
	time, overhead time.Duration
	interval       Interval
}

// reduce makes a virtual event of all that are of one kind.
func (t *timeline) reduce(ctx context.Context, w window, limit int, of func(*node) kind) (Events, error) {
	indexes := map[kind]int32{}
	var list []merged
	err := t.each(ctx, w, func(i int, n *node) bool {
		k := of(n)
		at, known := indexes[k]
		if !known {
			at = int32(len(list))
			indexes[k] = at
			list = append(list, merged{first: int32(i), interval: Interval{n.start, n.end}})
		}
		m := &list[at]
		m.time += n.self
		m.overhead += n.overhead
		m.hits++
		m.interval.cover(Interval{n.start, n.end})
		return true
	})
	if err != nil {
		return Events{}, err
	}
	slices.SortFunc(list, func(a, b merged) int {
		if a.time != b.time {
			return cmp.Compare(b.time, a.time)
		}
		ka, kb := of(&t.nodes[a.first]), of(&t.nodes[b.first])
		return cmp.Or(cmp.Compare(ka.typ, kb.typ), cmp.Compare(ka.name, kb.name))
	})
	var all Events
	if limit > 0 && limit < len(list) {
		list, all.More = list[:limit], true
	}
	all.List = make([]Event, 0, len(list)+1) // and perhaps the process
	for _, m := range list {
		k := of(&t.nodes[m.first])
		all.add(Event{Type: k.typ, Name: k.name, Time: m.time, Overhead: m.overhead, Hits: m.hits, Interval: m.interval})
	}
	return all, nil
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
