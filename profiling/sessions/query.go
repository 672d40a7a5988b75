package sessions

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"
)

// Events answers a query (Scope Profiler, GetEvents). Events are sorted by their start, and virtual
// ones by descending time, then by type and name, with Process last. more is true if further events
// follow, see Query.Limit. The slice is the caller's.
//
// The error wraps [ErrNotFound], [ErrInvalid], or ctx's cause: a query goes through all events of
// its timeline, which takes some milliseconds for a hundred thousand. A query needs the memory of
// its answer, which Query.Limit bounds. Mode ReduceUniqueEvents also needs some 150 bytes for each
// type and name until it returns.
func (s *Session) Events(ctx context.Context, q Query) (events []Event, more bool, err error) {
	a, err := s.answer(ctx, q)
	return a.list, a.more, err
}

// An answer is what a query gives.
type answer struct {
	hull *Interval // of the intervals of list; nil if list is empty
	list []Event
	more bool
}

func (s *Session) answer(ctx context.Context, q Query) (answer, error) {
	if q.Mode > ReduceAll {
		return answer{}, fmt.Errorf("%w: mode %d: must be ALL (1) to REDUCE_ALL (4)", ErrInvalid,
			q.Mode)
	}
	t := s.timeline(q.Timeline)
	if t == nil {
		return answer{}, fmt.Errorf("timeline %d: %w: %s", q.Timeline, ErrNotFound, s.timelineIDs())
	}
	w, err := t.window(q)
	if err != nil {
		return answer{}, err
	}
	var all answer
	switch q.Mode {
	case ReduceUniqueTypes:
		all = t.reduce(ctx, w, func(n *node) kind { return kind{typ: n.typ} })
	case ReduceUniqueEvents:
		all = t.reduce(ctx, w, func(n *node) kind { return kind{n.typ, n.name} })
	case ReduceAll:
		all = s.reduceAll(ctx, t, w)
	default:
		all = t.list(ctx, w)
	}
	if ctx.Err() != nil {
		return answer{}, fmt.Errorf("sessions: session %d: not all events were read: %w", s.id,
			context.Cause(ctx))
	}
	return all, nil
}

// reduceAll is the answer of mode ReduceAll.
func (s *Session) reduceAll(ctx context.Context, t *timeline, w window) answer {
	everything := func(*node) kind { return kind{typ: Generic} }
	all := t.reduce(ctx, w, everything)
	if w.types != 0 && w.types&(1<<Process) == 0 {
		return all
	}
	hull := all.hull
	if hull == nil { // Process stands for the events of other types
		w.types = 0
		hull = t.reduce(ctx, w, everything).hull
	}
	p, ok := s.process(w, hull)
	switch {
	case !ok:
	case w.limit > 0 && len(all.list) == w.limit:
		all.more = true
	default:
		all.add(p)
	}
	return all
}

// timelineIDs says which ids of timelines there are.
func (s *Session) timelineIDs() string {
	if len(s.timelines) == 0 {
		return fmt.Sprintf("session %d has no timelines: it has no events", s.id)
	}
	return fmt.Sprintf("session %d has timelines 1 to %d", s.id, len(s.timelines))
}

// A window is the part of a timeline that a query is about.
type window struct {
	first, end int    // nodes
	depth      int32  // the deepest that is given, 0 for all
	types      uint16 // as bits, 0 for all
	from, to   *time.Duration
	limit      int // 0 for all
}

func (t *timeline) window(q Query) (window, error) {
	w := window{end: len(t.nodes), from: q.From, to: q.To, limit: q.Limit}
	top := int32(0)
	if q.Event != 0 {
		if uint64(q.Event) > uint64(len(t.nodes)) {
			return w, fmt.Errorf("event %d: %w: timeline %d has events 1 to %d", q.Event,
				ErrNotFound, t.ID, len(t.nodes))
		}
		root := &t.nodes[q.Event-1]
		w.first, w.end, top = int(q.Event), int(q.Event)+int(root.size)-1, root.depth
	}
	if q.MaxDepth != 0 && q.MaxDepth < 1<<30 {
		w.depth = top + int32(q.MaxDepth)
	}
	for _, typ := range q.Types {
		if typ < Generic || typ > Samples {
			return w, fmt.Errorf("%w: event type %d: must be GENERIC (1) to SAMPLES (9)",
				ErrInvalid, typ)
		}
		w.types |= 1 << typ
	}
	if q.From != nil && q.To != nil && *q.From > *q.To {
		return w, fmt.Errorf("%w: interval from %v to %v: must not end before it starts",
			ErrInvalid, *q.From, *q.To)
	}
	if q.Limit < 0 {
		return w, fmt.Errorf("%w: limit %d: must not be negative", ErrInvalid, q.Limit)
	}
	if q.After != 0 && q.Mode > All {
		return w, fmt.Errorf("%w: after event %d: mode %d gives virtual events, which have no ids",
			ErrInvalid, q.After, q.Mode)
	}
	if q.After != 0 {
		if uint64(q.After) <= uint64(w.first) || uint64(q.After) > uint64(w.end) {
			return w, fmt.Errorf("%w: after event %d: is not among those asked for", ErrInvalid,
				q.After)
		}
		w.first = int(q.After)
	}
	return w, nil
}

// selected yields the nodes that a query is about with their indexes, until ctx ends. The caller
// checks ctx afterwards.
func (t *timeline) selected(ctx context.Context, w window) iter.Seq2[int, *node] {
	return func(yield func(int, *node) bool) {
		for i, visited := w.first, 0; i < w.end; visited++ {
			if visited%checkEvery == 0 && ctx.Err() != nil {
				return
			}
			n := &t.nodes[i]
			switch {
			case w.to != nil && n.start >= *w.to:
				return // so do all further ones
			case w.depth != 0 && n.depth > w.depth, w.from != nil && n.end < *w.from:
				i += int(n.size) // what is below it is deeper, and ends before
				continue
			// a moment at its end may be below it
			case w.from != nil && n.end == *w.from && n.start < n.end:
			case w.types == 0 || w.types&(1<<n.typ) != 0:
				if !yield(i, n) {
					return
				}
			}
			i++
		}
	}
}

// list is the answer of mode All.
func (t *timeline) list(ctx context.Context, w window) answer {
	var all answer
	for i := range t.selected(ctx, w) {
		if w.limit > 0 && len(all.list) == w.limit {
			all.more = true
			break
		}
		all.add(t.event(i))
	}
	return all
}

// A kind is what the events that become one virtual event have in common.
type kind struct {
	typ  EventType
	name string
}

// A merged is a virtual event in the making. An Event is three times as large, and an answer has
// few of those that a long session has.
type merged struct {
	first          int32 // node of its kind
	hits           uint32
	time, overhead time.Duration
	interval       Interval
}

// reduce makes a virtual event of each kind.
func (t *timeline) reduce(ctx context.Context, w window, kindOf func(*node) kind) answer {
	indexes := map[kind]int32{}
	var list []merged
	for i, n := range t.selected(ctx, w) {
		k := kindOf(n)
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
	}
	slices.SortFunc(list, func(a, b merged) int {
		if a.time != b.time {
			return cmp.Compare(b.time, a.time)
		}
		ka, kb := kindOf(&t.nodes[a.first]), kindOf(&t.nodes[b.first])
		return cmp.Or(cmp.Compare(ka.typ, kb.typ), cmp.Compare(ka.name, kb.name))
	})
	var all answer
	if w.limit > 0 && w.limit < len(list) {
		list, all.more = list[:w.limit], true
	}
	all.list = make([]Event, 0, len(list)+1) // and perhaps the process
	for _, m := range list {
		k := kindOf(&t.nodes[m.first])
		all.add(Event{Type: k.typ, Name: k.name, Time: m.time, Overhead: m.overhead, Hits: m.hits,
			Interval: m.interval})
	}
	return all
}

func (a *answer) add(e Event) {
	if a.hull == nil {
		hull := e.Interval
		a.hull = &hull
	}
	a.hull.cover(e.Interval)
	a.list = append(a.list, e)
}

func (i *Interval) cover(other Interval) {
	i.Start, i.End = min(i.Start, other.Start), max(i.End, other.End)
}

// process returns the event of type Process for the interval of a query, else for the hull of its
// events, as far as the session recorded. ok is false where the system does not tell, and without
// events.
func (s *Session) process(w window, hull *Interval) (e Event, ok bool) {
	if hull == nil || len(s.cpu) < 2 {
		return Event{}, false
	}
	within := *hull
	if w.from != nil {
		within.Start = *w.from
	}
	if w.to != nil {
		within.End = *w.to
	}
	within.Start, within.End = max(within.Start, s.cpu[0].at, 0),
		min(within.End, s.cpu[len(s.cpu)-1].at)
	if within.End < within.Start {
		return Event{}, false
	}
	return Event{Type: Process, Time: s.cpuAt(within.End) - s.cpuAt(within.Start), Hits: 1,
		Interval: within}, true
}

// cpuAt returns how much CPU time the process had used, interpolated between two readings. at is
// between the first reading and the last.
func (s *Session) cpuAt(at time.Duration) time.Duration {
	i, exact := slices.BinarySearchFunc(s.cpu, at,
		func(r reading, at time.Duration) int { return cmp.Compare(r.at, at) })
	if exact {
		return s.cpu[i].used
	}
	a, b := s.cpu[i-1], s.cpu[i]
	return a.used + time.Duration(float64(b.used-a.used)*float64(at-a.at)/float64(b.at-a.at))
}
