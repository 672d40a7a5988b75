package live_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	otelattribute "go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/guard"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/live"
)

// concernsOf returns the texts of the concerns about the set-up.
func (p *program) concernsOf(title string) (all []string) {
	p.t.Helper()
	for _, c := range p.routes("").Health.Concerns {
		if c.Title == title {
			all = append(all, c.Text)
		}
	}
	return all
}

// The health line has the faults of the set-up, at most ten seconds old. A summary has no names of spans.
func TestHealthOfTheSetUp(t *testing.T) {
	for data, want := range map[guard.Data]string{
		guard.Everything: `In 1 request, perfline found 1 pair of server spans for the same thing: one of outer\u202e, and below it one of inner. Keep one instrumentation of the server`,
		guard.Summary:    "Keep one instrumentation of the server",
	} {
		t.Run(fmt.Sprint(data), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				recent := requests.NewRecent(requests.Config{})
				p := &program{t: t, page: live.Handler(quiet{recent: recent}, live.Config{Data: data})}
				if got := p.concernsOf("Set-up"); len(got) != 0 {
					t.Fatalf("without requests, it says %q", got)
				}
				provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recent))
				http := trace.WithAttributes(otelattribute.String("http.request.method", "GET"))
				ctx, outer := provider.Tracer("outer\u202e").Start(t.Context(), "GET /items", trace.WithSpanKind(trace.SpanKindServer), http)
				_, inner := provider.Tracer("inner").Start(ctx, "GET /items", trace.WithSpanKind(trace.SpanKindServer), http)
				inner.End()
				outer.End()
				time.Sleep(10*time.Second - 1)
				if got := p.concernsOf("Set-up"); len(got) != 0 {
					t.Errorf("after less than ten seconds, it says %q", got)
				}
				time.Sleep(time.Nanosecond)
				got := p.concernsOf("Set-up")
				if len(got) != 1 || !strings.HasPrefix(got[0], want) || strings.HasSuffix(got[0], ".") || strings.Contains(got[0], "\u202e") {
					t.Errorf("it says %q, want %q and more", got, want)
				}
			})
		})
	}
}
