package contrib_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/contrib/processors/baggagecopy"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// A call is a request through otelhttp's transport to otelhttp's handler.
type call struct {
	handler http.HandlerFunc                                                      // the span's context is in the request
	inside  func(ctx context.Context, tracer trace.Tracer, w http.ResponseWriter) // runs in the handler, in place of it
	ctx     context.Context                                                       // the caller's; nil has no span
	fails   bool                                                                  // the caller gets an error
	public  bool
	gone    bool // the server is shut down before the call
}

func (c call) work(t *testing.T, tp trace.TracerProvider) {
	t.Helper()
	propagators := propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
	options := []otelhttp.Option{
		otelhttp.WithTracerProvider(tp), otelhttp.WithPropagators(propagators), otelhttp.WithMessageEvents(otelhttp.ReadEvents, otelhttp.WriteEvents),
	}
	handler := c.handler
	if c.inside != nil {
		handler = func(w http.ResponseWriter, r *http.Request) { c.inside(r.Context(), tp.Tracer("program"), w) }
	}
	mux := http.NewServeMux()
	mux.Handle("POST /items/{id}", handler)
	s := httptest.NewUnstartedServer(otelhttp.NewHandler(mux, "server",
		append(options, otelhttp.WithPublicEndpointFn(func(*http.Request) bool { return c.public }))...))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // panics
	s.Start()
	defer s.Close() // returns when the handler has returned
	if c.gone {
		s.Close()
	}
	ctx := c.ctx
	if ctx == nil {
		ctx = t.Context()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/items/7?token=secret", strings.NewReader("socks"))
	if err != nil {
		t.Fatal(err)
	}
	base := s.Client().Transport.(*http.Transport)
	defer base.CloseIdleConnections()
	resp, err := (&http.Client{Transport: otelhttp.NewTransport(base, options...)}).Do(req)
	if (err != nil) != c.fails {
		t.Errorf("the caller gets the error %v", err)
	}
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
}

func echo(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }

func answer(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

// packs does the handler's work in a span of its own, which ends also under a panic.
func packs(do func()) func(context.Context, trace.Tracer, http.ResponseWriter) {
	return func(ctx context.Context, tracer trace.Tracer, w http.ResponseWriter) {
		ctx, span := tracer.Start(ctx, "pack", trace.WithLinks(trace.LinkFromContext(ctx)))
		defer span.End(trace.WithStackTrace(true))
		_, inner := tracer.Start(ctx, "wrap")
		inner.End()
		do()
		_, _ = io.WriteString(w, "packed")
	}
}

// withBaggage returns a context with two members.
func withBaggage(t *testing.T) context.Context {
	t.Helper()
	b, err := baggage.Parse("tenant=blue%20socks,secret=1")
	if err != nil {
		t.Fatal(err)
	}
	return baggage.ContextWithBaggage(t.Context(), b)
}

func tenant(m baggage.Member) bool { return m.Key() == "tenant" }

func TestHTTP(t *testing.T) {
	const client, server = "HTTP POST", "POST /items/{id}"
	two := []string{client, server}
	same(t, []scenario{
		{name: "200", work: call{handler: echo}.work, want: two},
		{name: "404", work: call{handler: answer(404)}.work, want: two},
		{name: "500", work: call{handler: answer(500)}.work, want: two},
		{name: "limits", setup: setup{limit: 2}, work: call{handler: echo}.work, want: two},
		{name: "spans in the handler", work: call{inside: packs(func() {})}.work, want: []string{client, server, "pack", "wrap"}},
		{name: "a panic", work: call{handler: func(http.ResponseWriter, *http.Request) { panic("out of socks") }, fails: true}.work, want: []string{client, "POST"}},
		{name: "a panic in a span", work: call{inside: packs(func() { panic(errors.New("out of socks")) }), fails: true}.work, want: []string{client, "POST", "pack", "wrap"}},
		{name: "http.ErrAbortHandler", work: call{handler: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, fails: true}.work, want: []string{client, "POST"}},
		{name: "no server", work: call{handler: echo, gone: true, fails: true}.work, want: []string{client}},
		{name: "the caller gives up", work: givesUp, want: two},
		{name: "a caller's trace", work: call{handler: echo, ctx: remote(trace.FlagsSampled)}.work, want: two},
		{name: "a caller's trace that is not sampled", work: call{handler: echo, ctx: remote(0)}.work},
		{name: "a public endpoint", work: call{handler: echo, public: true}.work, want: two},
		{name: "the caller alone is sampled", setup: setup{sampler: clients{}}, work: call{inside: packs(func() {})}.work, want: []string{client}},
		{name: "baggage", setup: setup{processor: baggagecopy.NewSpanProcessor(tenant)},
			work: call{inside: packs(func() {}), ctx: withBaggage(t)}.work, want: []string{client, server, "pack", "wrap"}},
		{name: "baggage over a limit", setup: setup{processor: baggagecopy.NewSpanProcessor(tenant), limit: 1},
			work: call{inside: packs(func() {}), ctx: withBaggage(t)}.work, want: []string{client, server, "pack", "wrap"}},
	})
}

// givesUp cancels the call while the handler works.
func givesUp(t *testing.T, tp trace.TracerProvider) {
	ctx, cancel := context.WithCancel(t.Context())
	call{ctx: ctx, fails: true, handler: func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the server does not see the client go
		cancel()
		<-r.Context().Done()
	}}.work(t, tp)
}

// clients is a sampler of calls to others.
type clients struct{}

func (clients) Description() string { return "clients" }

func (clients) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	if p.Kind == trace.SpanKindClient {
		return sdktrace.SamplingResult{Decision: sdktrace.RecordAndSample}
	}
	return sdktrace.SamplingResult{Decision: sdktrace.Drop}
}
