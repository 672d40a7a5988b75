package requests

import (
	"iter"
	"slices"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/waits"
)

// Named returns the result q with the present names of requests in memory. An execution trace knows
// only the names at the starts of requests, such as GET without a route. A request that is not in
// memory retains its name. If no name changes, Named returns q itself. q never changes.
func (r *Recent) Named(q *waits.Request) *waits.Request {
	own := local.ID{Trace: q.TraceID, Span: q.RootID}
	names := map[local.ID]string{own: q.Name}
	for p := range parties(q) {
		names[idOf(*p)] = (*p).Request
	}
	changed := false
	for id, name := range r.names(names) {
		changed = changed || name != names[id]
		names[id] = name
	}
	if !changed {
		return q
	}
	copied := *q
	copied.Name = names[own]
	copied.Causes = slices.Clone(q.Causes)
	copied.Goroutines = slices.Clone(q.Goroutines)
	for i := range copied.Goroutines {
		intervals := &copied.Goroutines[i].Intervals
		*intervals = slices.Clone(*intervals)
	}
	renamed := map[*waits.Party]*waits.Party{}
	for p := range parties(&copied) {
		if renamed[*p] == nil {
			party := **p
			party.Request = names[idOf(*p)]
			renamed[*p] = &party
		}
		*p = renamed[*p]
	}
	return &copied
}

func idOf(p *waits.Party) local.ID { return local.ID{Trace: p.TraceID, Span: p.RootID} }

// parties yields the places of the parties that worked for a request.
func parties(q *waits.Request) iter.Seq[**waits.Party] {
	return func(yield func(**waits.Party) bool) {
		each := func(p **waits.Party) bool {
			return *p == nil || !(*p).RootID.IsValid() || yield(p)
		}
		for i := range q.Causes {
			if !each(&q.Causes[i].By) || !each(&q.Causes[i].In) {
				return
			}
		}
		for i := range q.Goroutines {
			intervals := q.Goroutines[i].Intervals
			for k := range intervals {
				if !each(&intervals[k].By) {
					return
				}
			}
		}
	}
}

// names returns the names of those requests in memory that are in the map.
func (r *Recent) names(of map[local.ID]string) map[local.ID]string {
	found := map[local.ID]string{}
	r.onRead.Call()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all(func(q *request) bool {
		id := local.ID{Trace: q.trace.id, Span: q.SpanID}
		if _, asked := of[id]; asked {
			found[id] = text.Valid(q.Name)
		}
		return true
	})
	return found
}
