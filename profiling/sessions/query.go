package sessions

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"
)

// Events returns the events that the query q selects (Scope Profiler, GetEvents). more is true if
// Query.Limit cut the answer. The caller may change the slice.
//
// In mode All, events are sorted by start. In other modes, the virtual events are sorted by
// descending Time, then by type and name. An event of type Process is the last event.
//
// The error wraps one of these errors:
//
//   - [ErrNotFound] for an unknown timeline or event
//   - [ErrInvalid] for invalid values in q
//   - the cause of ctx, if ctx ends before the answer is complete
//
// A query of a timeline with 100 000 events takes some milliseconds. Query.Limit bounds the memory
// of the answer. In mode ReduceUniqueEvents, Events also allocates about 150 bytes for each
// combination of type and name.
func (s *Session) Events(ctx context.Context, q Query) (events []Event, more bool, err error) {
	if q.Mode > ReduceAll {
		return nil, false, fmt.Errorf("%w: mode %d: must be ALL (1) to REDUCE_ALL (4)",
			ErrInvalid, q.Mode)
	}
	t, ok := s.timeline(q.Timeline)
	if !ok {
		return nil, false, fmt.Errorf("timeline %d: %w: %s",
			q.Timeline, ErrNotFound, s.timelineIDs())
	}
	w, err := t.window(q)
	if err != nil {
		return nil, false, err
	}
	var a answer
	switch q.Mode {
	case ReduceUniqueTypes:
		a = t.reduce(ctx, w, func(n *node) kind { return kind{typ: n.typ} })
	case ReduceUniqueEvents:
		a = t.reduce(ctx, w, func(n *node) kind { return kind{n.typ, n.name} })
	case ReduceAll:
		a = s.reduceAll(ctx, t, w)
	default:
		a = t.list(ctx, w)
	}
	if ctx.Err() != nil {
		return nil, false, fmt.Errorf("sessions: session %d: not all events were read: %w",
			s.id, context.Cause(ctx))
	}
	return a.list, a.more, nil
}

// An answer is the result of a query.
type answer struct {
	hull *Interval // of the intervals of list; nil if list is empty
	list []Event
	more bool
}

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

// timelineIDs describes the valid ids of timelines, for errors.
func (s *Session) timelineIDs() string {
	if len(s.timelines) == 0 {
		return fmt.Sprintf("session %d has no timelines: it has no events", s.id)
	}
	return fmt.Sprintf("session %d has timelines 1 to %d", s.id, len(s.timelines))
}

// A window is the part of a timeline that a query selects.
type window struct {
	first, end int    // nodes
	depth      int32  // the deepest level, 0 for all
	types      uint16 // bits, 0 for all
	from, to   *time.Duration
	limit      int // 0 for none
}

func (t *timeline) window(q Query) (window, error) {
	w := window{end: len(t.nodes), from: q.From, to: q.To, limit: q.Limit}
	top := int32(0)
	if q.Event != 0 {
		if uint64(q.Event) > uint64(len(t.nodes)) {
			return w, fmt.Errorf("event %d: %w: timeline %d has events 1 to %d",
				q.Event, ErrNotFound, t.ID, len(t.nodes))
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
	switch {
	case q.After == 0:
		return w, nil
	case q.Mode > All:
		return w, fmt.Errorf("%w: after event %d: mode %d gives virtual events, which have no ids",
			ErrInvalid, q.After, q.Mode)
	case uint64(q.After) <= uint64(w.first) || uint64(q.After) > uint64(w.end):
		return w, fmt.Errorf("%w: after event %d: is not among those asked for",
			ErrInvalid, q.After)
	}
	w.first = int(q.After)
	return w, nil
}

// selected yields the selected nodes, until ctx ends, which the caller must check.
func (t *timeline) selected(ctx context.Context, w window) iter.Seq2[int, *node] {
	return func(yield func(int, *node) bool) {
		for i, visited := w.first, 0; i < w.end; visited++ {
			if visited%checkEvery == 0 && ctx.Err() != nil {
				return
			}
			n := &t.nodes[i]
			switch {
			case w.to != nil && n.start >= *w.to:
				return // further nodes begin later
			case w.depth != 0 && n.depth > w.depth, w.from != nil && n.end < *w.from:
				i += int(n.size) // nodes below are deeper, and end earlier
				continue
			// A moment at the node's end may be below the node.
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

// A kind is the common property of the events of a virtual event.
type kind struct {
	typ  EventType
	name string
}

// A virtual event takes a third of the memory of an Event. A short answer may need many.
type virtual struct {
	first          int32 // the first node
	hits           uint32
	time, overhead time.Duration
	interval       Interval
}

func (t *timeline) reduce(ctx context.Context, w window, kindOf func(*node) kind) answer {
	indexes := map[kind]int32{}
	var list []virtual
	for i, n := range t.selected(ctx, w) {
		k := kindOf(n)
		at, known := indexes[k]
		if !known {
			at = int32(len(list))
			indexes[k] = at
			list = append(list, virtual{first: int32(i), interval: Interval{n.start, n.end}})
		}
		m := &list[at]
		m.time += n.self
		m.overhead += n.overhead
		m.hits++
		m.interval.cover(Interval{n.start, n.end})
	}
	slices.SortFunc(list, func(a, b virtual) int {
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
	all.list = make([]Event, 0, len(list)+1) // room for the process
	for _, m := range list {
		k := kindOf(&t.nodes[m.first])
		all.add(Event{
			Type: k.typ, Name: k.name, Time: m.time, Overhead: m.overhead, Hits: m.hits,
			Interval: m.interval,
		})
	}
	return all
}

func (a *answer) add(e Event) {
	if a.hull == nil {
		a.hull = new(e.Interval)
	}
	a.hull.cover(e.Interval)
	a.list = append(a.list, e)
}

func (i *Interval) cover(other Interval) {
	i.Start, i.End = min(i.Start, other.Start), max(i.End, other.End)
}

// process returns the event of type Process: the recorded part of the query's interval, or else of
// the hull of its events. ok is false without events, and on systems that do not measure CPU time.
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
	within.Start = max(within.Start, s.cpu[0].at, 0)
	within.End = min(within.End, s.cpu[len(s.cpu)-1].at)
	if within.End < within.Start {
		return Event{}, false
	}
	used := s.cpuAt(within.End) - s.cpuAt(within.Start)
	return Event{Type: Process, Time: used, Hits: 1, Interval: within}, true
}

// cpuAt interpolates the CPU time of the process between two readings, which must exist.
func (s *Session) cpuAt(at time.Duration) time.Duration {
	i, exact := slices.BinarySearchFunc(s.cpu, at,
		func(r reading, at time.Duration) int { return cmp.Compare(r.at, at) })
	if exact {
		return s.cpu[i].cpu
	}
	a, b := s.cpu[i-1], s.cpu[i]
	return a.cpu + time.Duration(float64(b.cpu-a.cpu)*float64(at-a.at)/float64(b.at-a.at))
}
