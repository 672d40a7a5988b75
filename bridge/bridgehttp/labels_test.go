package bridgehttp_test

import (
	"net/http"
	"net/http/httptest"
	"runtime/pprof"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/internal/spanlabels"
	"github.com/perfline/perfline/observer"
)

// The goroutine of a request is labelled while it is served, for spans of other instrumentation too, and the handler's
// context carries the label.
func TestRequestsAreLabelled(t *testing.T) {
	defer spanlabels.Hold(spanlabels.EverySpan)()
	r := withProcessor(t)
	tl, providers := r.tl, map[string]trace.TracerProvider{"perfline's": r.provider}
	if sdk, ok := r.provider.(*sdktrace.TracerProvider); ok {
		providers = map[string]trace.TracerProvider{"the provider that labels": spanlabels.WrapTracerProvider(sdk), "the SDK's in it": sdk}
	}
	for name, tp := range providers {
		t.Run(name, func(t *testing.T) {
			h := bridgehttp.Server{TracerProvider: tp, Timeline: tl}.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if now := spanlabels.Innermost(); now == nil || now.Name() != "GET" {
					t.Errorf("the goroutine works for %v, want the span of GET", now)
				}
				if name, _ := pprof.Label(r.Context(), "span_name"); name != "GET" {
					t.Errorf("the context carries a label of %q, want GET", name)
				}
				_, span := tp.Tracer("theirs").Start(r.Context(), "foreign")
				if now := spanlabels.Innermost(); now == nil || now.Name() != "foreign" {
					t.Errorf("under a span of other instrumentation, the goroutine works for %v", now)
				}
				span.End()
				if n := len(observer.FromContext(r.Context()).EntriesByName("foreign")); n != 1 {
					t.Errorf("the foreign span is %d entries of the request's timeline", n)
				}
			}))
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody))
			if now := spanlabels.Innermost(); now != nil {
				t.Errorf("after the request, the goroutine works for %q", now.Name())
			}
		})
	}
}
