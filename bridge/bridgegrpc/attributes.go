package bridgegrpc

import (
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"google.golang.org/grpc/peer"

	"github.com/perfline/perfline/bridge/internal/received"
	"github.com/perfline/perfline/bridge/internal/serving"
)

// The facts of a call on a server. Addresses become texts when the span is encoded.
const (
	textMethod  = iota
	textCode    // status code of the answer
	textFailure // the same code if the call failed
	textServer  // name of a server without an IP address
	textPeer    // name of a peer without an IP address
)

const (
	addressServer = iota
	addressPeer
)

// A form turns the facts of a call into attributes.
type form struct{}

var (
	_ serving.Form    = form{}
	_ serving.Request = (*call)(nil)
)

func (c *call) Tell(f *serving.Facts) {
	f.Form, f.Texts[textMethod] = form{}, c.method
	if p, ok := peer.FromContext(c.incoming); ok {
		f.Addresses[addressServer], f.Texts[textServer] = endpointOf(p.LocalAddr)
		f.Addresses[addressPeer], f.Texts[textPeer] = endpointOf(p.Addr)
	}
}

func (c *call) TellAnswer(f *serving.Facts) {
	f.Form, f.Texts[textCode], f.Texts[textFailure] = form{}, c.code, c.failure
}

func (form) Path(*serving.Facts) string { return "" }

func (form) Request(f *serving.Facts, to serving.AttributeSink) {
	server, serverPort := received.EndpointHostPort(f.Addresses[addressServer], f.Texts[textServer])
	peer, peerPort := received.EndpointHostPort(f.Addresses[addressPeer], f.Texts[textPeer])
	to.Text(semconv.RPCSystemNameKey, "grpc")
	to.Text(semconv.RPCMethodKey, f.Texts[textMethod])
	serving.Text(to, semconv.ServerAddressKey, server)
	serving.Int(to, semconv.ServerPortKey, int64(serverPort))
	serving.Text(to, semconv.NetworkPeerAddressKey, peer)
	serving.Text(to, semconv.ClientAddressKey, peer)
	serving.Int(to, semconv.NetworkPeerPortKey, int64(peerPort))
	serving.Int(to, semconv.ClientPortKey, int64(peerPort))
}

func (form) Answer(f *serving.Facts, to serving.AttributeSink) {
	to.Text(semconv.RPCResponseStatusCodeKey, f.Texts[textCode])
	serving.Text(to, semconv.ErrorTypeKey, f.Texts[textFailure])
}
