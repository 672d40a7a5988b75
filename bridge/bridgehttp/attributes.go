package bridgehttp

import (
	"net/http"
	"path"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/perfline/perfline/bridge/internal/received"
	"github.com/perfline/perfline/internal/text"
)

// appendRequest appends what is known of a request when it arrives.
func appendRequest(attrs []attribute.KeyValue, r *http.Request, m method) []attribute.KeyValue {
	attrs = m.append(attrs)
	scheme, port := scheme(r), 80
	if r.TLS != nil {
		port = 443
	}
	attrs = append(attrs, semconv.URLScheme(scheme), semconv.URLPath(pathOf(r)))
	if host, p := splitHostPort(r.Host); host != "" {
		attrs = append(attrs, semconv.ServerAddress(received.Part(host, len(r.Host))))
		if p > 0 && p != port {
			attrs = append(attrs, semconv.ServerPort(p))
		}
	}
	if host, p := splitHostPort(r.RemoteAddr); host != "" {
		host = text.Valid(host)
		attrs = append(attrs, semconv.NetworkPeerAddress(host), semconv.ClientAddress(clientAddress(r, host)))
		if p > 0 {
			attrs = append(attrs, semconv.NetworkPeerPort(p))
		}
	}
	if ua := r.UserAgent(); ua != "" {
		attrs = append(attrs, semconv.UserAgentOriginal(received.Text(ua)))
	}
	return append(attrs, semconv.NetworkProtocolVersion(protocolVersion(r.ProtoMajor, r.ProtoMinor)))
}

// pathOf is the request's path, a part of its first line.
func pathOf(r *http.Request) string {
	return received.Part(r.URL.Path, len(r.Method)+len(r.RequestURI))
}

// clientAddress is whom the request comes from: what the first proxy says, or
// else the peer.
func clientAddress(r *http.Request, peer string) string {
	all := r.Header.Get("X-Forwarded-For")
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

// matchedRoute returns the route of the pattern that an http.ServeMux matched. When the mux
// redirects a CONNECT from /tree to /tree/, it sets Pattern to the client's path: Go 1.26
// cleans the path before, Go 1.27 does not. That is no route, or clients would make up routes.
func matchedRoute(r *http.Request) string {
	if r.Method == http.MethodConnect && (r.Pattern == r.URL.Path+"/" || r.Pattern == path.Clean("/"+r.URL.Path)+"/") {
		return ""
	}
	return routeOf(r.Pattern)
}

// routeOf is the path part of a ServeMux pattern "METHOD host/path".
func routeOf(pattern string) string {
	for i := range len(pattern) {
		if pattern[i] == '/' {
			return pattern[i:]
		}
	}
	return ""
}
