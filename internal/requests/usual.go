package requests

import (
	"cmp"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/routes"
)

// Usual returns the request of a route whose duration is the nearest to took: a request to compare
// a slow one with. took is the usual duration, the median of a routes.Table for example. If it is
// 0, it is the median of the requests in all. Requests that failed do not count, and neither does
// the one with the root span except. ok is false if there is none.
func Usual(all []Snapshot, route string, took time.Duration, except trace.SpanID) (s Snapshot,
	ok bool) {
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
	return slices.MinFunc(all,
		func(a, b Snapshot) int {
			return cmp.Compare((a.Took() - took).Abs(),
				(b.Took() - took).Abs())
		}), true
}

// OfRoute returns the requests whose root span has that name, or whose route has it in a
// routes.Table, each once.
func OfRoute(all []Snapshot, route string) []Snapshot {
	return distinct(func(s *Snapshot) bool { return s.isOf(route) }, all)
}

// distinct returns the requests of lists for which fits returns true, each once. If a request is in
// several lists, it returns the one in the first list.
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

// isOf reports whether the root span has a name, or its route has it in a routes.Table.
func (s *Snapshot) isOf(name string) bool {
	return s.Name == name || routes.NameOf(s.Name) == name
}
