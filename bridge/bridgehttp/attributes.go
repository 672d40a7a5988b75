package bridgehttp

import (
	"cmp"
	"net/http"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/perfline/perfline/bridge/internal/received"
	"github.com/perfline/perfline/bridge/internal/serving"
)

// attributes has the texts from which the attributes of a request are made. It does not refer to the request, which the handler may
// change. Request parses the texts when the span is encoded. Each text has 2 KiB at most, and keeps no longer one in memory.
type attributes struct {
	method   string
	original string // the method that was sent, if method is otherMethod
	path     string
	host     string
	remote   string // the address that the connection comes from
	agent    string

	// What proxies say: lists by listOf.
	forwarded, forwardedFor, forwardedHost string

	https        bool
	major, minor uint16 // of the protocol

	// The answer:
	kind           *exchangeMetrics
	received, sent int64 // bytes of bodies
}

var _ serving.Attributes = (*attributes)(nil)

// readRequest reads a request that arrives.
func (a *attributes) readRequest(q *request) {
	r := q.arriving
	line := len(r.Method) + len(r.RequestURI) // the method and the path are parts of it
	a.method, a.https = q.method, q.scheme == schemeHTTPS
	if a.method == otherMethod {
		a.original = received.Bounded(r.Method, line)
	}
	a.path = received.Bounded(r.URL.Path, line)
	a.host, a.remote = received.Bounded(r.Host, len(r.Host)), received.Bounded(r.RemoteAddr, len(r.RemoteAddr))
	agent := received.First(r.Header["User-Agent"])
	a.agent = received.Bounded(agent, len(agent))
	a.major, a.minor = uint16(r.ProtoMajor), uint16(r.ProtoMinor)
	if !q.m.IgnoreForwarded {
		a.forwarded = listOf(r.Header["Forwarded"])
		a.forwardedFor = listOf(r.Header["X-Forwarded-For"])
		a.forwardedHost = listOf(r.Header["X-Forwarded-Host"])
	}
}

// Request implements [serving.Attributes].
func (a *attributes) Request(to serving.AttributeSink) {
	scheme := schemeHTTP
	if a.https {
		scheme = schemeHTTPS
	}
	server, serverPort := received.Host(cmp.Or(forwardedHost(a.forwarded, a.forwardedHost), a.host))
	if server == "" || serverPort == usualPort(scheme) {
		serverPort = 0
	}
	peer, peerPort := received.Address(a.remote) // a Unix socket has none

	to.Text(semconv.HTTPRequestMethodKey, a.method)
	serving.Text(to, semconv.HTTPRequestMethodOriginalKey, received.Text(a.original))
	to.Text(semconv.URLSchemeKey, scheme)
	to.Text(semconv.URLPathKey, received.Text(a.path))
	serving.Text(to, semconv.ServerAddressKey, server)
	serving.Int(to, semconv.ServerPortKey, int64(serverPort))
	serving.Text(to, semconv.NetworkPeerAddressKey, peer)
	serving.Text(to, semconv.ClientAddressKey, cmp.Or(forwardedClient(a.forwarded, a.forwardedFor), peer))
	serving.Int(to, semconv.NetworkPeerPortKey, int64(peerPort))
	serving.Text(to, semconv.UserAgentOriginalKey, received.Text(a.agent))
	to.Text(semconv.NetworkProtocolVersionKey, protocolVersion(int(a.major), int(a.minor)))
}

// Answer implements [serving.Attributes].
func (a *attributes) Answer(to serving.AttributeSink) {
	to.KeyValues(a.kind.outcome)
	serving.Int(to, semconv.HTTPRequestBodySizeKey, a.received)
	serving.Int(to, semconv.HTTPResponseBodySizeKey, a.sent)
}

// pathOf is the request's path, a part of its first line.
func pathOf(r *http.Request) string {
	return received.Text(received.Bounded(r.URL.Path, len(r.Method)+len(r.RequestURI)))
}

// schemeOf is url.scheme of a request.
func (m *middleware) schemeOf(r *http.Request) string {
	if !m.IgnoreForwarded {
		if scheme := forwardedScheme(r.Header); scheme != "" {
			return scheme
		}
	}
	if r.TLS != nil {
		return schemeHTTPS
	}
	return schemeHTTP
}

// The schemes of URLs.
const schemeHTTP, schemeHTTPS = "http", "https"

// usualPort is the port of a URL that names none.
func usualPort(scheme string) int {
	if scheme == schemeHTTPS {
		return 443
	}
	return 80
}
