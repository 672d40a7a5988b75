package bridgehttp

import (
	"cmp"
	"net/http"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/perfline/perfline/bridge/internal/received"
	"github.com/perfline/perfline/bridge/internal/serving"
)

// attributes has the attributes of a request's span. It does not refer to the request.
type attributes struct {
	method  method
	scheme  string
	path    string
	server  string // empty if it is unknown, as peer and client
	peer    string
	client  string
	agent   string // empty without one
	version string

	serverPort, peerPort uint16 // 0 if there is none

	// The answer:
	kind           *exchangeMetrics
	received, sent int64 // bytes of bodies
}

var _ serving.Attributes = (*attributes)(nil)

// readRequest reads a request that arrives.
func (a *attributes) readRequest(q *request) {
	r := q.arriving
	a.method, a.path = q.method, pathOf(r)
	a.scheme, a.version = q.scheme(r), protocolVersion(r.ProtoMajor, r.ProtoMinor)
	at := cmp.Or(q.origin.host, r.Host)
	if host, port := received.Host(at); host != "" {
		a.server = received.Part(host, len(at))
		if port != usualPort(a.scheme) {
			a.serverPort = uint16(port)
		}
	}
	if host, port := received.Address(r.RemoteAddr); host != "" { // a Unix socket has none
		a.peer, a.peerPort = received.Part(host, len(r.RemoteAddr)), uint16(port) // middleware may have put a header there
	}
	a.client = cmp.Or(q.origin.address, a.peer)
	a.agent = received.Text(received.First(r.Header["User-Agent"]))
}

// Request implements [serving.Attributes].
func (a *attributes) Request(to serving.AttributeSink) {
	to.Text(semconv.HTTPRequestMethodKey, a.method.attr)
	serving.Text(to, semconv.HTTPRequestMethodOriginalKey, a.method.original)
	to.Text(semconv.URLSchemeKey, a.scheme)
	to.Text(semconv.URLPathKey, a.path)
	serving.Text(to, semconv.ServerAddressKey, a.server)
	serving.Int(to, semconv.ServerPortKey, int64(a.serverPort))
	serving.Text(to, semconv.NetworkPeerAddressKey, a.peer)
	serving.Text(to, semconv.ClientAddressKey, a.client)
	serving.Int(to, semconv.NetworkPeerPortKey, int64(a.peerPort))
	serving.Text(to, semconv.UserAgentOriginalKey, a.agent)
	to.Text(semconv.NetworkProtocolVersionKey, a.version)
}

// Answer implements [serving.Attributes].
func (a *attributes) Answer(to serving.AttributeSink) {
	to.KeyValues(a.kind.outcome)
	serving.Int(to, semconv.HTTPRequestBodySizeKey, a.received)
	serving.Int(to, semconv.HTTPResponseBodySizeKey, a.sent)
}

// pathOf is the request's path, a part of its first line.
func pathOf(r *http.Request) string {
	return received.Part(r.URL.Path, len(r.Method)+len(r.RequestURI))
}

// scheme is url.scheme of the request.
func (q *request) scheme(r *http.Request) string {
	switch {
	case q.origin.scheme != "":
		return q.origin.scheme
	case r.TLS != nil:
		return "https"
	default:
		return "http"
	}
}

// usualPort is the port of a URL that names none.
func usualPort(scheme string) int {
	if scheme == "https" {
		return 443
	}
	return 80
}
