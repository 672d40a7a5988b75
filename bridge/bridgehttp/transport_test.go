package bridgehttp_test

import (
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/observer"
)

// A caller makes requests through a Transport, on a timeline of its own.
type caller struct {
	*rig
	ctx       context.Context // under the timeline
	client    *http.Client
	resources func() []observer.Entry
	servers   func() []observer.Entry
}

func (r *rig) caller(t *testing.T, base http.RoundTripper) *caller {
	t.Helper()
	c := bridgehttp.Client{TracerProvider: r.provider, Propagators: propagation.TraceContext{}}
	return &caller{
		rig:       r,
		ctx:       observer.NewContext(t.Context(), r.tl.NewChild()),
		client:    &http.Client{Transport: c.Transport(base)},
		resources: watch(t, r.tl, observer.Resource),
		servers:   watch(t, r.tl, observer.Server),
	}
}

// call makes a request and reads the response to its end.
func (c *caller) call(t *testing.T, method, url string, body io.Reader) *http.Response {
	t.Helper()
	resp, err := c.client.Do(newRequest(t, method, url, body).WithContext(c.ctx))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Error(err)
	}
	return resp
}

// traced is call, and tells whether the connection was there again after each response. net/http closes it where the goroutine that writes
// the request is 50 ms late.
func (c *caller) traced(t *testing.T, method, url string, body io.Reader) (resp *http.Response, kept bool) {
	t.Helper()
	var got, put atomic.Int64
	with := *c
	with.ctx = httptrace.WithClientTrace(c.ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { got.Add(1) },
		PutIdleConn: func(err error) {
			if err == nil {
				put.Add(1)
			}
		},
	})
	resp = with.call(t, method, url, body)
	return resp, put.Load() == got.Load()
}

// warm makes requests until one leaves its connection for the next.
func (c *caller) warm(t *testing.T, protocol, url string) {
	t.Helper()
	for {
		if _, kept := c.traced(t, http.MethodGet, url, nil); kept || protocol == "h2" { // all use an h2 connection at once
			return
		}
	}
}

// last is the latest resource, its times checked: they are in their order and
// none is after the end.
func (c *caller) last(t *testing.T) *observer.Entry {
	t.Helper()
	all := c.resources()
	if len(all) == 0 {
		t.Fatal("no resource entry")
	}
	e := &all[len(all)-1]
	var before time.Duration
	for _, a := range e.Detail() {
		if a.Value.Kind() != slog.KindDuration {
			continue
		}
		if at := a.Value.Duration(); at < before || at > e.Duration() {
			t.Errorf("%s is %v, after %v in an entry of %v", a.Key, at, before, e.Duration())
		}
		before = a.Value.Duration()
	}
	return e
}

func TestTransportEntry(t *testing.T) {
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch r.URL.Path {
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, strings.Repeat("hello ", 1000))
			_ = z.Close()
		case "/none":
			w.WriteHeader(http.StatusNoContent)
		case "/404":
			http.NotFound(w, r)
		case "/again":
			http.Redirect(w, r, "/", http.StatusTemporaryRedirect)
		default:
			_, _ = io.WriteString(w, "hello")
		}
	})
	const (
		lookup   = "domainLookupStart=T domainLookupEnd=T "
		connect  = "connectStart=T connectEnd=T "
		secure   = "connectStart=T secureConnectionStart=T connectEnd=T "
		exchange = "requestStart=T responseStart=T "
		fresh    = "reused=false "
		reused   = "reused=true "
	)
	for _, c := range []struct {
		name         string
		protocol     string
		before       string // a request made before on the connection
		method, path string
		body         func() io.Reader
		local        bool // by name
		want         string
	}{
		{"first", "http/1.1", "", "GET", "/", nil, false, connect + exchange + fresh + "requestBodySize=0 decodedBodySize=5 encodedBodySize=5"},
		{"by name", "http/1.1", "", "GET", "/", nil, true, lookup + connect + exchange + fresh + "requestBodySize=0 decodedBodySize=5 encodedBodySize=5"},
		{"connection reused", "http/1.1", "/", "GET", "/", nil, true, exchange + reused + "requestBodySize=0 decodedBodySize=5 encodedBodySize=5"},
		{"first", "h2", "", "GET", "/", nil, false, secure + exchange + fresh + "requestBodySize=0 decodedBodySize=5 encodedBodySize=5"},
		{"connection reused", "h2", "/", "GET", "/", nil, false, exchange + reused + "requestBodySize=0 decodedBodySize=5 encodedBodySize=5"},
		{"compressed", "http/1.1", "/", "GET", "/gzip", nil, false, exchange + reused + "requestBodySize=0 decodedBodySize=6000"},
		{"compressed", "h2", "/", "GET", "/gzip", nil, false, exchange + reused + "requestBodySize=0 decodedBodySize=6000"},
		{"no content", "http/1.1", "/", "GET", "/none", nil, false, exchange + reused + "requestBodySize=0 decodedBodySize=0 encodedBodySize=0"},
		{"HEAD", "h2", "/", "HEAD", "/", nil, false, exchange + reused + "requestBodySize=0 decodedBodySize=0 encodedBodySize=0"},
		{"client error", "http/1.1", "/", "GET", "/404", nil, false, exchange + reused + "requestBodySize=0 decodedBodySize=19 encodedBodySize=19"},
		{"body of known length", "http/1.1", "/", "POST", "/", func() io.Reader { return strings.NewReader("0123456789") }, false,
			exchange + reused + "requestBodySize=10 decodedBodySize=5 encodedBodySize=5"},
		{"body of unknown length", "http/1.1", "/", "POST", "/", func() io.Reader { return struct{ io.Reader }{strings.NewReader("0123456789")} }, false,
			exchange + reused + "requestBodySize=10 decodedBodySize=5 encodedBodySize=5"},
		{"body of unknown length", "h2", "/", "POST", "/", func() io.Reader { return struct{ io.Reader }{strings.NewReader("0123456789")} }, false,
			exchange + reused + "requestBodySize=10 decodedBodySize=5 encodedBodySize=5"},
		{"empty body of unknown length", "http/1.1", "/", "POST", "/", func() io.Reader { return struct{ io.Reader }{strings.NewReader("")} }, false,
			exchange + reused + "requestBodySize=0 decodedBodySize=5 encodedBodySize=5"},
		{"redirected with its body", "http/1.1", "/", "POST", "/again", func() io.Reader { return strings.NewReader("0123456789") }, false,
			exchange + reused + "requestBodySize=10 decodedBodySize=5 encodedBodySize=5"},
	} {
		t.Run(c.name+" over "+c.protocol, func(t *testing.T) {
			r := withProcessor(t)
			s := r.open(t, c.protocol, hello)
			call := r.caller(t, s.client.Transport)
			url := s.url
			if c.local {
				url = strings.Replace(url, "127.0.0.1", "localhost", 1)
			}
			var resp *http.Response
			for kept := false; !kept; {
				if c.before != "" {
					call.warm(t, c.protocol, url+c.before)
				}
				var body io.Reader
				if c.body != nil {
					body = c.body()
				}
				resp, kept = call.traced(t, c.method, url+c.path, body)
				kept = kept || c.path != "/again" // a redirected request wants the connection of the first one
			}
			e := call.last(t)
			want := "initiatorType=fetch method=" + c.method + " responseStatus=" + resp.Status[:3] + " nextHopProtocol=" + c.protocol + " " + c.want
			if got := shape(e); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if e.Name() != resp.Request.URL.String() {
				t.Errorf("its name is %q, want %q", e.Name(), resp.Request.URL)
			}
		})
	}
}

func TestTransportSpan(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			r := withProcessor(t)
			var received http.Header
			s := r.open(t, protocol, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				received = req.Header
				w.WriteHeader(http.StatusConflict)
				_, _ = io.WriteString(w, "hello")
			}))
			call := r.caller(t, s.client.Transport)
			ctx, parent := r.tracer.Start(call.ctx, "parent")
			req := newRequest(t, http.MethodPut, s.url+"/x?q=1#f", strings.NewReader("body")).WithContext(ctx)
			req.Header.Set("X", "y")
			body, header := req.Body, req.Header.Clone()
			resp, err := call.client.Transport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			parent.End()
			r.flush(t)

			if req.Context() != ctx || req.Body != body || len(req.Header) != len(header) || req.Header.Get("traceparent") != "" {
				t.Errorf("the caller's request was changed: %v", req.Header)
			}
			span := r.got.one(t, "PUT")
			sc := span.SpanContext()
			if got, want := received.Get("traceparent"), "00-"+sc.TraceID().String()+"-"+sc.SpanID().String()+"-"; !strings.HasPrefix(got, want) || received.Get("X") != "y" {
				t.Errorf("the server got %v, want traceparent %s", received, want)
			}
			if span.Parent().SpanID() != parent.SpanContext().SpanID() || span.SpanKind() != trace.SpanKindClient || span.Status().Code != codes.Error {
				t.Errorf("parent %v, kind %v, status %v", span.Parent().SpanID(), span.SpanKind(), span.Status())
			}
			host, port, _ := strings.Cut(strings.SplitN(s.url, "//", 2)[1], ":")
			for key, want := range map[string]string{
				"http.request.method": "PUT", "url.full": s.url + "/x", "server.address": host, "server.port": port,
				"http.response.status_code": "409", "error.type": "409", "network.protocol.version": strings.TrimLeft(protocol, "htp/"),
				"network.peer.address": host, "network.peer.port": port, "http.response.body.size": "5",
			} {
				if got := tag(span, key); got != want {
					t.Errorf("%s is %q, want %q", key, got, want)
				}
			}
			e := call.last(t)
			if d := span.StartTime().Sub(e.Time()); d.Abs() > drift() {
				t.Errorf("the span starts at %v, the entry at %v", span.StartTime(), e.Time())
			}
		})
	}
}

// A caller's own httptrace is called as well.
func TestTransportKeepsHTTPTrace(t *testing.T) {
	r := withProcessor(t)
	s := r.open(t, "http/1.1", http.NotFoundHandler())
	call := r.caller(t, s.client.Transport)
	var hooks []string
	call.ctx = httptrace.WithClientTrace(call.ctx, &httptrace.ClientTrace{
		GetConn:              func(string) { hooks = append(hooks, "GetConn") },
		GotConn:              func(httptrace.GotConnInfo) { hooks = append(hooks, "GotConn") },
		GotFirstResponseByte: func() { hooks = append(hooks, "GotFirstResponseByte") },
	})
	call.call(t, http.MethodGet, s.url, nil)
	if !slices.Equal(hooks, []string{"GetConn", "GotConn", "GotFirstResponseByte"}) {
		t.Errorf("called %v", hooks)
	}
	if got := attr(call.last(t), "reused"); got != false {
		t.Errorf("reused is %v: the Transport's own hooks were not called", got)
	}
}

func TestClientSettings(t *testing.T) {
	r := withProcessor(t)
	var propagated []string
	s := r.open(t, "http/1.1", http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		propagated = append(propagated, req.URL.Path+" "+yesOrNo(req.Header.Get("traceparent") != ""))
	}))
	call := r.caller(t, nil)
	call.client.Transport = bridgehttp.Client{
		TracerProvider: r.provider, Propagators: propagation.TraceContext{},
		Filter:   func(req *http.Request) bool { return req.URL.Path != "/health" },
		SpanName: func(req *http.Request) string { return "call " + req.URL.Path },
	}.Transport(s.client.Transport)
	call.call(t, http.MethodGet, s.url+"/health", nil)
	call.call(t, http.MethodGet, s.url+"/x", nil)
	r.flush(t)
	r.got.one(t, "call /x")
	if n := len(call.resources()); n != 1 || len(r.got.all()) != 1 || !slices.Equal(propagated, []string{"/health no", "/x yes"}) {
		t.Errorf("%d entries, spans %v, propagated %v", n, r.got.names(), propagated)
	}
}

func yesOrNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// Outside of any timeline a call is the process's.
func TestTransportOfTheProcess(t *testing.T) {
	r := withProcessor(t)
	s := r.open(t, "http/1.1", http.NotFoundHandler())
	call := r.caller(t, s.client.Transport)
	process := watch(t, observer.ProcessTimeline(), observer.Resource)
	call.ctx = t.Context()
	call.call(t, http.MethodGet, s.url+"/process", nil)
	if e := only(t, process()); e.Name() != s.url+"/process" || e.Timeline() != observer.ProcessTimeline() {
		t.Errorf("got %v", e)
	}
	if n := len(call.resources()); n != 0 {
		t.Errorf("%d entries on another timeline", n)
	}
}

type closesIdle struct {
	http.RoundTripper
	closed int
}

func (c *closesIdle) CloseIdleConnections() { c.closed++ }

func TestTransportClosesIdleConnections(t *testing.T) {
	r := withProcessor(t)
	base := &closesIdle{}
	r.caller(t, base).client.CloseIdleConnections()
	if base.closed != 1 {
		t.Errorf("the base was told %d times", base.closed)
	}
	r.caller(t, struct{ http.RoundTripper }{base}).client.CloseIdleConnections() // one that cannot
}
