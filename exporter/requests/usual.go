package requests

import (
	"cmp"
	"slices"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter/otlpenc"
	"github.com/perfline/perfline/exporter/routes"
)

// Usual returns the request of a route whose duration is the nearest to took: a request to compare a slow one with. took is the usual
// duration, the median of a routes.Table for example. If it is 0, it is the median of the requests in memory. Requests that failed do not
// count, and the requests with the root spans in except neither. ok is false if there is none.
func (r *Recent) Usual(route string, took time.Duration, except ...trace.SpanID) (s Snapshot, ok bool) {
	type candidate struct {
		Snapshot
		took time.Duration
	}
	var all []candidate
	for _, s := range r.OfRoute(route) {
		if root := s.Root(); root.Status.Code != codes.Error && !slices.Contains(except, s.SpanID) {
			all = append(all, candidate{s, root.Duration()})
		}
	}
	if len(all) == 0 {
		return Snapshot{}, false
	}
	if took == 0 {
		slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.took, b.took) })
		return all[(len(all)-1)/2].Snapshot, true
	}
	nearest := slices.MinFunc(all, func(a, b candidate) int { return cmp.Compare((a.took - took).Abs(), (b.took - took).Abs()) })
	return nearest.Snapshot, true
}

// OfRoute returns the requests in memory whose root span has that name, or whose route has it in a routes.Table, each once. The most
// recent ones come first, the newest of them first. Then come the slowest, the ones that a bridge.KeepPolicy kept, the examples of the
// heat maps, and root spans that are no request.
func (r *Recent) OfRoute(route string) []Snapshot {
	newest, slowest := r.Snapshots()
	type id struct {
		trace trace.TraceID
		root  trace.SpanID
	}
	seen := map[id]bool{}
	var all []Snapshot
	for _, s := range slices.Concat(newest, slowest, r.KeptRequests(), r.Examples(), r.Background()) {
		key := id{s.TraceID, s.SpanID}
		if root := s.Root(); !seen[key] && isOf(&root, route) {
			all = append(all, s)
		}
		seen[key] = true
	}
	return all
}

// isOf reports whether a root span has a name, or its route has it in a routes.Table.
func isOf(root *otlpenc.Span, name string) bool {
	return root.Name == name || routes.NameOf(root.Name) == name
}
