package live

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/exporter/requests"
	"github.com/perfline/perfline/profiling/sessions"
)

type busy struct{ recent *requests.Recent }

func (q busy) Recent() *requests.Recent   { return q.recent }
func (busy) Sessions() *sessions.Recorder { return nil }
func (busy) Counts() []exporter.Count     { return nil }

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

// The listing of an open page, of a quiet program and of a busy one.
func BenchmarkOverview(b *testing.B) {
	for name, each := range map[string]int{"quiet": 0, "busy": 64} {
		b.Run(name, func(b *testing.B) {
			r := requests.NewRecent(requests.Config{})
			p := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r))
			for i := range 100 {
				serve(p, i)
			}
			h := &handler{source: busy{r}, listed: newHeld(maxListed, maxHeld), opened: newHeld(maxOpened, maxHeld)}
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				for i := range each {
					serve(p, i)
				}
				b.StartTimer()
				if _, err := json.Marshal(h.overview()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
