package requests_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter/otlpenc"
	"github.com/perfline/perfline/exporter/requests"
)

type keep struct{ spans []sdktrace.ReadOnlySpan }

func (*keep) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (k *keep) OnEnd(s sdktrace.ReadOnlySpan)                 { k.spans = append(k.spans, s) }
func (*keep) ForceFlush(context.Context) error                { return nil }
func (*keep) Shutdown(context.Context) error                  { return nil }

// serve makes the spans of a request with 2 measures and 3 marks.
func serve(p *sdktrace.TracerProvider, i int) {
	ctx, root := p.Tracer("github.com/perfline/perfline/bridge").Start(context.Background(), "GET /products/{id}", trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("http.request.method", "GET"), attribute.String("url.scheme", "http"), attribute.String("url.path", fmt.Sprint("/products/", i)),
			attribute.String("server.address", "localhost"), attribute.Int("server.port", 8080), attribute.String("network.peer.address", "127.0.0.1"),
			attribute.String("user_agent.original", "Go-http-client/1.1"), attribute.String("http.route", "/products/{id}")))
	for _, name := range []string{"load", "render"} {
		_, m := p.Tracer("github.com/perfline/perfline").Start(ctx, name)
		m.AddEvent("row", trace.WithAttributes(attribute.String("key", "product"), attribute.Int("n", i)))
		m.End()
	}
	root.AddEvent("cache.miss", trace.WithAttributes(attribute.String("key", fmt.Sprint(i))))
	root.SetAttributes(attribute.Int("http.response.status_code", 200))
	root.End()
}

func BenchmarkOnEnd(b *testing.B) {
	k := &keep{}
	p := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(k))
	for i := range 256 {
		serve(p, i)
	}
	r := requests.NewRecent(requests.Config{Slowest: -1})
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		at := i % 256 * 3
		for _, s := range k.spans[at : at+3] {
			r.OnEnd(s)
		}
	}
}

func BenchmarkAccept(b *testing.B) {
	k := &keep{}
	p := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(k))
	for i := range 256 {
		serve(p, i)
	}
	var groups otlpenc.Groups
	var all []otlpenc.Spans
	for _, s := range k.spans {
		all = append(all, groups.Encode(s))
	}
	r := requests.NewRecent(requests.Config{Slowest: -1})
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		at := i % 256 * 3
		for _, s := range all[at : at+3] {
			r.Accept(s)
		}
	}
}

func BenchmarkRoots(b *testing.B) {
	r := requests.NewRecent(requests.Config{})
	p := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r))
	for i := range 100 {
		serve(p, i)
	}
	b.ReportAllocs()
	for b.Loop() {
		r.Snapshots()
	}
}

func BenchmarkRequests(b *testing.B) {
	r := requests.NewRecent(requests.Config{})
	p := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r))
	for i := range 100 {
		serve(p, i)
	}
	b.ReportAllocs()
	for b.Loop() {
		r.Requests()
	}
}

func TestBytesPerRequest(t *testing.T) {
	const n = 20_000
	r := requests.NewRecent(requests.Config{Requests: n, MaxPending: n})
	p := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r))
	heap := func() (bytes, objects uint64) {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc, m.HeapObjects
	}
	b0, o0 := heap()
	for i := range n {
		serve(p, i)
	}
	b1, o1 := heap()
	t.Logf("%d bytes, %.1f objects for each request", (b1-b0)/n, float64(o1-o0)/n)
	runtime.KeepAlive(r)
	runtime.KeepAlive(p)
}
