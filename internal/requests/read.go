package requests

import (
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/local"
)

// Requests returns the newest requests and the newest streams. The newest request is first.
func (r *Recent) Requests() []Snapshot { return r.read(r.requestsFirst) }

// Slowest returns the slowest requests of the last hour. The slowest request is first.
func (r *Recent) Slowest() []Snapshot { return r.read(r.slowestFirst) }

// KeptRequests returns the newest requests that a bridge.KeepPolicy kept. The newest request is
// first.
func (r *Recent) KeptRequests() []Snapshot { return r.read(r.keptRequests.newestFirst) }

// Background returns the newest root spans of the background and of housekeeping. The newest span
// is first.
func (r *Recent) Background() []Snapshot { return r.read(r.backgroundFirst) }

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
	return r.requestsFirst(f) && r.slowestFirst(f) && r.keptRequests.newestFirst(f) &&
		r.examples.newestFirst(f) && r.backgroundFirst(f)
}

func (r *Recent) requestsFirst(f func(*request) bool) bool {
	return r.newestOf(f, local.Request, local.Stream, local.Inner)
}

func (r *Recent) backgroundFirst(f func(*request) bool) bool {
	return r.newestOf(f, local.Background, local.Housekeeping)
}

// newestOf calls f for the roots of some classes, the newest first. If f returns false, newestOf
// stops and returns false.
func (r *Recent) newestOf(f func(*request) bool, classes ...local.Class) bool {
	var heads [local.Classes]*request
	for _, c := range classes {
		heads[c] = r.newest[c].newest
	}
	for {
		newest := &heads[0]
		for i := range heads {
			if *newest == nil || heads[i] != nil && older(*newest, heads[i]) {
				newest = &heads[i]
			}
		}
		if *newest == nil {
			return true
		}
		if !f(*newest) {
			return false
		}
		*newest = (*newest).older
	}
}

func (r *Recent) slowestFirst(f func(*request) bool) bool {
	return !slices.ContainsFunc(r.slowest, func(q *request) bool { return !f(q) })
}
