// Package routes counts the requests of each route: how many, how many failed, and how long they
// took, since the start and in the last minutes. It needs no sampled request.
//
//	recent := requests.NewRecent(requests.Config{})
//	provider := bridge.NewTracerProvider(bridge.TracerProviderConfig{Recorders: []bridge.Output{recent}})
//	…
//	table := recent.Routes()
//	for _, s := range table.Summaries(routes.LastMinutes).Routes {
//		fmt.Println(s.Route, s.PerSecond, s.P99)
//	}
//
// A route is the name of a local root span, as "GET /items/{id}". A [Table] has a histogram of
// durations for each route, with four buckets in each doubling of the duration, from 1 µs to an
// hour.
//
// # Guarantees
//
//   - [Table.Add] allocates nothing for a known route. It takes one lock, which belongs to the
//     route.
//   - A table has no goroutine and no timer.
//   - Memory is bounded: [Config].MaxRoutes routes of each class, some kilobytes each. Requests of
//     further routes count together as the route [Others].
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
//   - Names are cut after 256 bytes. Routes with the same beginning are one route then.
//   - Since the start, a heat map has at most 60 columns: neighbours merge when there are more.
//   - A route is never forgotten, so that it has its place also when it gets no requests any more.
package routes
