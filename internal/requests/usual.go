package requests

import (
	"cmp"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/routes"
)

// Usual returns a request to compare a slow request with. The result is the request of the route
// with the duration nearest to took. took is a usual duration, such as the median of a
// routes.Table. If took is 0, Usual returns the request with the median duration. Usual ignores
// failed requests and the request with the root span except. ok is false if no request remains.
func Usual(all []Snapshot, route string, took time.Duration, except trace.SpanID) (
	s Snapshot, ok bool) {
	all = slices.DeleteFunc(OfRoute(all, route),
		func(s Snapshot) bool { return s.Failed || s.SpanID == except })
	if len(all) == 0 {
		return Snapshot{}, false
	}
	if took == 0 {
		slices.SortStableFunc(all,
			func(a, b Snapshot) int { return cmp.Compare(a.Took(), b.Took()) })
		return all[(len(all)-1)/2], true
	}
	return slices.MinFunc(all, func(a, b Snapshot) int {
		return cmp.Compare((a.Took() - took).Abs(), (b.Took() - took).Abs())
	}), true
}

// OfRoute returns the requests of a route. Each request appears once. route is the name of the root
// span, or the result of [routes.NameOf] for this name.
func OfRoute(all []Snapshot, route string) []Snapshot {
	return distinct(func(s *Snapshot) bool { return s.isOf(route) }, all)
}

// distinct returns the requests of lists that fit, each once. If a request is in several lists,
// distinct returns the snapshot in the first list.
func distinct(fits func(*Snapshot) bool, lists ...[]Snapshot) (all []Snapshot) {
	seen := map[local.ID]bool{}
	for _, list := range lists {
		for i := range list {
			s := &list[i]
			if seen[s.ID()] {
				continue
			}
			seen[s.ID()] = true
			if fits(s) {
				all = append(all, *s)
			}
		}
	}
	return all
}

// isOf reports whether name is the name of the root span, or of its route in a routes.Table.
func (s *Snapshot) isOf(name string) bool {
	return s.Name == name || routes.NameOf(s.Name) == name
}
