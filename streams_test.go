package perfline_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/routes"
	"github.com/perfline/perfline/observer"
)

// A request that the program calls a stream is a stream for all readers, and never slow.
func TestSetStream(t *testing.T) {
	overBoth(t, func(t *testing.T, start starter) {
		for _, c := range []struct {
			name  string
			serve func(pl *perfline.Pipeline, w http.ResponseWriter, r *http.Request)
		}{
			{"the middleware's span", func(pl *perfline.Pipeline, w http.ResponseWriter, r *http.Request) {
				behind(pl, r, declared).ServeHTTP(w, r)
			}},
			{"other instrumentation's span around the middleware", func(pl *perfline.Pipeline, w http.ResponseWriter, r *http.Request) {
				ctx, span := pl.TracerProvider().Tracer("otelhttp").Start(r.Context(), "GET /tail", trace.WithSpanKind(trace.SpanKindServer))
				defer span.End()
				behind(pl, r, declared).ServeHTTP(w, r.WithContext(ctx))
			}},
			{"other instrumentation's span inside the middleware", func(pl *perfline.Pipeline, w http.ResponseWriter, r *http.Request) {
				behind(pl, r, func(w http.ResponseWriter, r *http.Request) {
					ctx, span := pl.TracerProvider().Tracer("otelhttp").Start(r.Context(), "GET /tail", trace.WithSpanKind(trace.SpanKindServer))
					defer span.End()
					declared(w, r.WithContext(ctx))
				}).ServeHTTP(w, r)
			}},
		} {
			t.Run(c.name, func(t *testing.T) {
				pl, ctx, _ := start(t, perfline.Config{Keep: bridge.KeepPolicy{Slow: time.Nanosecond}})
				c.serve(pl, httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/tail", http.NoBody))
				recent := stored(pl)
				all := recent.Requests()
				if len(all) != 1 || all[0].Class != local.Stream || all[0].Keep != local.NotKept {
					t.Errorf("in memory is %+v, want one stream that is not kept", all)
				}
				if slow := recent.Slowest(); len(slow) > 0 {
					t.Errorf("%d of the slowest requests are streams", len(slow))
				}
				for _, r := range recent.Routes().Summaries(routes.SinceStart).Routes {
					if r.Class != local.Stream {
						t.Errorf("the route %s has the class %s", r.Route, r.Class)
					}
				}
			})
		}
	})
}

// Over perfline's provider, other instrumentation needs no middleware.
func TestSetStreamWithoutMiddleware(t *testing.T) {
	pl, ctx, _ := start(t, perfline.Config{})
	ctx, span := pl.TracerProvider().Tracer("otelhttp").Start(ctx, "GET /tail", trace.WithSpanKind(trace.SpanKindServer))
	bridgehttp.SetStream(ctx)
	span.End()
	if all := stored(pl).Requests(); len(all) != 1 || all[0].Class != local.Stream {
		t.Errorf("in memory is %+v, want one stream", all)
	}
}

func declared(_ http.ResponseWriter, r *http.Request) { bridgehttp.SetStream(r.Context()) }

// behind returns a handler behind the middleware of a pipeline, and below a mux with its route.
func behind(pl *perfline.Pipeline, r *http.Request, h http.HandlerFunc) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /tail", h)
	return bridgehttp.Server{Timeline: observer.FromContext(r.Context()), TracerProvider: pl.TracerProvider()}.Middleware(mux)
}
