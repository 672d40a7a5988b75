package bridgehttp

import (
	"cmp"
	"net/http"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/perfline/perfline/bridge/internal/received"
	"github.com/perfline/perfline/bridge/internal/serving"
)

// Texts of a request's facts, copied unparsed from the request. form.Request parses them when the
// span is encoded. Each text has at most 2 KiB, and retains no longer text in memory.
const (
	textMethod = iota
	textPath
	textHost
	textRemote // the remote address of the connection
	textAgent
	textForwarded // fields of proxies, shortened by listOf
	textForwardedFor
	textForwardedHost
)

// Numbers of a request's facts. The kind of the facts is an *exchangeMetrics.
const (
	numberVersion  = iota // major version of the protocol << 16 | minor version | flags
	numberReceived        // bytes of the request's body
	numberSent            // bytes of the response's body
)

const (
	flagHTTPS = 1 << (32 + iota) // the scheme is https
	flagOther                    // the method is otherMethod
)

// A form turns the facts of a request into attributes.
type form struct{}

var _ serving.Form = form{}

var _ serving.Request = (*request)(nil)

func (q *request) Tell(f *serving.Facts) {
	r := q.incoming
	line := len(r.Method) + len(r.RequestURI) // the memory of the method and the path
	f.Form = form{}
	var flags int64
	f.Texts[textMethod] = q.method
	if q.method == otherMethod {
		f.Texts[textMethod] = received.Bounded(r.Method, line)
		flags |= flagOther
	}
	f.Texts[textPath] = received.Bounded(r.URL.Path, line)
	f.Texts[textHost] = received.Bounded(r.Host, len(r.Host))
	f.Texts[textRemote] = received.Bounded(r.RemoteAddr, len(r.RemoteAddr))
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
	f.Form, f.Kind = form{}, q.kind
	f.Numbers[numberReceived], f.Numbers[numberSent] = q.bytesRead.Load(), q.response.written
}

func (form) Path(f *serving.Facts) string { return received.Text(f.Texts[textPath]) }

func (form) Request(f *serving.Facts, to serving.AttributeSink) {
	t := &f.Texts
	scheme := schemeHTTP
	version := f.Numbers[numberVersion]
	if version&flagHTTPS != 0 {
		scheme = schemeHTTPS
	}
	host := cmp.Or(forwarded(t[textForwarded], "host", t[textForwardedHost], hostIn), t[textHost])
	server, serverPort := received.Host(host)
	if server == "" || serverPort == defaultPort(scheme) {
		serverPort = 0
	}
	peer, peerPort := received.Address(t[textRemote]) // empty for a Unix socket
	client := cmp.Or(forwarded(t[textForwarded], "for", t[textForwardedFor], addressIn), peer)
	protocol := protocolVersion(int(version>>16&0xffff), int(version&0xffff))
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
	serving.Text(to, semconv.ClientAddressKey, client)
	serving.Int(to, semconv.NetworkPeerPortKey, int64(peerPort))
	serving.Text(to, semconv.UserAgentOriginalKey, received.Text(t[textAgent]))
	to.Text(semconv.NetworkProtocolVersionKey, protocol)
}

func (form) Answer(f *serving.Facts, to serving.AttributeSink) {
	to.KeyValues(f.Kind.(*exchangeMetrics).outcome)
	serving.Int(to, semconv.HTTPRequestBodySizeKey, f.Numbers[numberReceived])
	serving.Int(to, semconv.HTTPResponseBodySizeKey, f.Numbers[numberSent])
}

func (m *middleware) schemeOf(r *http.Request) string {
	if !m.IgnoreForwarded {
		list, own := listOf(r.Header["Forwarded"]), listOf(r.Header["X-Forwarded-Proto"])
		if scheme := forwarded(list, "proto", own, schemeIn); scheme != "" {
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

func defaultPort(scheme string) int {
	if scheme == schemeHTTPS {
		return 443
	}
	return 80
}
