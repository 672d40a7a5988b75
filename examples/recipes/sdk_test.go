package recipes_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/marks"
)

// Beside OpenTelemetry's SDK and otelhttp, a sampled request is one server span with its marks and measures, and is on the page. A
// request that the sampler drops is nowhere, although it failed. docs/beside.md has the rows.
func TestBesideSDK(t *testing.T) {
	before, propagator := otel.GetTracerProvider(), otel.GetTextMapPropagator()
	defer func() {
		otel.SetTracerProvider(before)
		otel.SetTextMapPropagator(propagator)
	}()
	backend := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(backend))
	pl, err := perfline.Start(t.Context(), perfline.Config{TracerProvider: provider, Propagator: propagation.TraceContext{}})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /items", func(w http.ResponseWriter, r *http.Request) {
		marks.Mark(r.Context(), "cache.miss")
		defer marks.Time(r.Context(), "render").End()
		w.WriteHeader(http.StatusInternalServerError)
	})
	handler := otelhttp.NewHandler(bridgehttp.Middleware(mux), "server")
	for _, parent := range []string{"", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"} {
		r := httptest.NewRequest(http.MethodGet, "/items", nil)
		r.Header.Set("traceparent", parent)
		handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	if err := pl.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	spans := backend.GetSpans()
	if len(spans) != 2 || spans[0].Name != "render" || spans[1].SpanKind != trace.SpanKindServer ||
		spans[0].Parent.SpanID() != spans[1].SpanContext.SpanID() || len(spans[1].Events) != 1 || spans[1].Events[0].Name != "cache.miss" {
		t.Errorf("the backend has %+v, want a server span with a mark and a measure", spans)
	}
	if newest := pl.Recent().Newest(); len(newest) != 1 || !newest[0].Root().Failed {
		t.Errorf("the page has the requests %+v, want the sampled one, which failed", newest)
	}
	if err := provider.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
