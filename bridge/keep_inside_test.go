package bridge_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/routes"
	"github.com/perfline/perfline/observer"
)

// A request with a failed child, and without a failure of its own, stays in memory. No backend gets the request, and no count calls the request failed.
func TestKeepErrorInside(t *testing.T) {
	r := newKeepRig(t, bridge.KeepPolicy{Slow: neverSlow, Export: true}, nil)
	childFails := func(ctx context.Context, _ trace.Span) {
		_, child := r.tracer.Start(ctx, "child")
		child.SetStatus(codes.Error, "not found")
		child.End()
	}
	r.serve("GET /", 0, childFails)
	if got, want := r.recorded.names(), "GET / child"; got != want {
		t.Errorf("recorded %q, want %q", got, want)
	}
	if got := r.exported.names(); got != "" {
		t.Errorf("exported %q", got)
	}
	n := r.provider.RequestCounts()
	if n["error_inside"] != 1 || n["failed"] != 0 || n["exported"] != 0 {
		t.Errorf("%v, want one error inside", n)
	}
	if s := r.recorded.table.Summaries(routes.SinceStart).Routes; len(s) != 1 || s[0].Failed != 0 {
		t.Errorf("the routes are %+v, want none that failed", s)
	}
	r.serve("GET /failed", 0, func(ctx context.Context, s trace.Span) {
		childFails(ctx, s)
		s.SetStatus(codes.Error, "")
	})
	if got, want := r.exported.names(), "GET /failed child"; got != want {
		t.Errorf("exported %q, want %q", got, want)
	}
}

// Of many requests with an error inside at the same time, the provider keeps as many as their ceiling allows, and counts the rest. The provider
// keeps all failed requests among them.
func TestKeepErrorInsideCeiling(t *testing.T) {
	for name, sampler := range map[string]sdktrace.Sampler{"dropped": sdktrace.NeverSample(), "sampled": sdktrace.AlwaysSample()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newKeepRig(t, bridge.KeepPolicy{PerSecond: 20}, sampler)
				for i := range 200 {
					r.serve("GET /", 0, func(ctx context.Context, s trace.Span) {
						_, child := r.tracer.Start(ctx, "child")
						child.SetStatus(codes.Error, "not found")
						child.End()
						if i%10 == 9 {
							s.SetStatus(codes.Error, "")
						}
					})
				}
				n := r.provider.RequestCounts()
				if n["failed"] != 20 || n["error_inside"] != 5 || n["error_inside_over_ceiling"] != 175 || n["over_ceiling"]+n["other"] != 0 {
					t.Errorf("%v, want 20 failed, and 5 of 180 with an error inside", n)
				}
			})
		})
	}
}

// With OnSlow, the provider compares a request with the usual duration of the route, unless the policy defines slow requests.
func TestOnSlowComparesWithTheRoute(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy bridge.KeepPolicy
		asked  bool // OnSlow is set
		want   int  // requests that are kept
	}{
		{"asked", bridge.KeepPolicy{}, true, 1},
		{"not asked", bridge.KeepPolicy{}, false, 0},
		{"a threshold", bridge.KeepPolicy{Slow: time.Second}, true, 0},
		{"a threshold of the route", bridge.KeepPolicy{Routes: map[string]time.Duration{"GET /": time.Second}}, true, 0},
		{"a factor", bridge.KeepPolicy{Factor: 10}, true, 0},
	} {
		for _, tabled := range []bool{true, false} { // the recorders have a table of routes
			t.Run(fmt.Sprintf("%s, a table %t", c.name, tabled), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					recorded, asked := &keptSpans{}, 0
					if tabled {
						recorded.table = routes.NewTable(routes.Config{})
					}
					config := bridge.TracerProviderConfig{Timeline: observer.NewTimeline(observer.TimelineOptions{}), Sampler: sdktrace.NeverSample(), Keep: &c.policy, Recorders: []bridge.Output{recorded}}
					if c.asked {
						config.OnSlow = func(bridge.Root, bool) { asked++ }
					}
					p := bridge.NewTracerProvider(config)
					defer func() { _ = p.Shutdown(t.Context()) }()
					serve := func(took time.Duration) {
						_, span := p.Tracer("").Start(t.Context(), "GET /", trace.WithSpanKind(trace.SpanKindServer))
						time.Sleep(took)
						span.End()
					}
					serve(200 * time.Millisecond) // nothing is usual yet
					for range 127 {
						serve(20 * time.Millisecond)
					}
					p.Stats() // counts what the processors have noted
					serve(100 * time.Millisecond)
					if n := p.RequestCounts(); int(n["slow"]) != c.want || asked != c.want {
						t.Errorf("%v, and OnSlow was called %d times, want %d slow requests", n, asked, c.want)
					}
					if tabled {
						if from, ok := recorded.table.SlowFrom(local.Request, "GET /"); !ok || from.IsReachedBy(100*time.Millisecond) != (c.want > 0) {
							t.Errorf("the table of routes says %q", from.String())
						}
					}
				})
			})
		}
	}
}
