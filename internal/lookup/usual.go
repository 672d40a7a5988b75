package lookup

import (
	"time"

	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/routes"
)

// Usual returns a typical request of the route of s, for a comparison with s. The typical request
// is the request in memory with the duration nearest to median. median is the route's median
// duration since the start of the program. Usual ignores failed requests and s. ok is false if no
// request remains.
//
// If the table of routes counts no request of the route, median is 0. Usual then returns the
// request with the median duration in memory.
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
