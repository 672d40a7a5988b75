package peers_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/propagation"

	"github.com/perfline/perfline/bridge/bridgehttp"
)

// A called is a request that a client makes, and the server it makes it to.
type called struct {
	name    string
	proto   string // as in served
	handler http.HandlerFunc
	method  string                            // "": GET
	address string                            // "": http://127.0.0.1:PORT/items/7
	body    func(*http.Request) chan struct{} // puts a body in; the channel tells that it was closed
	use     func(*testing.T, *http.Response)  // nil: reads it all
	ctx     func(t *testing.T) (context.Context, context.CancelFunc)
	gone    bool  // the server is shut down before
	dialled error // what there is instead of a connection
}

// text is a request's body that tells when it was closed.
type text struct {
	io.Reader
	closed chan struct{}
}

func (b text) Close() error {
	close(b.closed)
	return nil
}

func withBody(known bool) func(*http.Request) chan struct{} {
	return func(r *http.Request) chan struct{} {
		b := text{strings.NewReader(hello), make(chan struct{})}
		r.Body = b
		r.ContentLength = -1
		if known {
			r.ContentLength = int64(len(hello))
		}
		return b.closed
	}
}

func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	_, _ = w.Write(body)
}

func calledRequests() []called {
	return []called{
		{name: "GET with a query", address: "http://me:secret@127.0.0.1:PORT/items/7?token=secret#part", handler: greet},
		{name: "HEAD", method: "HEAD", handler: greet},
		{name: "POST with a body", method: "POST", body: withBody(true), handler: echo},
		{name: "POST, of unknown length", method: "POST", body: withBody(false), handler: echo},
		{name: "QUERY", method: "QUERY", handler: greet},
		{name: "an unknown method", method: "BREW", handler: greet},
		{name: "the usual port", address: "http://shop.example/items/7", handler: greet},
		{name: "TLS", proto: "TLS", handler: greet},
		{name: "TLS, the usual port", proto: "TLS", address: "https://example.com/items/7", handler: greet},
		{name: "HTTP/2", proto: "HTTP/2", handler: greet},
		{name: "204", handler: answer(204)},
		{name: "404", handler: answer(404)},
		{name: "500", handler: answer(500)},
		{name: "a redirect", handler: func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/items/7" {
				http.Redirect(w, r, "/items/8", http.StatusFound)
				return
			}
			greet(w, r)
		}},
		{name: "gzip", handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, strings.Repeat(hello, 100))
			_ = z.Close()
		}},
		{name: "a body closed early", handler: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1<<20)) },
			use: func(t *testing.T, resp *http.Response) {
				if _, err := io.ReadFull(resp.Body, make([]byte, 100)); err != nil {
					t.Error(err)
				}
			}},
		{name: "a body cut short", handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, hello)
		}, use: func(t *testing.T, resp *http.Response) {
			if _, err := io.ReadAll(resp.Body); err == nil {
				t.Error("the body was not cut short")
			}
		}},
		{name: "no server", handler: greet, gone: true},
		{name: "a wrapped error", handler: greet, dialled: fmt.Errorf("no socks: %w", &net.OpError{Op: "dial", Err: io.ErrUnexpectedEOF})},
		cancelledInBody(), cancelledBefore(),
	}
}

// cancelledInBody is a caller that gives up when it has read the first part.
func cancelledInBody() called {
	var cancel context.CancelFunc
	return called{name: "cancelled in the body", handler: func(w http.ResponseWriter, r *http.Request) {
		greet(w, r)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}, ctx: func(t *testing.T) (ctx context.Context, _ context.CancelFunc) {
		ctx, cancel = context.WithCancel(t.Context())
		return ctx, cancel
	}, use: func(t *testing.T, resp *http.Response) {
		if _, err := io.ReadFull(resp.Body, make([]byte, len(hello))); err != nil {
			t.Error(err)
		}
		cancel()
		if _, err := io.ReadAll(resp.Body); err == nil {
			t.Error("the body came to its end")
		}
	}}
}

// cancelledBefore is a caller that gives up while the server thinks.
func cancelledBefore() called {
	var cancel context.CancelFunc
	return called{name: "cancelled before the response", handler: func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}, ctx: func(t *testing.T) (ctx context.Context, _ context.CancelFunc) {
		ctx, cancel = context.WithCancel(t.Context())
		return ctx, cancel
	}}
}

// telemetry makes the request once, through our transport or through otelhttp's.
func (c called) telemetry(t *testing.T, ours bool) telemetry {
	t.Helper()
	r := newRig(t, ours)
	s := httptest.NewUnstartedServer(c.handler)
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
	base := s.Client().Transport.(*http.Transport).Clone()
	defer base.CloseIdleConnections()
	base.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		if c.dialled != nil {
			return nil, c.dialled
		}
		return (&net.Dialer{}).DialContext(ctx, network, s.Listener.Addr().String())
	}
	client := &http.Client{Transport: http.RoundTripper(otelhttp.NewTransport(base, otelhttp.WithTracerProvider(r.provider),
		otelhttp.WithMeterProvider(r.meters), otelhttp.WithPropagators(propagation.TraceContext{})))}
	if ours {
		client.Transport = bridgehttp.Client{BodySizeMetrics: true, TracerProvider: r.provider, MeterProvider: r.meters, Propagators: propagation.TraceContext{}}.Transport(base)
	}
	if c.gone {
		s.Close()
	}
	c.request(t, client, s)
	return r.telemetry(t, portOf(s))
}

func (c called) request(t *testing.T, client *http.Client, s *httptest.Server) {
	t.Helper()
	ctx, cancel := t.Context(), context.CancelFunc(func() {})
	if c.ctx != nil {
		ctx, cancel = c.ctx(t)
	}
	defer cancel()
	address := strings.ReplaceAll(c.address, "PORT", portOf(s))
	if address == "" {
		address = s.URL + "/items/7"
	}
	req, err := http.NewRequestWithContext(ctx, c.method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	var closed chan struct{}
	if c.body != nil {
		closed = c.body(req)
	}
	resp, err := client.Do(req)
	if closed != nil {
		<-closed // otelhttp's metrics of requests with a body come with its end
	}
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if c.use != nil {
		c.use(t, resp)
		return
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Error(err)
	}
}
