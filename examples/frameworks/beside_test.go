package frameworks_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/bridge/bridgetest"
)

// A setUp is a program's instrumentation of one server, with the providers of the test.
type setUp struct {
	rec    *bridgetest.Recorder
	reader *metric.ManualReader
	meters *metric.MeterProvider
}

func newSetUp(t *testing.T, sdk bool) *setUp {
	t.Helper()
	s := &setUp{reader: metric.NewManualReader()}
	s.meters = metric.NewMeterProvider(metric.WithReader(s.reader))
	t.Cleanup(func() { _ = s.meters.Shutdown(context.Background()) })
	if !sdk {
		s.rec = bridgetest.New(t)
		return s
	}
	tp := sdktrace.NewTracerProvider()
	t.Cleanup(func() { _ = tp.Shutdown(context.Background()) })
	s.rec = bridgetest.Over(t, tp)
	return s
}

func (s *setUp) middleware(h http.Handler) http.Handler {
	return bridgehttp.Server{TracerProvider: s.rec.TracerProvider(), MeterProvider: s.meters, Timeline: s.rec.Timeline()}.Middleware(h)
}

func (s *setUp) otelhttp(h http.Handler) http.Handler {
	return otelhttp.NewHandler(h, "server", otelhttp.WithTracerProvider(s.rec.TracerProvider()), otelhttp.WithMeterProvider(s.meters))
}

// routes returns the routes of the metric http.server.request.duration by the scope that recorded it.
func (s *setUp) routes(t *testing.T) map[string]string {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := s.reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	routes := map[string]string{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			points, ok := m.Data.(metricdata.Histogram[float64])
			if !ok || m.Name != "http.server.request.duration" {
				continue
			}
			for _, p := range points.DataPoints {
				route, _ := p.Attributes.Value(semconv.HTTPRouteKey)
				routes[scope.Scope.Name] += route.AsString()
			}
		}
	}
	return routes
}

// The route is right on the request's span and in the metrics, whichever instrumentation is outside, with each router, with and without a mux
// around both, and with each provider. otelhttp inside the middleware knows the patterns of a ServeMux alone, as without perfline: SetRoute sets
// the route of its span, and nothing sets the one of its metric.
func TestRoutesBesideOtelhttp(t *testing.T) {
	for _, f := range allFrameworks {
		for _, around := range []struct {
			name    string
			wrap    func(*setUp, http.Handler) http.Handler
			servers int // spans of kind server
		}{
			{"otelhttp outside", func(s *setUp, h http.Handler) http.Handler { return s.otelhttp(s.middleware(h)) }, 1},
			{"otelhttp inside", func(s *setUp, h http.Handler) http.Handler { return s.middleware(s.otelhttp(h)) }, 2},
		} {
			for _, sdk := range []bool{false, true} {
				for _, mux := range []bool{false, true} {
					name := f.name + "/" + around.name
					if sdk {
						name += ", the SDK's provider"
					}
					if mux {
						name += ", below a mux"
					}
					t.Run(name, func(t *testing.T) {
						s := newSetUp(t, sdk)
						h := around.wrap(s, f.handler())
						if mux {
							root := http.NewServeMux()
							root.Handle("/", h)
							h = root
						}
						srv := httptest.NewServer(h)
						defer srv.Close()
						get(t, srv, "/items/7")
						srv.Close()
						route := "/items/" + f.item
						servers := 0
						for _, span := range s.rec.Spans() {
							if span.SpanKind != trace.SpanKindServer {
								continue
							}
							servers++
							if span.Parent != nil && around.servers == 1 {
								t.Errorf("the server span %q has a parent", span.Name)
							}
							got := span.Attr(semconv.HTTPRouteKey).AsString()
							name := "GET " + route
							if servers == 2 && (mux || f.around) { // otelhttp's name has the pattern of a mux around the router
								name = span.Name
							}
							if span.Name != name || servers == 1 && got != route {
								t.Errorf("server span %d is %q with the route %q, want %q", servers, span.Name, got, "GET "+route)
							}
						}
						if servers != around.servers {
							t.Errorf("%d server spans, want %d:\n%s", servers, around.servers, s.rec.Tree("*"))
						}
						routes := s.routes(t)
						if len(routes) != around.servers {
							t.Errorf("%d metrics, want %d: %v", len(routes), around.servers, routes)
						}
						if around.servers == 2 {
							delete(routes, otelhttp.ScopeName)
						}
						for scope, got := range routes {
							if got != route {
								t.Errorf("the metric of %q has the route %q, want %q", scope, got, route)
							}
						}
					})
				}
			}
		}
	}
}

// A request that no route matches has the method as its name and no route, on each span and in the metrics.
func TestUnmatchedBesideOtelhttp(t *testing.T) {
	for _, f := range allFrameworks {
		for _, inside := range []bool{false, true} {
			s := newSetUp(t, false)
			h := s.otelhttp(s.middleware(f.handler()))
			if inside {
				h = s.middleware(s.otelhttp(f.handler()))
			}
			srv := httptest.NewServer(h)
			get(t, srv, "/nothing")
			srv.Close()
			for _, span := range s.rec.Spans() {
				routed := span.Attr(semconv.HTTPRouteKey).Type() != attribute.EMPTY
				if !f.around && (span.Name != "GET" || routed) {
					t.Errorf("%s, otelhttp inside %v: %q, a route %v", f.name, inside, span.Name, routed)
				}
			}
		}
	}
}
