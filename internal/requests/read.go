package requests

import (
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/local"
)

// Requests returns the newest requests. The newest request is first.
func (r *Recent) Requests() []Snapshot { return r.read(r.newest.newestFirst) }

// Slowest returns the slowest requests of the last hour. The slowest request is first.
func (r *Recent) Slowest() []Snapshot { return r.read(r.slowestFirst) }

// KeptRequests returns the newest requests that a bridge.KeepPolicy kept. The newest request is
// first.
func (r *Recent) KeptRequests() []Snapshot { return r.read(r.keptRequests.newestFirst) }

// Background returns the newest root spans that are not requests. The newest span is first.
func (r *Recent) Background() []Snapshot { return r.read(r.background.newestFirst) }

// All returns five lists as one list:
//
//   - the lists of Requests, Slowest and KeptRequests
//   - the examples: the first request of each cell of the routes' heat maps, the newest first.
//     [routes.CellOf] defines the cells. Streams are not examples.
//   - the list of Background
//
// A request that is in several lists appears several times.
func (r *Recent) All() []Snapshot { return r.read(r.all) }

// Snapshot returns the request with the given trace id and root span id. ok is false if the request
// is not in memory.
func (r *Recent) Snapshot(id trace.TraceID, root trace.SpanID) (s Snapshot, ok bool) {
	r.onRead.Call()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all(func(q *request) bool {
		if ok = q.SpanID == root && q.trace.id == id; ok {
			s = q.snapshot()
		}
		return !ok
	})
	return s, ok
}

// Holds reports for each id whether the request with the trace id and root span id is in memory.
func (r *Recent) Holds(ids []local.ID) []bool {
	r.onRead.Call()
	in := make(map[local.ID]bool, len(ids))
	for _, id := range ids {
		in[id] = false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all(func(q *request) bool {
		id := local.ID{Trace: q.trace.id, Span: q.SpanID}
		if _, asked := in[id]; asked {
			in[id] = true
		}
		return true
	})
	held := make([]bool, len(ids))
	for i, id := range ids {
		held[i] = in[id]
	}
	return held
}

// read locks r.mu and returns the requests that each yields.
func (r *Recent) read(each func(func(*request) bool) bool) []Snapshot {
	r.onRead.Call()
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	each(func(*request) bool {
		n++
		return true
	})
	all := make([]Snapshot, 0, n)
	each(func(q *request) bool {
		all = append(all, q.snapshot())
		return true
	})
	return all
}

// all calls f for the requests of all lists. It stops and returns false when f returns false. r.mu
// is held.
func (r *Recent) all(f func(*request) bool) bool {
	return r.newest.newestFirst(f) && r.slowestFirst(f) && r.keptRequests.newestFirst(f) &&
		r.examples.newestFirst(f) && r.background.newestFirst(f)
}

func (r *Recent) slowestFirst(f func(*request) bool) bool {
	return !slices.ContainsFunc(r.slowest, func(q *request) bool { return !f(q) })
}
