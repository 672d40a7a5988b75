package bridgehttp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/bridge/bridgetest"
	"github.com/perfline/perfline/marks"
)

// Only the span of a request that lasts as long as its client has the attribute of a stream.
func TestStreams(t *testing.T) {
	events := func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/event-stream; charset=utf-8") }
	lines := func(contentType string, flushes bool) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			_, _ = io.WriteString(w, "{}\n")
			if flushes {
				w.(http.Flusher).Flush()
			}
		}
	}
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  bool
	}{
		"page":   {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") }, false},
		"silent": {func(http.ResponseWriter, *http.Request) {}, false},
		"events": {func(w http.ResponseWriter, _ *http.Request) {
			events(w)
			_, _ = io.WriteString(w, "data: 1\n\n")
		}, true},
		"events of the writer behind the middleware": {func(w http.ResponseWriter, _ *http.Request) {
			events(w.(interface{ Unwrap() http.ResponseWriter }).Unwrap())
			_, _ = io.WriteString(w, "data: 1\n\n")
		}, true},
		"events in http.TimeoutHandler": {func(w http.ResponseWriter, r *http.Request) {
			http.TimeoutHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { events(w) }), time.Hour, "").ServeHTTP(w, r)
		}, true},
		"silent events":            {func(w http.ResponseWriter, _ *http.Request) { events(w) }, true},
		"x-ndjson":                 {lines("application/x-ndjson; charset=utf-8", true), true},
		"x-ndjson without a flush": {lines("application/x-ndjson", false), false},
		"ndjson":                   {lines("application/ndjson", true), true},
		"jsonl":                    {lines("Application/JSONL", true), true},
		"x-jsonlines":              {lines("application/x-jsonlines", true), true},
		"json-seq":                 {lines("application/json-seq", true), true},
		"geo+json-seq":             {lines("application/geo+json-seq", true), true},
		"download of json-seq":     {lines("application/geo+json-seq", false), false},
		"stream+json":              {lines("application/stream+json", false), true},
		"images":                   {lines("multipart/x-mixed-replace; boundary=image", false), true},
		"Connect":                  {lines("application/connect+proto", false), true},
		"unary Connect":            {lines("application/proto", true), false},
		"text with flushes":        {lines("text/plain", true), false},
		"json with flushes":        {lines("application/json", true), false},
		"multipart form":           {lines("multipart/form-data; boundary=event-stream", true), false},
		"by the program": {func(_ http.ResponseWriter, r *http.Request) {
			ctx, m := marks.Start(r.Context(), "inside")
			defer m.End()
			bridgehttp.SetStream(ctx)
		}, true},
		"by the program in http.TimeoutHandler": {func(w http.ResponseWriter, r *http.Request) {
			http.TimeoutHandler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { bridgehttp.SetStream(r.Context()) }), time.Hour, "").ServeHTTP(w, r)
		}, true},
		"hijacked": {func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\n")
			_ = conn.Close()
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			rec := bridgetest.New(t)
			server := bridgehttp.Server{TracerProvider: rec.TracerProvider(), Timeline: rec.Timeline()}
			h, served := server.Middleware(c.serve), make(chan struct{})
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer close(served) // the server does not wait for a connection that was taken over
				h.ServeHTTP(w, r)
			}))
			defer srv.Close()
			resp, err := srv.Client().Get(srv.URL)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			<-served
			s := rec.Span("GET")
			if got := s.Attr("perfline.stream").AsBool(); got != c.want {
				t.Errorf("perfline.stream is %v in %v, want %v", got, attribute.NewSet(s.Attributes...), c.want)
			}
		})
	}
}

// Other instrumentation's span of a stream has the attribute, too.
func TestStreamUnderAServerSpan(t *testing.T) {
	for name, serve := range map[string]http.HandlerFunc{
		"events":         func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/event-stream") },
		"by the program": func(_ http.ResponseWriter, r *http.Request) { bridgehttp.SetStream(r.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			r := withProcessor(t)
			ctx, span := r.tracer.Start(r.ctx, "theirs", trace.WithSpanKind(trace.SpanKindServer))
			r.traced(serve).ServeHTTP(httptest.NewRecorder(), newRequest(t, http.MethodGet, "/", nil).WithContext(ctx))
			span.End()
			r.flush(t)
			if got := tag(r.got.one(t, "theirs"), "perfline.stream"); got != "true" {
				t.Errorf("perfline.stream is %q", got)
			}
		})
	}
}

// SetStream outside a request, or after it, does nothing.
func TestSetStreamWithoutARequest(t *testing.T) {
	bridgehttp.SetStream(t.Context())
	r := withProcessor(t)
	var late context.Context
	h := r.traced(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { late = r.Context() }))
	h.ServeHTTP(httptest.NewRecorder(), newRequest(t, http.MethodGet, "/", nil))
	bridgehttp.SetStream(late)
	r.flush(t)
	if got := tag(r.got.one(t, "GET"), "perfline.stream"); got != "" {
		t.Errorf("perfline.stream is %q", got)
	}
}

// The middleware does not ask for a header that its handler left alone, so it does not see what handlers around it have set.
func TestStreamOfAHandlerAround(t *testing.T) {
	r := withProcessor(t)
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "text/event-stream")
	h := r.wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "data: 1\n\n") }))
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	r.flush(t)
	if got := tag(r.got.one(t, "GET"), "perfline.stream"); got != "" {
		t.Errorf("perfline.stream is %s", got)
	}
}
