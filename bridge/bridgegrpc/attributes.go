package bridgegrpc

import (
	"context"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"google.golang.org/grpc/peer"

	"github.com/perfline/perfline/bridge/internal/received"
	"github.com/perfline/perfline/bridge/internal/serving"
)

// attributes has the values from which the attributes of a call on a server are made. It does not refer to the call. Addresses
// become texts when the span is encoded.
type attributes struct {
	method       string
	server, peer received.Endpoint

	// The answer:
	code   string
	failed bool
}

var _ serving.Attributes = (*attributes)(nil)

func (a *attributes) readCall(ctx context.Context, method string) {
	a.method = method
	if p, ok := peer.FromContext(ctx); ok {
		a.server, a.peer = endpointOf(p.LocalAddr), endpointOf(p.Addr)
	}
}

// Request implements [serving.Attributes].
func (a *attributes) Request(to serving.AttributeSink) {
	server, serverPort := a.server.HostPort()
	peer, peerPort := a.peer.HostPort()
	to.Text(semconv.RPCSystemNameKey, "grpc")
	to.Text(semconv.RPCMethodKey, a.method)
	serving.Text(to, semconv.ServerAddressKey, server)
	serving.Int(to, semconv.ServerPortKey, int64(serverPort))
	serving.Text(to, semconv.NetworkPeerAddressKey, peer)
	serving.Text(to, semconv.ClientAddressKey, peer)
	serving.Int(to, semconv.NetworkPeerPortKey, int64(peerPort))
	serving.Int(to, semconv.ClientPortKey, int64(peerPort))
}

// Answer implements [serving.Attributes].
func (a *attributes) Answer(to serving.AttributeSink) {
	to.Text(semconv.RPCResponseStatusCodeKey, a.code)
	if a.failed {
		to.Text(semconv.ErrorTypeKey, a.code)
	}
}

var _ serving.Request = (*call)(nil)

// Attributes implements [serving.Request].
func (c *call) Attributes(to serving.AttributeSink) {
	var a attributes
	a.readCall(c.arriving, c.method)
	a.Request(to)
}

// Keep implements [serving.Request].
func (c *call) Keep() serving.Attributes {
	c.attrs = new(attributes)
	c.attrs.readCall(c.arriving, c.method)
	return c.attrs
}
