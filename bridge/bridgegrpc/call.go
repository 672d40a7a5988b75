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

// The program's code that is counted if it panics, beside what package serving counts. gRPC calls
// handlers before the program's interceptors, so that a panic in a handler would end the program.
const (
	ofFilter  = "the Filter of a bridgegrpc.Server or Client"
	ofPublic  = "PublicEndpoint of a bridgegrpc.Server"
	ofAddress = "an address of a listener or a dialer"
	ofError   = "an error of a gRPC call"
)

// A call is the state of one RPC, from its first event to its last one. The events of a stream come
// concurrently.
type call struct {
	method  string           // "package.Service/Method"
	tl      *record.Timeline // a server's call's own, a client's caller's
	start   time.Duration    // since tl's origin
	span    trace.Span       // nil when the call had one already
	code    string           // of the answer
	failure string           // error.type of the answer; empty if the call did not fail

	arriving context.Context //nolint:containedctx // has the peer. It is set while a server's span starts
	server   net.Addr        // of a client: set before request, read after it

	closes  bool        // the timeline is not the span's, and has to be closed
	begun   bool        // on a server: a handler runs. Set before it does, so that it needs no lock
	trailed atomic.Bool // of a server: the status was sent

	// when they were, since start, plus one; 0 when they have not come
	request, response atomic.Int64

	requestSize, encodedSize, decodedSize atomic.Int64 // in bytes
}

// note notes now as a moment that comes once, and returns it with first set.
func (c *call) note(moment *atomic.Int64) (at time.Duration, first bool) {
	if moment.Load() != 0 {
		return 0, false
	}
	at = c.tl.Now() - c.start
	return at, moment.CompareAndSwap(0, int64(at)+1)
}

// record records the entry of the call, which ended at end.
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
	// Events of a call that is cut off may still come in: none lies after its end.
	if at := c.response.Load(); at != 0 {
		attrs = append(attrs,
			slog.Duration(record.ResponseStart, min(time.Duration(at-1), end-c.start)))
	}
	attrs = append(attrs,
		slog.Duration(record.ResponseEnd, end-c.start),
		slog.Int64("requestBodySize", c.requestSize.Load()),
		slog.Int64("encodedBodySize", c.encodedSize.Load()),
		slog.Int64("decodedBodySize", c.decodedSize.Load()))
	place.Record(typ, c.method, c.start, end-c.start, attrs)
}

// methodOf is the method as the conventions want it. Clients can send any bytes, megabytes of them.
// OTLP receivers refuse all spans that are sent with one that is not UTF-8.
func methodOf(info *stats.RPCTagInfo) string {
	return received.Text(strings.TrimPrefix(info.FullMethodName, "/"))
}

// connections takes the events of connections, which are of no interest here.
type connections struct{}

func (connections) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (connections) HandleConn(context.Context, stats.ConnStats)                       {}

// addressOf returns what a network address says, "" if it panics.
func addressOf(a net.Addr) (text string) {
	record.ProcessTimeline().Try(ofAddress, func() { text = a.String() })
	return text
}

// endpointOf returns what a network address is the address of, and nothing if it panics.
func endpointOf(a net.Addr) (ip netip.AddrPort, name string) {
	record.ProcessTimeline().Try(ofAddress, func() { ip, name = received.EndpointOf(a) })
	return ip, name
}
