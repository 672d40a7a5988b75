package bridgehttp_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// server is what serves the rig's requests.
func (r *rig) server() bridgehttp.Server {
	return bridgehttp.Server{TracerProvider: r.provider, Propagators: propagation.TraceContext{}, Timeline: r.tl}
}

func (r *rig) wrap(h http.Handler) http.Handler {
	return r.server().Middleware(h)
}

func (r *rig) serve(h http.HandlerFunc, pattern string, req *http.Request) *httptest.ResponseRecorder {
	mux := http.NewServeMux()
	mux.HandleFunc(pattern, h)
	w := httptest.NewRecorder()
	r.wrap(mux).ServeHTTP(w, req)
	return w
}

func tag(s sdktrace.ReadOnlySpan, key string) string {
	for _, kv := range s.Attributes() {
		if string(kv.Key) == key {
			return kv.Value.String()
		}
	}
	return ""
}

func TestMiddlewareSpan(t *testing.T) {
	ok := func(http.ResponseWriter, *http.Request) {}
	answer := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	get := func(change func(*http.Request)) *http.Request {
		req := httptest.NewRequest(http.MethodGet, "http://shop.example:8443/x/7?secret=1", nil)
		if change != nil {
			change(req)
		}
		return req
	}
	for _, c := range []struct {
		name    string
		pattern string
		handler http.HandlerFunc
		req     *http.Request
		span    string
		status  codes.Code
		tags    map[string]string
	}{
		{"route from the pattern", "GET /x/{id}", ok, get(nil), "GET /x/{id}", codes.Unset, map[string]string{
			"http.request.method": "GET", "http.route": "/x/{id}", "http.response.status_code": "200", "url.scheme": "http", "url.path": "/x/7",
			"url.query": "", "server.address": "shop.example", "server.port": "8443", "network.peer.address": "192.0.2.1",
			"network.peer.port": "1234", "client.address": "192.0.2.1", "network.protocol.version": "1.1", "error.type": ""}},
		{"host in the pattern", "shop.example/x/{id}", ok, get(nil), "GET /x/{id}", codes.Unset, map[string]string{"http.route": "/x/{id}"}},
		{"no match", "GET /y", ok, get(nil), "GET", codes.Unset, map[string]string{"http.route": "", "http.response.status_code": "404"}},
		{"client error is no error of the server", "/x/{id}", answer(400), get(nil), "GET /x/{id}", codes.Unset, map[string]string{"http.response.status_code": "400", "error.type": ""}},
		{"server error", "/x/{id}", answer(503), get(nil), "GET /x/{id}", codes.Error, map[string]string{"http.response.status_code": "503", "error.type": "503"}},
		{"the first status counts", "/x/{id}", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201); w.WriteHeader(500) }, get(nil), "GET /x/{id}", codes.Unset, map[string]string{"http.response.status_code": "201"}},
		{"1xx precede it", "/x/{id}", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); w.WriteHeader(204) }, get(nil), "GET /x/{id}", codes.Unset, map[string]string{"http.response.status_code": "204"}},
		{"unknown method", "/x/{id}", ok, get(func(r *http.Request) { r.Method = "BREW" }), "HTTP /x/{id}", codes.Unset, map[string]string{"http.request.method": "_OTHER", "http.request.method_original": "BREW"}},
		{"TLS and HTTP/2", "/x/{id}", ok, get(func(r *http.Request) { r.TLS, r.ProtoMajor = &tls.ConnectionState{}, 2; r.Host = "h:443" }), "GET /x/{id}", codes.Unset, map[string]string{"url.scheme": "https", "network.protocol.version": "2", "server.port": ""}},
		{"user agent, IPv6", "/x/{id}", ok, get(func(r *http.Request) { r.Header.Set("User-Agent", "ua"); r.RemoteAddr = "[::1]:99" }), "GET /x/{id}", codes.Unset, map[string]string{"user_agent.original": "ua", "network.peer.address": "::1", "network.peer.port": "99"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := withProcessor(t)
			r.serve(c.handler, c.pattern, c.req)
			r.flush(t)
			s := r.got.one(t, c.span)
			if s.SpanKind() != trace.SpanKindServer || s.Status().Code != c.status {
				t.Errorf("kind %v, status %v, want server, %v", s.SpanKind(), s.Status().Code, c.status)
			}
			for key, want := range c.tags {
				if got := tag(s, key); got != want {
					t.Errorf("%s is %q, want %q", key, got, want)
				}
			}
		})
	}
}

// Routes are the application's: a client makes none up, whatever it asks for.
func TestMiddlewareRouteOfCONNECT(t *testing.T) {
	for _, c := range []struct{ name, path, want string }{
		{"matched", "/shelf/7/x", "/shelf/{id}/"},
		{"redirected", "/shelf/7", ""},
		{"redirected from a path that is not clean", "/shelf/..", ""},
		{"redirected from a path that looks like a pattern", "/shelf/{id}", ""},
		{"no match", "/nowhere", ""},
		{"a host, as of a proxy", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := withProcessor(t)
			req := httptest.NewRequest(http.MethodConnect, "http://shop.example/", nil)
			req.URL.Path = c.path
			r.serve(func(http.ResponseWriter, *http.Request) {}, "/shelf/{id}/", req)
			r.flush(t)
			spans := r.got.all()
			if len(spans) != 1 {
				t.Fatalf("spans %v, want one", r.got.names())
			}
			want := strings.TrimSpace("CONNECT " + c.want)
			if got := tag(spans[0], "http.route"); got != c.want || spans[0].Name() != want {
				t.Errorf("span %q has route %q, want %q and %q", spans[0].Name(), got, want, c.want)
			}
		})
	}
}

// Strangers cannot choose span names or metric series: the path of a redirected CONNECT is none of them.
func TestMiddlewareOfManyCONNECTs(t *testing.T) {
	m := withMeter(t)
	server := m.server()
	server.MeterProvider = m.meters
	mux := http.NewServeMux()
	mux.HandleFunc("/shelf/{id}/", func(http.ResponseWriter, *http.Request) {})
	s := m.open(t, "http/1.1", server.Middleware(mux))
	const requests = 300
	for i := range requests {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "CONNECT /shelf/secret-%d%%2F..%%2Fb HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n", i)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || resp.StatusCode != http.StatusTemporaryRedirect {
			t.Fatalf("got %v, %v, want a redirect", resp, err)
		}
		resp.Body.Close()
		conn.Close()
	}
	s.handlers.Wait()
	m.flush(t)
	names, series := map[string]int{}, 0
	for _, name := range m.got.names() {
		names[name]++
	}
	for _, l := range m.collect(t) {
		if strings.Contains(l, "http.request.method=CONNECT") {
			series++
		}
	}
	if len(names) != 1 || names["CONNECT"] != requests || series != 1 {
		t.Errorf("%d spans have %d names and %d metric series, want %d named CONNECT and one series", len(m.got.all()), len(names), series, requests)
	}
}

func TestMiddlewareTimeline(t *testing.T) {
	r := withProcessor(t)
	var tl *observer.Timeline
	r.serve(func(_ http.ResponseWriter, req *http.Request) {
		tl = observer.FromContext(req.Context())
		marks.Mark(req.Context(), "m")
		if got := len(tl.Entries()); got != 1 {
			t.Errorf("%d entries in the request, want 1", got)
		}
	}, "/", httptest.NewRequest("GET", "/", nil))
	r.flush(t)
	s := r.got.one(t, "GET /")
	if (*record.Timeline)(tl).Parent() != (*record.Timeline)(r.tl) || !tl.Origin().Equal(s.StartTime()) {
		t.Errorf("the request's timeline starts at %v, its span at %v", tl.Origin(), s.StartTime())
	}
	if got := s.Events(); len(got) != 1 {
		t.Errorf("events %v", got)
	}
	(*record.Timeline)(tl).Record(record.Mark, "after the request", 0, 0, nil) // a goroutine that outlives it
	if r.tl.Stats()[observer.Mark].Recorded != 2 {
		t.Error("a mark after the request was not recorded")
	}
	if _, err := tl.Observe(func(observer.List) {}, observer.Options{Type: observer.Mark}); err == nil {
		t.Error("the timeline can be observed though its request is over")
	}
}

func TestMiddlewarePropagation(t *testing.T) {
	const id, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for _, c := range []struct {
		name, header string
		spans        int
		joined       bool
	}{
		{"sampled", "00-" + id + "-" + parent + "-01", 2, true},
		{"not sampled", "00-" + id + "-" + parent + "-00", 0, true},
		{"malformed", "00-xyz", 2, false},
		{"none", "", 2, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := withProcessor(t)
			req := httptest.NewRequest("GET", "/", nil)
			req.Header.Set("traceparent", c.header)
			r.serve(func(_ http.ResponseWriter, req *http.Request) { marks.Time(req.Context(), "leaf").End() }, "/", req)
			r.flush(t)
			if n := len(r.got.all()); n != c.spans {
				t.Fatalf("%d spans, want %d", n, c.spans)
			}
			if c.spans > 0 {
				s := r.got.one(t, "GET /")
				if joined := s.SpanContext().TraceID().String() == id && s.Parent().SpanID().String() == parent; joined != c.joined {
					t.Errorf("trace %s, parent %s, want joined %v", s.SpanContext().TraceID(), s.Parent().SpanID(), c.joined)
				}
			}
		})
	}
}

// An ownPropagator reads the trace from a header that it does not name among its fields, as contrib's b3 does.
type ownPropagator struct{ propagation.TraceContext }

func (ownPropagator) Fields() []string { return nil }
func (p ownPropagator) Extract(ctx context.Context, c propagation.TextMapCarrier) context.Context {
	return p.TraceContext.Extract(ctx, propagation.MapCarrier{"traceparent": c.Get("X-Own-Trace")})
}

// A propagator of the program's reads what it likes, also among others.
func TestMiddlewareWithAPropagatorOfItsOwn(t *testing.T) {
	const id, caller = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for name, p := range map[string]propagation.TextMapPropagator{
		"alone": ownPropagator{}, "among others": propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, ownPropagator{}, propagation.Baggage{}),
	} {
		r := withProcessor(t)
		server := r.server()
		server.Propagators = p
		req := httptest.NewRequest(http.MethodGet, "/", nil)
		req.Header.Set("X-Own-Trace", "00-"+id+"-"+caller+"-01")
		server.Middleware(http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), req)
		r.flush(t)
		if s := r.got.one(t, "GET"); s.SpanContext().TraceID().String() != id || s.Parent().SpanID().String() != caller {
			t.Errorf("%s: trace %s, parent %s, want the caller's", name, s.SpanContext().TraceID(), s.Parent().SpanID())
		}
	}
}

func TestMiddlewarePanic(t *testing.T) {
	for _, c := range []struct {
		name  string
		value any
		write bool // before it panics
		want  string
	}{
		{"with a text", "boom", false, "Error error.type=panic exception=boom"},
		{"with an error", io.ErrUnexpectedEOF, false, "Error error.type=*errors.errorString exception=unexpected EOF"},
		{"after the first byte", "boom", true, "Error error.type=panic http.response.status_code=202 exception=boom"},
		{"after a server error", "boom", true, "Error error.type=panic http.response.status_code=500 exception=boom"},
		{"that aborts", http.ErrAbortHandler, true, "Error error.type=handler_aborted http.response.status_code=202"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := withProcessor(t)
			status := http.StatusAccepted
			if strings.Contains(c.want, "status_code=500") {
				status = http.StatusInternalServerError
			}
			func() {
				defer func() {
					if p := recover(); p != c.value {
						t.Errorf("recovered %v, want %v", p, c.value)
					}
				}()
				r.serve(func(w http.ResponseWriter, _ *http.Request) {
					if c.write {
						w.WriteHeader(status)
					}
					panic(c.value)
				}, "/x", httptest.NewRequest("GET", "/x", nil))
			}()
			r.flush(t)
			s := r.got.one(t, "GET /x")
			found := []string{s.Status().Code.String()}
			for _, key := range []string{"error.type", "http.response.status_code"} {
				if v := tag(s, key); v != "" {
					found = append(found, key+"="+v)
				}
			}
			for _, e := range s.Events() {
				message := ""
				for _, kv := range e.Attributes {
					switch {
					case kv.Key == "exception.message":
						message = kv.Value.AsString()
					case kv.Key == "exception.stacktrace" && !strings.Contains(kv.Value.AsString(), "TestMiddlewarePanic"):
						t.Errorf("the stack does not show the handler:\n%s", kv.Value.AsString())
					}
				}
				found = append(found, e.Name+"="+message)
			}
			got := strings.Join(found, " ")
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// A request that is not sampled has no spans. Its entries are recorded for observers only.
func TestMiddlewareOfAnUnsampledRequest(t *testing.T) {
	for _, observed := range []bool{true, false} {
		r := withProcessor(t, unsampled)
		entries := func() []observer.Entry { return nil }
		want := map[observer.Type]uint64{}
		if observed {
			entries = watch(t, r.tl, observer.Navigation, observer.Measure, observer.Mark)
			want = map[observer.Type]uint64{observer.Navigation: 1, observer.Measure: 3, observer.Mark: 2}
		}
		var tl *observer.Timeline
		w := r.serve(func(w http.ResponseWriter, req *http.Request) {
			tl = observer.FromContext(req.Context())
			everything(t, req.Context())
			w.WriteHeader(http.StatusTeapot)
		}, "/", httptest.NewRequest("GET", "/", nil).WithContext(context.Background()))
		r.flush(t)
		if w.Code != http.StatusTeapot || len(r.got.all()) != 0 {
			t.Errorf("status %d, spans %v", w.Code, r.got.names())
		}
		for _, e := range entries() {
			if e.Timeline() != tl || (*record.Timeline)(tl).Parent() != (*record.Timeline)(r.tl) {
				t.Errorf("%v is on another timeline", e)
			}
		}
		for typ, s := range r.tl.Stats() {
			if s.Recorded != want[typ] {
				t.Errorf("observed %v: %d entries of type %s, want %d", observed, s.Recorded, typ, want[typ])
			}
		}
	}
}

// A measure can start from the moments of a request.
func TestMiddlewareTimings(t *testing.T) {
	for _, c := range []struct {
		name  string
		write func(http.ResponseWriter) error
	}{
		{"WriteHeader", func(w http.ResponseWriter) error { w.WriteHeader(http.StatusTeapot); return nil }},
		{"Write", func(w http.ResponseWriter) error { _, err := w.Write([]byte("x")); return err }},
		{"WriteString", func(w http.ResponseWriter) error { _, err := io.WriteString(w, "x"); return err }},
		{"Flush", func(w http.ResponseWriter) error { return http.NewResponseController(w).Flush() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := withProcessor(t)
			r.serve(func(w http.ResponseWriter, req *http.Request) {
				from := func(name string) error {
					_, err := marks.Measure(req.Context(), "since "+name, marks.MeasureOptions{Start: marks.Named(name)})
					return err
				}
				if err := from(record.RequestStart); err != nil {
					t.Error(err)
				}
				if err := from(record.ResponseStart); !errors.Is(err, marks.ErrNoTiming) {
					t.Errorf("before the first byte: %v, want ErrNoTiming", err)
				}
				before := observer.FromContext(req.Context()).Now()
				if err := c.write(w); err != nil {
					t.Error(err)
				}
				after := observer.FromContext(req.Context()).Now()
				if err := from(record.ResponseStart); err != nil {
					t.Error(err)
				}
				at, ok := (*record.Timeline)(observer.FromContext(req.Context())).Timing(record.ResponseStart)
				if !ok || at < before || at > after {
					t.Errorf("responseStart is %v (%v), want between %v and %v", at, ok, before, after)
				}
				if err := c.write(w); err != nil {
					t.Error(err)
				}
				if again, _ := (*record.Timeline)(observer.FromContext(req.Context())).Timing(record.ResponseStart); again != at {
					t.Errorf("a second write moved responseStart from %v to %v", at, again)
				}
			}, "/", httptest.NewRequest(http.MethodGet, "/", nil))
			r.flush(t)
			if s := r.got.one(t, "since responseStart"); s.EndTime().Before(s.StartTime()) {
				t.Errorf("the span runs from %v to %v", s.StartTime(), s.EndTime())
			}
		})
	}
}

// The request's timeline and its span begin at the same instant, and without a
// recorded span the timeline begins with the request.
func TestMiddlewareOrigin(t *testing.T) {
	r := withProcessor(t)
	var origin time.Time
	handler := func(_ http.ResponseWriter, req *http.Request) { origin = observer.FromContext(req.Context()).Origin() }
	r.serve(handler, "/", httptest.NewRequest(http.MethodGet, "/", nil))
	r.flush(t)
	if span := r.got.one(t, "GET /"); !span.StartTime().Equal(origin) {
		t.Errorf("the span starts at %v, the timeline at %v", span.StartTime(), origin)
	}
	unsampled := withProcessor(t, unsampled)
	before := time.Now()
	unsampled.serve(handler, "/", httptest.NewRequest(http.MethodGet, "/", nil))
	if origin.Before(before) || origin.After(time.Now()) {
		t.Errorf("the timeline starts at %v, want after %v", origin, before)
	}
}
