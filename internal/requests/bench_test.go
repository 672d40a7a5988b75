package requests_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/requests"
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

// encodedSpans returns the spans of 256 requests, three of each.
func encodedSpans() (all []bridge.Spans) {
	k := &keep{}
	p := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(k))
	for i := range 256 {
		serve(p, i)
	}
	var groups otlpenc.Groups
	for _, s := range k.spans {
		all = append(all, encode(&groups, s))
	}
	return all
}

func BenchmarkAccept(b *testing.B) {
	all := encodedSpans()
	r := requests.NewRecent(requests.Config{Slowest: -1})
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		at := i % 256 * 3
		for _, s := range all[at : at+3] {
			r.Accept([]bridge.Spans{s})
		}
	}
}

// As perfline's own provider hands over requests: all spans of each tracer together, of 16 requests at once.
func BenchmarkAcceptRequests(b *testing.B) {
	const requestsOfAList = 16
	var w otlpenc.Writer
	var lists [][]bridge.Spans
	for request := range slices.Chunk(encodedSpans(), 3) { // two measures and the root
		if len(lists) == 0 || len(lists[len(lists)-1]) == 2*requestsOfAList {
			lists = append(lists, nil)
		}
		last := &lists[len(lists)-1]
		*last = append(*last, write(&w, join(request[:2]...), request[2])...)
	}
	r := requests.NewRecent(requests.Config{Slowest: -1})
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N / requestsOfAList {
		r.Accept(lists[i%len(lists)])
	}
}

func BenchmarkSnapshots(b *testing.B) {
	r := requests.NewRecent(requests.Config{})
	p := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r))
	for i := range 100 {
		serve(p, i)
	}
	b.ReportAllocs()
	for b.Loop() {
		r.Requests()
		r.Slowest()
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
		decoded(r.Requests())
	}
}

// A request in memory is little more than its encoded spans, by the store's own count.
func TestMemoryOfRequests(t *testing.T) {
	const n = 500
	r := requests.NewRecent(requests.Config{Requests: n, MaxPending: n})
	p := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r))
	for i := range n {
		serve(p, i)
	}
	s := r.Stats()
	if s.Requests != n || s.Evicted != 0 {
		t.Errorf("stats %+v", s)
	}
	if each := s.Bytes / n; each > 1536+uint64(len("GET /products/{id}")) || each < 500 { // a size class of the allocator, and the name
		t.Errorf("%d bytes for each request, want 500 to 1536, and the name", each)
	}
}

// A full memory: 500 requests, of which the query finds none, so that it looks at all.
func BenchmarkSearch(b *testing.B) {
	r := requests.NewRecent(requests.Config{Requests: 500})
	p := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r))
	for i := range 500 {
		serve(p, i)
	}
	for name, q := range map[string]requests.Query{
		"took":      {MinTook: time.Hour},
		"status":    {Status: "404"},
		"attribute": {Attribute: "key=none"},
		"text":      {Text: "no such name"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportMetric(float64(r.Stats().Bytes), "bytes")
			for b.Loop() {
				if found := requests.Search(q, r.All()); len(found) > 0 {
					b.Fatalf("found %d requests", len(found))
				}
			}
		})
	}
}
