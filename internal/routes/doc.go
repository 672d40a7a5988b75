// Package routes counts the requests of each route, their failures and their durations, since the
// start and in the last minutes. Sampling does not matter: unsampled requests count, too.
//
//	recent := requests.NewRecent(requests.Config{})
//	provider := bridge.NewTracerProvider(bridge.TracerProviderConfig{
//		Recorders: []bridge.Output{recent},
//	})
//	…
//	table := recent.Routes()
//	for _, s := range table.Summaries(routes.LastMinutes).Routes {
//		fmt.Println(s.Route, s.PerSecond, s.P99)
//	}
//
// A route is the name of a local root span, such as "GET /items/{id}". A [Table] holds a histogram
// of durations for each route, with four buckets in each doubling from 1 µs to an hour.
//
// # Guarantees
//
//   - [Table.Add] allocates nothing for a known route, and locks that route only.
//   - A table starts no goroutine and no timer.
//   - [Config].MaxRoutes bounds the routes of each class, which take some kilobytes each. Requests
//     of further routes count together as the route [Others].
//   - Counts and maxima are exact. Quantiles are exact to the width of a bucket, at most a quarter
//     of the value.
//   - A request belongs to the ten seconds in which it ended, by the monotonic clock. Setting the
//     system's clock moves no request.
//   - All methods may be called concurrently.
//
// # Limitations
//
//   - A request that ended before the table's last minutes counts only since the start.
//   - An end in the future counts as now. An end before the table's start counts as the start.
//   - Names are cut after 256 bytes. Routes with the same beginning count as one route then.
//   - Since the start, a heat map spans at most 60 columns: neighbours merge when there are more.
//   - A table never removes a route, so a route that gets no requests any more stays in its place.
package routes
