package peers_test

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/propagation"

	"github.com/perfline/perfline/bridge/bridgehttp"
)

const (
	traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	pattern     = "/items/{id}"
	hello       = "Hello, who ever you are.\n"
)

// A served is a request to a server, and the server.
type served struct {
	name    string
	proto   string // "": HTTP/1.1; "TLS", "HTTP/2"
	method  string // "": GET
	target  string // "": /items/7
	host    string
	header  http.Header
	body    string
	public  bool // the endpoint does not continue the caller's trace
	handler http.HandlerFunc
	send    func(t *testing.T, s *httptest.Server) // nil: as the fields above say
}

func greet(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(hello)) }

func answer(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

// asWritten sends text as it is and reads whatever comes until the server hangs
// up; with "half" the sending side is closed after the text.
func asWritten(text string, half bool) func(*testing.T, *httptest.Server) {
	return func(t *testing.T, s *httptest.Server) {
		t.Helper()
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		if half {
			if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := io.ReadAll(conn); err != nil {
			t.Fatal(err)
		}
	}
}

func servedRequests() []served {
	return []served{
		{name: "GET with a query", target: "/items/7?token=secret", handler: greet},
		{name: "POST with a body", method: "POST", body: hello, handler: func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }},
		{name: "a body that is not read", method: "POST", body: hello, handler: answer(202)},
		{name: "HEAD", method: "HEAD", handler: greet},
		{name: "QUERY", method: "QUERY", body: hello, handler: greet},
		{name: "an unknown method", method: "BREW", handler: greet},
		{name: "a method in lower case", method: "get", handler: greet},
		{name: "a caller's trace", header: http.Header{"Traceparent": {traceparent}}, handler: greet},
		{name: "a caller's trace, not sampled", header: http.Header{"Traceparent": {strings.TrimSuffix(traceparent, "1") + "0"}}, handler: greet},
		{name: "a caller's trace, to a public endpoint", header: http.Header{"Traceparent": {traceparent}}, public: true, handler: greet},
		{name: "X-Forwarded-For", header: http.Header{"X-Forwarded-For": {"203.0.113.9, 198.51.100.7"}}, handler: greet},
		{name: "X-Forwarded-For with a port", header: http.Header{"X-Forwarded-For": {"203.0.113.9:51234"}}, handler: greet},
		{name: "X-Forwarded-For without an address", header: http.Header{"X-Forwarded-For": {"unknown"}}, handler: greet},
		{name: "Forwarded", header: http.Header{"Forwarded": {"for=203.0.113.9;proto=https;host=www.shop.example"}}, handler: greet},
		{name: "X-Forwarded-Proto and -Host", header: http.Header{"X-Forwarded-Proto": {"https"}, "X-Forwarded-Host": {"www.shop.example"}}, handler: greet},
		{name: "X-Forwarded-For, a blank before the comma", header: http.Header{"X-Forwarded-For": {"203.0.113.9 , 198.51.100.7"}}, handler: greet},
		{name: "a Host with a port", host: "shop.example:8443", handler: greet},
		{name: "a Host with the usual port", host: "shop.example:80", handler: greet},
		{name: "a Host without a port", host: "shop.example", handler: greet},
		{name: "an IPv6 Host", host: "[2001:db8::1]:8443", handler: greet},
		{name: "an IPv6 Host without a port", host: "[2001:db8::1]", handler: greet},
		{name: "HTTP/1.0", handler: greet, send: asWritten("GET /items/7 HTTP/1.0\r\nHost: shop.example\r\n\r\n", false)},
		{name: "HTTP/1.0 without a Host", handler: greet, send: asWritten("GET /items/7 HTTP/1.0\r\n\r\n", false)},
		{name: "TLS", proto: "TLS", handler: greet},
		{name: "HTTP/2", proto: "HTTP/2", handler: greet},
		{name: "HTTP/2, POST with a body", proto: "HTTP/2", method: "POST", body: hello, handler: func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }},
		{name: "no route", target: "/elsewhere", handler: greet},
		{name: "204", handler: answer(204)},
		{name: "404", handler: answer(404)},
		{name: "500", handler: answer(500)},
		{name: "a status above 599", handler: answer(600)},
		{name: "a second status", handler: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201); w.WriteHeader(500) }},
		{name: "nothing written", handler: func(http.ResponseWriter, *http.Request) {}},
		{name: "103 before 200", handler: func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			greet(w, r)
		}},
		{name: "a panic", handler: func(http.ResponseWriter, *http.Request) { panic("out of socks") }},
		{name: "a panic in the response", handler: func(w http.ResponseWriter, r *http.Request) { greet(w, r); panic(io.ErrNoProgress) }},
		{name: "http.ErrAbortHandler", handler: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		{name: "io.WriteString", handler: func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, hello) }},
		{name: "http.ServeContent", handler: func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, "hello.txt", time.Time{}, strings.NewReader(hello))
		}},
		{name: "a streamed response", handler: func(w http.ResponseWriter, _ *http.Request) {
			part := make([]byte, 64<<10)
			for range 16 {
				_, _ = w.Write(part)
				w.(http.Flusher).Flush()
			}
		}},
		{name: "a body cut short", handler: func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(r.Body); err != nil {
				w.WriteHeader(400)
			}
		}, send: asWritten("POST /items/7 HTTP/1.1\r\nHost: shop.example\r\nContent-Length: 10\r\n\r\nfive!", true)},
		gone(),
		{name: "a hijacked connection", handler: func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\n\r\n")
			conn.Close()
		}, send: asWritten("GET /items/7 HTTP/1.1\r\nHost: shop.example\r\n\r\n", false)},
	}
}

// gone is a client that hangs up while its request is served.
func gone() served {
	begun := make(chan struct{})
	return served{name: "a client that is gone", handler: func(w http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		<-r.Context().Done()
		greet(w, r)
	}, send: func(t *testing.T, s *httptest.Server) {
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "GET /items/7 HTTP/1.1\r\nHost: shop.example\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		<-begun
		conn.Close()
	}}
}

// telemetry serves the request once, by our middleware or by otelhttp's.
func (c served) telemetry(t *testing.T, ours bool) telemetry {
	t.Helper()
	r := newRig(t, ours)
	mux := http.NewServeMux()
	mux.HandleFunc(pattern, c.handler)
	isPublic := func(*http.Request) bool { return c.public }
	wrapped := otelhttp.NewHandler(mux, "server", otelhttp.WithTracerProvider(r.provider), otelhttp.WithMeterProvider(r.meters),
		otelhttp.WithPropagators(propagation.TraceContext{}), otelhttp.WithPublicEndpointFn(isPublic))
	if ours {
		wrapped = bridgehttp.Server{BodySizeMetrics: true, TracerProvider: r.provider, MeterProvider: r.meters, Propagators: propagation.TraceContext{},
			Timeline: r.tl, PublicEndpoint: isPublic}.Middleware(mux)
	}
	done := make(chan struct{}, 1)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { done <- struct{}{} }()
		wrapped.ServeHTTP(w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // panics
	switch c.proto {
	case "TLS":
		s.StartTLS()
	case "HTTP/2":
		s.EnableHTTP2 = true
		s.StartTLS()
	default:
		s.Start()
	}
	defer s.Close()
	if c.send != nil {
		c.send(t, s)
	} else {
		c.request(t, s)
	}
	<-done
	return r.telemetry(t, portOf(s))
}

func (c served) request(t *testing.T, s *httptest.Server) {
	t.Helper()
	target := c.target
	if target == "" {
		target = "/items/7"
	}
	var body io.Reader
	if c.body != "" {
		body = strings.NewReader(c.body)
	}
	req, err := http.NewRequestWithContext(t.Context(), c.method, s.URL+target, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = c.host
	for key, values := range c.header {
		req.Header[key] = values
	}
	resp, err := s.Client().Do(req)
	if err != nil {
		return // of a handler that panics
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // likewise
}

func portOf(s *httptest.Server) string {
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	return port
}
