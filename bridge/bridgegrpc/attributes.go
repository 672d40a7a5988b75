package bridgegrpc

import (
	"context"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"google.golang.org/grpc/peer"

	"github.com/perfline/perfline/bridge/internal/serving"
)

// attributes has the attributes of the span of a call on a server. It does not refer to the call.
type attributes struct {
	method       string
	server, peer string // hosts; empty if they are unknown

	serverPort, peerPort int // 0 if they are unknown

	// The answer:
	code   string
	failed bool
}

var _ serving.Attributes = (*attributes)(nil)

func (a *attributes) readCall(ctx context.Context, method string) {
	a.method = method
	if p, ok := peer.FromContext(ctx); ok {
		a.server, a.serverPort = hostPort(p.LocalAddr)
		a.peer, a.peerPort = hostPort(p.Addr)
	}
}

// Request implements [serving.Attributes].
func (a *attributes) Request(to serving.AttributeSink) {
	to.Text(semconv.RPCSystemNameKey, "grpc")
	to.Text(semconv.RPCMethodKey, a.method)
	serving.Text(to, semconv.ServerAddressKey, a.server)
	serving.Int(to, semconv.ServerPortKey, int64(a.serverPort))
	serving.Text(to, semconv.NetworkPeerAddressKey, a.peer)
	serving.Text(to, semconv.ClientAddressKey, a.peer)
	serving.Int(to, semconv.NetworkPeerPortKey, int64(a.peerPort))
	serving.Int(to, semconv.ClientPortKey, int64(a.peerPort))
}

// Answer implements [serving.Attributes].
func (a *attributes) Answer(to serving.AttributeSink) {
	to.Text(semconv.RPCResponseStatusCodeKey, a.code)
	if a.failed {
		to.Text(semconv.ErrorTypeKey, a.code)
	}
}

// An arrival is a call that arrives.
type arrival struct {
	ctx  context.Context //nolint:containedctx // which has the peer
	call *call
}

// Attributes implements [serving.Request].
func (r *arrival) Attributes(to serving.AttributeSink) {
	var a attributes
	a.readCall(r.ctx, r.call.method)
	a.Request(to)
}

// Keep implements [serving.Request].
func (r *arrival) Keep() serving.Attributes {
	a := new(attributes)
	a.readCall(r.ctx, r.call.method)
	r.call.attrs = a
	return a
}
