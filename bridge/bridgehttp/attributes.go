package bridgehttp

import (
	"net/http"
	"strings"

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
func (a *attributes) readRequest(r *http.Request, m method) {
	a.method, a.path = m, pathOf(r)
	a.scheme, a.version = scheme(r), protocolVersion(r.ProtoMajor, r.ProtoMinor)
	if host, port := received.HostPort(r.Host); host != "" {
		a.server = received.Part(host, len(r.Host))
		if port != usualPort(a.scheme) {
			a.serverPort = uint16(port)
		}
	}
	if host, port := received.HostPort(r.RemoteAddr); host != "" {
		a.peer, a.peerPort = received.Part(host, len(r.RemoteAddr)), uint16(port) // middleware may have put a header there
		a.client = clientAddress(r, a.peer)
	}
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

// clientAddress is whom the request comes from: what the first proxy says, or
// else the peer.
func clientAddress(r *http.Request, peer string) string {
	all := received.First(r.Header["X-Forwarded-For"])
	first, _, _ := strings.Cut(all, ",")
	if first = strings.TrimSpace(first); first != "" {
		return received.Part(first, len(all))
	}
	return peer
}

// scheme is url.scheme of a request received.
func scheme(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// usualPort is the port of a URL that names none.
func usualPort(scheme string) int {
	if scheme == "https" {
		return 443
	}
	return 80
}
