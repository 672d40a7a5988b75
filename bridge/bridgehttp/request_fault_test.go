package bridgehttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/internal/garbage"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

// A panic of one of the Server's own functions leaves nothing unended.
func TestServerFunctionPanics(t *testing.T) {
	r := withProcessor(t)
	server := r.server()
	var tl *observer.Timeline
	server.SpanName = func(*http.Request, string) string {
		if tl != nil { // at the end
			panic("name")
		}
		return "span"
	}
	h := server.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { tl = observer.FromContext(req.Context()) }))
	h.ServeHTTP(httptest.NewRecorder(), newRequest(t, http.MethodGet, "/", nil))
	if n := (*record.Timeline)(tl).Panics(); n != 1 {
		t.Errorf("%d panics are counted, want one", n)
	}
	r.flush(t)
	r.got.one(t, "span")
	if _, err := tl.Observe(func(observer.List) {}, observer.Options{Type: observer.Mark}); err == nil {
		t.Error("the request's timeline is not closed")
	}
}

// A handler that ends its goroutine sends nothing: the server closes the connection.
func TestHandlerEndsItsGoroutine(t *testing.T) {
	r := withProcessor(t)
	h := r.wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { runtime.Goexit() }))
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.ServeHTTP(httptest.NewRecorder(), newRequest(t, http.MethodGet, "/", nil))
	}()
	<-done
	r.flush(t)
	if got := tag(r.got.one(t, "GET"), "http.response.status_code"); got != "" {
		t.Errorf("status %s", got)
	}
}

// The span has the name of the last call, also if that is the method.
func TestSpanNameIsTheLast(t *testing.T) {
	r := withProcessor(t)
	server := r.server()
	names := []string{"not routed yet", http.MethodGet}
	server.SpanName = func(*http.Request, string) (name string) {
		name, names = names[0], names[1:]
		return name
	}
	server.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { bridgehttp.SetRoute(r.Context(), "/b\xff") })).ServeHTTP(httptest.NewRecorder(), newRequest(t, http.MethodGet, "/", nil))
	r.flush(t)
	r.got.one(t, "GET")
}

// A transport that panics leaves nothing unended, and its panic goes on.
func TestTransportPanics(t *testing.T) {
	r := withProcessor(t)
	entries := watch(t, r.tl, observer.Resource)
	base := roundTripper(func(*http.Request) (*http.Response, error) { panic("base") })
	rt := bridgehttp.Client{TracerProvider: r.provider}.Transport(base)
	func() {
		defer func() {
			if p := recover(); p != "base" {
				t.Errorf("recovered %v", p)
			}
		}()
		_, _ = rt.RoundTrip(newRequest(t, http.MethodGet, "http://x.example/", nil).WithContext(r.ctx))
	}()
	r.flush(t)
	if s := r.got.one(t, "GET"); s.Status().Code != codes.Error {
		t.Errorf("status %v", s.Status())
	}
	if got := attr(only(t, entries()), "error"); got != "the transport did not return" {
		t.Errorf("error is %v", got)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A call that is over keeps nothing, also if its context leads back to the response.
func TestCallThatIsOverIsLetGo(t *testing.T) {
	type holder struct{ resp *http.Response }
	r := withProcessor(t)
	s := r.open(t, "http/1.1", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) }))
	client := &http.Client{Transport: bridgehttp.Client{TracerProvider: r.provider}.Transport(s.client.Transport)}
	var holders garbage.Objects
	func() {
		h := &holder{}
		garbage.Watch(&holders, "value of the call's context", h)
		req := newRequest(t, http.MethodGet, s.url, nil)
		resp, err := client.Do(req.WithContext(context.WithValue(r.ctx, requestKey{}, h)))
		if err != nil {
			t.Fatal(err)
		}
		h.resp = resp
		resp.Body.Close()
	}()
	r.flush(t)
	client.CloseIdleConnections()
	holders.Wait(t)
}

type requestKey struct{}

// Text that the program's own functions return is carried as far as it can be.
func TestFunctionsReturnTextThatIsNotUTF8(t *testing.T) {
	r := withProcessor(t)
	server := r.server()
	server.SpanName = func(_ *http.Request, route string) string { return "a\xff" + route }
	req := newRequest(t, http.MethodGet, "/", nil)
	req.RemoteAddr = "c\xff:80"
	server.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { bridgehttp.SetRoute(r.Context(), "/b\xff") })).ServeHTTP(httptest.NewRecorder(), req)
	client := bridgehttp.Client{TracerProvider: r.provider, SpanName: func(*http.Request) string { return "d\xff" }}
	rt := client.Transport(roundTripper(func(*http.Request) (*http.Response, error) { return nil, errFake }))
	_, _ = rt.RoundTrip(newRequest(t, http.MethodGet, "http://x.example/", nil))
	r.flush(t)
	for _, span := range r.got.all() {
		if got := span.Name() + text(span.Attributes()); strings.Contains(got, "\xff") {
			t.Errorf("not UTF-8: %q", got)
		}
	}
	if n := len(r.got.all()); n != 2 {
		t.Errorf("%d spans", n)
	}
}
