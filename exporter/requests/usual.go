package requests

import (
	"cmp"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter/routes"
)

// Usual returns the request of a route whose duration is the nearest to took: a request to compare a slow one with. took is the usual
// duration, the median of a routes.Table for example. If it is 0, it is the median of the requests in memory. Requests that failed do not
// count, and the requests with the root spans in except neither. ok is false if there is none.
func (r *Recent) Usual(route string, took time.Duration, except ...trace.SpanID) (s Snapshot, ok bool) {
	var all []Snapshot
	for _, s := range r.OfRoute(route) {
		if !s.Failed && !slices.Contains(except, s.SpanID) {
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		return Snapshot{}, false
	}
	if took == 0 {
		slices.SortStableFunc(all, func(a, b Snapshot) int { return cmp.Compare(a.Took(), b.Took()) })
		return all[(len(all)-1)/2], true
	}
	return slices.MinFunc(all, func(a, b Snapshot) int { return cmp.Compare((a.Took() - took).Abs(), (b.Took() - took).Abs()) }), true
}

// OfRoute returns the requests in memory whose root span has that name, or whose route has it in a routes.Table, each once. The most
// recent ones come first, the newest of them first. Then come the slowest, the ones that a bridge.KeepPolicy kept, the examples of the
// heat maps, and root spans that are no request.
func (r *Recent) OfRoute(route string) []Snapshot {
	seen := map[requestID]bool{}
	var all []Snapshot
	for _, s := range slices.Concat(r.lists(true, true)...) {
		if id := s.id(); !seen[id] {
			seen[id] = true
			if s.isOf(route) {
				all = append(all, s)
			}
		}
	}
	return all
}

// A requestID tells requests apart.
type requestID struct {
	trace trace.TraceID
	root  trace.SpanID
}

func (s *Snapshot) id() requestID { return requestID{s.TraceID, s.SpanID} }

// isOf reports whether the root span has a name, or its route has it in a routes.Table.
func (s *Snapshot) isOf(name string) bool {
	return s.Name == name || routes.NameOf(s.Name) == name
}
