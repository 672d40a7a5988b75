// Package bridgegrpc (stable) gives each gRPC call a timeline, a span, a duration metric and an
// entry, as bridgehttp does for HTTP requests.
//
//	srv := grpc.NewServer(grpc.StatsHandler(bridgegrpc.Server{}.Handler()))
//	conn, err := grpc.NewClient(addr, creds, grpc.WithStatsHandler(bridgegrpc.Client{}.Handler()))
//
//	func (s *shop) Buy(ctx context.Context, o *Order) (*Receipt, error) {
//		marks.Mark(ctx, "cart.empty") // an event of the call's span, on the call's timeline
//
// Programs that do not import this package do not link gRPC through it.
//
// # Spans, metrics and entries
//
//	on a server                                      by a client
//	-----------                                      -----------
//	server span "package.Service/Method"             client span "package.Service/Method"
//	rpc.server.call.duration, in seconds             rpc.client.call.duration, in seconds
//	navigation entry on the call's own timeline      resource entry on the caller's timeline
//
// Names and attributes of spans and metrics follow OpenTelemetry's semantic conventions for RPC.
// Both entries are named "package.Service/Method". Their attributes are named as in Resource
// Timing:
//
//	initiatorType     "grpc"
//	nextHopProtocol   "h2"
//	responseStatus    the status code: "OK", "NOT_FOUND", …
//	serverAddress     address and port of the server; resource entries only
//	requestStart      the headers arrived, or were sent
//	responseStart     the first part of the answer was sent, or arrived
//	responseEnd       the call ended: the entry's duration
//	requestBodySize   bytes of the request's messages, compressed
//	encodedBodySize   bytes of the response's messages, compressed
//	decodedBodySize   bytes of the response's messages, uncompressed
//
// The moments are durations since the entry's start. A moment that was not reached is absent. Sizes
// exclude framing, and are sums of all messages of a stream.
//
// # Guarantees
//
//   - The call's timeline, span and navigation entry begin at the same instant.
//   - The navigation entry and the timings are complete before the call's span ends.
//   - The handler's context does not retain messages of the call.
//   - Every call of a registered method ends once: answered, refused, cancelled, late or cut off.
//     Each retry of a client is a call, as gRPC reports retries.
//   - Clients cannot invent names. A call of an unknown method gets a span named "grpc" and the
//     method _OTHER. With a grpc.UnknownServiceHandler every method is known: metrics then store at
//     most 1024 pairs of method and status.
//   - The package starts no goroutine, and does not change the caller's metadata.
//
// # Beside other instrumentations
//
// On a server, list a handler that makes a server span (otelgrpc's, say) first:
//
//	grpc.NewServer(
//		grpc.StatsHandler(otelgrpc.NewServerHandler()),
//		grpc.StatsHandler(bridgegrpc.Server{}.Handler()))
//
// The call then keeps that span, sampled or not, and that handler's metrics. The call gets the
// timeline, which begins when a sampled span does, and the navigation entry. A call that a handler
// already serves passes unchanged: the same handler is registered twice, or grpc.Server's ServeHTTP
// runs under bridgehttp.Middleware. On a client, use one or the other: the active span of the
// context may be the caller's.
//
// # Limitations
//
//   - Messages and metadata are not recorded.
//   - The package does not see a call that gRPC fails before an attempt, for example because the
//     context has ended.
//   - server.address of a client's span is the address of the connection, and metrics of clients
//     lack server.address. The conventions want the target's name, but gRPC tells a client only the
//     chosen server behind its target.
package bridgegrpc
