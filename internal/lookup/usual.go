package lookup

import (
	"time"

	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/routes"
)

// Usual returns another request of the route of s to compare s with: the nearest one to the median
// of the route since the start, or the median of the requests in memory. median is the one since
// the start, or 0 if no request of the route is in the table. ok is false if there is no other
// request without an error.
func Usual(
	recent *requests.Recent, s requests.Snapshot,
) (u requests.Snapshot, median time.Duration, ok bool) {
	var most routes.Summary
	for _, r := range recent.Routes().Summaries(routes.SinceStart).Routes {
		if r.Route == s.Name && r.Count > most.Count {
			most = r
		}
	}
	u, ok = requests.Usual(recent.All(), s.Name, most.P50, s.SpanID)
	return u, most.P50, ok
}
