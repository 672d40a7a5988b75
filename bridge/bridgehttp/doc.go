// Package bridgehttp (stable) gives each HTTP request a timeline, a span, a duration metric and an
// entry: [Middleware] on a server, [Transport] in a client.
//
//	client := &http.Client{Transport: bridgehttp.Transport(nil)}
//	err := http.ListenAndServe(addr, bridgehttp.Middleware(mux))
//
//	func (s *shop) buy(w http.ResponseWriter, r *http.Request) {
//		marks.Mark(r.Context(), "cart.empty") // an event of the request's span and timeline
//
// [Server] and [Client] add settings to these two functions. [ServerTiming] tells browsers how long
// the parts of a response took.
//
// # Spans, metrics and entries
//
//	on a server                                on a client
//	-----------                                -----------
//	server span "METHOD route"                 client span "METHOD"
//	http.server.request.duration, in seconds   http.client.request.duration, in seconds
//	navigation entry, named by the path        resource entry, named by the URL
//	Server-Timing of the response, on demand   server entries of the response's Server-Timing
//
// Names and attributes of spans and metrics follow OpenTelemetry's semantic conventions for HTTP.
// [Middleware] and [Transport] list the attributes of the entries.
//
// # Guarantees
//
//   - The request's timeline and the request's span begin at the same instant.
//   - Each request ends once: when its handler returns, panics or ends its goroutine.
//   - The navigation entry, the timings and Server-Timing are complete before the request's span
//     ends.
//   - A job may use the handler's context after the request's end. The context retains the
//     request's span, but no body, no ResponseWriter and no *http.Request. A mark of the job does
//     not appear in another request.
//   - Each call ends once: when the response's body was read, failed, was closed or was abandoned.
//   - Clients cannot invent names of spans or series of metrics. Unknown methods are _OTHER, and
//     routes come from the application. Each middleware and each transport stores the attributes of
//     at most 1024 kinds of requests.
//   - Texts of clients and of errors are cut to 2 KiB each. Queries, fragments and users of URLs
//     are left out, because they often hold secrets.
//   - The response has no field that the handler did not set, unless ServerTiming asks for one.
//   - Transport sends a copy of the caller's request, and does not change the original.
//   - A panic of a handler or of the base transport continues after the panic is recorded.
//
// # Limitations
//
//   - Bodies and headers are not recorded, except for the headers that the conventions name.
//   - The middleware does not see traffic on a hijacked connection.
//   - The middleware does not see a Content-Type or a Content-Length that an outer handler sets.
//     net/http copies a response's header on access, so the middleware reads the header only if its
//     own handler did.
//   - A body that is neither read nor closed ends its call when the garbage collector finds the
//     body, on another goroutine.
package bridgehttp
