package bridgehttp

import (
	"cmp"
	"net/http"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/perfline/perfline/bridge/internal/received"
	"github.com/perfline/perfline/bridge/internal/serving"
)

// The facts of a request. The texts are as the request has them. Request parses them when the span
// is encoded. Each text has 2 KiB at most, and keeps no longer one in memory.
const (
	textMethod = iota // as it was sent
	textPath
	textHost
	textRemote // the address that the connection comes from
	textAgent

	// What proxies say: lists by listOf.
	textForwarded
	textForwardedFor
	textForwardedHost
)

const (
	// of the protocol: the major version, shifted by 16 bits, and the minor one; with flags
	numberVersion = iota

	// Of the answer: bytes of bodies. The kind is an *exchangeMetrics.
	numberReceived
	numberSent
)

const (
	flagHTTPS = 1 << (32 + iota) // the scheme is https
	flagOther                    // the method is otherMethod
)

// form makes attributes of the facts of a request.
type form struct{}

var _ serving.Form = form{}

var _ serving.Request = (*request)(nil)

func (q *request) Tell(f *serving.Facts) {
	r := q.arriving
	line := len(r.Method) + len(r.RequestURI) // the method and the path are parts of it
	f.Form = form{}
	var flags int64
	f.Texts[textMethod] = q.method
	if q.method == otherMethod {
		f.Texts[textMethod] = received.Bounded(r.Method, line)
		flags |= flagOther
	}
	f.Texts[textPath] = received.Bounded(r.URL.Path, line)
	f.Texts[textHost], f.Texts[textRemote] = received.Bounded(r.Host, len(r.Host)),
		received.Bounded(r.RemoteAddr, len(r.RemoteAddr))
	agent := received.First(r.Header["User-Agent"])
	f.Texts[textAgent] = received.Bounded(agent, len(agent))
	if q.scheme == schemeHTTPS {
		flags |= flagHTTPS
	}
	f.Numbers[numberVersion] = flags | int64(r.ProtoMajor&0xffff)<<16 | int64(r.ProtoMinor&0xffff)
	if !q.m.IgnoreForwarded {
		f.Texts[textForwarded] = listOf(r.Header["Forwarded"])
		f.Texts[textForwardedFor] = listOf(r.Header["X-Forwarded-For"])
		f.Texts[textForwardedHost] = listOf(r.Header["X-Forwarded-Host"])
	}
}

func (q *request) TellAnswer(f *serving.Facts) {
	f.Form, f.Kind, f.Numbers[numberReceived], f.Numbers[numberSent] = form{}, q.kind,
		q.read.Load(), q.response.written
}

func (form) Request(f *serving.Facts, to serving.AttributeSink) {
	t := &f.Texts
	scheme := schemeHTTP
	version := f.Numbers[numberVersion]
	if version&flagHTTPS != 0 {
		scheme = schemeHTTPS
	}
	server, serverPort := received.Host(
		cmp.Or(forwarded(t[textForwarded], "host", t[textForwardedHost], hostIn), t[textHost]))
	if server == "" || serverPort == usualPort(scheme) {
		serverPort = 0
	}
	peer, peerPort := received.Address(t[textRemote]) // a Unix socket has none

	if version&flagOther != 0 {
		to.Text(semconv.HTTPRequestMethodKey, otherMethod)
		to.Text(semconv.HTTPRequestMethodOriginalKey, received.Text(t[textMethod]))
	} else {
		to.Text(semconv.HTTPRequestMethodKey, t[textMethod])
	}
	to.Text(semconv.URLSchemeKey, scheme)
	to.Text(semconv.URLPathKey, received.Text(t[textPath]))
	serving.Text(to, semconv.ServerAddressKey, server)
	serving.Int(to, semconv.ServerPortKey, int64(serverPort))
	serving.Text(to, semconv.NetworkPeerAddressKey, peer)
	serving.Text(to, semconv.ClientAddressKey,
		cmp.Or(forwarded(t[textForwarded], "for", t[textForwardedFor], addressIn), peer))
	serving.Int(to, semconv.NetworkPeerPortKey, int64(peerPort))
	serving.Text(to, semconv.UserAgentOriginalKey, received.Text(t[textAgent]))
	to.Text(semconv.NetworkProtocolVersionKey,
		protocolVersion(int(version>>16&0xffff), int(version&0xffff)))
}

func (form) Answer(f *serving.Facts, to serving.AttributeSink) {
	to.KeyValues(f.Kind.(*exchangeMetrics).outcome)
	serving.Int(to, semconv.HTTPRequestBodySizeKey, f.Numbers[numberReceived])
	serving.Int(to, semconv.HTTPResponseBodySizeKey, f.Numbers[numberSent])
}

// schemeOf is url.scheme of a request.
func (m *middleware) schemeOf(r *http.Request) string {
	if !m.IgnoreForwarded {
		if scheme := forwarded(listOf(r.Header["Forwarded"]), "proto",
			listOf(r.Header["X-Forwarded-Proto"]), schemeIn); scheme != "" {
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
