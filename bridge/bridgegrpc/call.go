package bridgegrpc

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"

	"github.com/perfline/perfline/bridge/internal/received"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

// Names of user code, for counts of its panics. Package serving names further code. A panic in a
// handler would end the program, because gRPC calls handlers outside of the program's interceptors.
const (
	ofFilter  = "the Filter of a bridgegrpc.Server or Client"
	ofPublic  = "PublicEndpoint of a bridgegrpc.Server"
	ofAddress = "an address of a listener or a dialer"
	ofError   = "an error of a gRPC call"
)

// A call is the state of one RPC, from its first event to its last one. The events of a stream are
// concurrent.
type call struct {
	method  string           // "package.Service/Method"
	tl      *record.Timeline // on a server the call's, on a client the caller's
	start   time.Duration    // on tl
	span    trace.Span       // nil under a span of another instrumentation
	code    string           // status code of the answer
	failure string           // error.type of the answer; empty if the call did not fail

	incoming context.Context //nolint:containedctx // contains the peer; set only while a server's span starts
	server   net.Addr        // on a client: written before request is, and read after request is

	ownsTimeline   bool        // bridgegrpc made the timeline, and closes it
	handlerStarted bool        // on a server: written before the handler starts, so without a lock
	statusSent     atomic.Bool // on a server

	request, response atomic.Int64 // moments since start, plus one; 0: not reached

	requestSize, encodedSize, decodedSize atomic.Int64 // in bytes
}

// note records the first occurrence of a moment. It returns false for later occurrences.
func (c *call) note(moment *atomic.Int64) (at time.Duration, first bool) {
	if moment.Load() != 0 {
		return 0, false
	}
	at = c.tl.Now() - c.start
	return at, moment.CompareAndSwap(0, int64(at)+1)
}

// record records the entry of a call that ended at end.
func (c *call) record(ctx context.Context, typ record.Type, code codes.Code, end time.Duration) {
	var place record.Place
	place.Locate(ctx)
	place = place.On(c.tl)
	if !place.Wants(typ) {
		return
	}
	var all [10]slog.Attr
	attrs := append(all[:0],
		slog.String(observer.InitiatorKey, "grpc"),
		slog.String("nextHopProtocol", "h2"),
		slog.String("responseStatus", codeName(code)))
	if at := c.request.Load(); at != 0 {
		if c.server != nil {
			attrs = append(attrs, slog.String("serverAddress", addressOf(c.server)))
		}
		attrs = append(attrs, slog.Duration(record.RequestStart, time.Duration(at-1)))
	}
	if at := c.response.Load(); at != 0 {
		at := min(time.Duration(at-1), end-c.start) // a late event of an aborted call
		attrs = append(attrs, slog.Duration(record.ResponseStart, at))
	}
	attrs = append(attrs,
		slog.Duration(record.ResponseEnd, end-c.start),
		slog.Int64("requestBodySize", c.requestSize.Load()),
		slog.Int64("encodedBodySize", c.encodedSize.Load()),
		slog.Int64("decodedBodySize", c.decodedSize.Load()))
	place.Record(typ, c.method, c.start, end-c.start, attrs)
}

// methodOf returns the method by the conventions. The text is bounded and valid UTF-8, because
// clients can send megabytes of any bytes, and OTLP receivers refuse whole requests with invalid
// UTF-8.
func methodOf(info *stats.RPCTagInfo) string {
	return received.Text(strings.TrimPrefix(info.FullMethodName, "/"))
}

// connections ignores the events of connections.
type connections struct{}

func (connections) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (connections) HandleConn(context.Context, stats.ConnStats)                       {}

// addressOf returns the text of a network address, or "" if the address panics.
func addressOf(a net.Addr) (text string) {
	record.ProcessTimeline().Try(ofAddress, func() { text = a.String() })
	return text
}

// endpointOf returns the endpoint of a network address, or zero values if the address panics.
func endpointOf(a net.Addr) (ip netip.AddrPort, name string) {
	record.ProcessTimeline().Try(ofAddress, func() { ip, name = received.EndpointOf(a) })
	return ip, name
}
