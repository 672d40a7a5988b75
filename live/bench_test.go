package live_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	otelattribute "go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/live"
)

func serve(p *sdktrace.TracerProvider, i int) {
	ctx, root := p.Tracer("github.com/perfline/perfline/bridge").Start(context.Background(), "GET /products/{id}", trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(otelattribute.String("http.request.method", "GET"), otelattribute.String("url.scheme", "http"), otelattribute.String("url.path", fmt.Sprint("/products/", i)),
			otelattribute.String("server.address", "localhost"), otelattribute.Int("server.port", 8080), otelattribute.String("network.peer.address", "127.0.0.1"),
			otelattribute.String("user_agent.original", "Go-http-client/1.1"), otelattribute.String("http.route", "/products/{id}")))
	for _, name := range []string{"load", "render"} {
		_, m := p.Tracer("github.com/perfline/perfline").Start(ctx, name)
		m.AddEvent("row", trace.WithAttributes(otelattribute.String("key", "product"), otelattribute.Int("n", i)))
		m.End()
	}
	root.AddEvent("cache.miss", trace.WithAttributes(otelattribute.String("key", fmt.Sprint(i))))
	root.SetAttributes(otelattribute.Int("http.response.status_code", 200))
	root.End()
}

// The listing of an open page, of a quiet program and of a busy one.
func BenchmarkOverview(b *testing.B) {
	for name, each := range map[string]int{"quiet": 0, "busy": 64} {
		b.Run(name, func(b *testing.B) {
			r := requests.NewRecent(requests.Config{})
			p := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r))
			for i := range 100 {
				serve(p, i)
			}
			page := live.Handler(quiet{recent: r}, live.Config{})
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				for i := range each {
					serve(p, i)
				}
				b.StartTimer()
				rec := httptest.NewRecorder()
				page.ServeHTTP(rec, ask(http.MethodGet, "data/v1/overview", ""))
				if rec.Code != http.StatusOK {
					b.Fatal(rec.Code)
				}
			}
		})
	}
}
