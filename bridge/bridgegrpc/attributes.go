package bridgegrpc

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"google.golang.org/grpc/peer"

	"github.com/perfline/perfline/bridge/internal/serving"
)

// attributes are those of the span of a call that a server handles. They do not refer to the call.
type attributes struct {
	method       string
	server, peer string // hosts; empty if they are unknown

	serverPort, peerPort int // 0 if they are unknown

	// Of the answer.
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

// AppendRequest implements [serving.Attributes].
func (a *attributes) AppendRequest(attrs []attribute.KeyValue) []attribute.KeyValue {
	attrs = append(attrs, semconv.RPCSystemNameGRPC, semconv.RPCMethod(a.method))
	if a.server != "" {
		attrs = append(attrs, semconv.ServerAddress(a.server))
		if a.serverPort > 0 {
			attrs = append(attrs, semconv.ServerPort(a.serverPort))
		}
	}
	if a.peer != "" {
		attrs = append(attrs, semconv.NetworkPeerAddress(a.peer), semconv.ClientAddress(a.peer))
		if a.peerPort > 0 {
			attrs = append(attrs, semconv.NetworkPeerPort(a.peerPort), semconv.ClientPort(a.peerPort))
		}
	}
	return attrs
}

// AppendAnswer implements [serving.Attributes].
func (a *attributes) AppendAnswer(attrs []attribute.KeyValue) []attribute.KeyValue {
	attrs = append(attrs, semconv.RPCResponseStatusCode(a.code))
	if a.failed {
		attrs = append(attrs, semconv.ErrorTypeKey.String(a.code))
	}
	return attrs
}

// An arrival is a call that arrives.
type arrival struct {
	ctx  context.Context //nolint:containedctx // which has the peer
	call *call
}

// AppendAttributes implements [serving.Request].
func (r *arrival) AppendAttributes(attrs []attribute.KeyValue) []attribute.KeyValue {
	var a attributes
	a.readCall(r.ctx, r.call.method)
	return a.AppendRequest(attrs)
}

// Keep implements [serving.Request].
func (r *arrival) Keep() serving.Attributes {
	a := new(attributes)
	a.readCall(r.ctx, r.call.method)
	r.call.attrs = a
	return a
}
