// Package bridgegrpc (stable) gives gRPC calls a timeline, a span, a duration metric and an entry,
// as bridgehttp does for HTTP requests.
//
//	srv := grpc.NewServer(grpc.StatsHandler(bridgegrpc.Server{}.Handler()))
//	conn, err := grpc.NewClient(addr, creds, grpc.WithStatsHandler(bridgegrpc.Client{}.Handler()))
//
//	func (s *shop) Buy(ctx context.Context, o *Order) (*Receipt, error) {
//		marks.Mark(ctx, "cart.empty") // an event of the call's span, on the call's timeline
//
// It is a package of its own so that programs without gRPC do not import it.
//
// # What a call leaves
//
//	on a server                                      by a client
//	-----------                                      -----------
//	server span "package.Service/Method"             client span "package.Service/Method"
//	rpc.server.call.duration, in seconds             rpc.client.call.duration, in seconds
//	navigation entry on the call's own timeline      resource entry on the caller's timeline
//
// Names and attributes of spans and metrics follow OpenTelemetry's semantic conventions for RPC.
// Both entries are named "package.Service/Method" and have these attributes, named as Resource
// Timing names its own:
//
//	initiatorType     "grpc"
//	nextHopProtocol   "h2"
//	responseStatus    the status code: "OK", "NOT_FOUND", …
//	serverAddress     address and port the call went to; resource entries only
//	requestStart      the headers had arrived, or were sent
//	responseStart     the first of the answer was sent, or had arrived
//	responseEnd       the call was over: the entry's duration
//	requestBodySize   bytes of the request's messages, compressed
//	encodedBodySize   bytes of the response's messages, compressed
//	decodedBodySize   bytes of the response's messages, uncompressed
//
// The moments are durations since the entry's start. A moment that has not come is left out. Sizes
// are without framing, and sums of all messages of a stream.
//
// # Guarantees
//
//   - The call's timeline, span and navigation entry begin at the same instant.
//   - The navigation entry and the timings are complete before the call's span ends.
//   - The handler's context keeps no message of the call in memory.
//   - Every call of a registered method ends once: answered, refused, cancelled, late or cut off. A
//     client's retries are calls of their own, as gRPC reports them.
//   - A client cannot make up names. A method that the server does not have gives a span named
//     "grpc" and the method _OTHER. With a grpc.UnknownServiceHandler every method exists: metrics
//     then keep at most 1024 pairs of method and status.
//   - The package starts no goroutine, and does not change the caller's metadata.
//
// # Beside other instrumentations
//
// On a server, a handler that makes a server span (otelgrpc's, say) comes first:
//
//	grpc.NewServer(grpc.StatsHandler(otelgrpc.NewServerHandler()), grpc.StatsHandler(bridgegrpc.Server{}.Handler()))
//
// Then the call keeps that span, sampled or not, and that handler's metrics. The call gets the
// timeline, which begins when a sampled span does, and the navigation entry. A call that is served
// already passes: a handler is given twice, or grpc.Server's ServeHTTP runs under
// bridgehttp.Middleware. On a client, use one or the other: the span that is active in the context
// may be the caller's.
//
// # Limitations
//
//   - Messages and metadata are not recorded.
//   - The package does not see a call that gRPC fails before an attempt, because the context is
//     over already, for example.
//   - server.address of a client's spans is the address of the connection, and its metrics have
//     none. The conventions want the target's name, but a client learns only which of the servers
//     behind its target a call went to.
package bridgegrpc
