package lookup

import (
	"time"

	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/routes"
)

// Usual returns a request of the route of s to compare s with: the request nearest to the route's
// median since the start, or the median request in memory. median is the median since the start, or
// 0 if the table counts no request of the route. ok is false if no other request of the route
// succeeded.
func Usual(recent *requests.Recent, s requests.Snapshot) (
	u requests.Snapshot, median time.Duration, ok bool) {
	var most routes.Summary
	for _, r := range recent.Routes().Summaries(routes.SinceStart).Routes {
		if r.Route == s.Name && r.Count > most.Count {
			most = r
		}
	}
	u, ok = requests.Usual(recent.All(), s.Name, most.P50, s.SpanID)
	return u, most.P50, ok
}
