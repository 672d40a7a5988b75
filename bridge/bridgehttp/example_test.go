package bridgehttp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// The client of a stream leaves when the client has read enough: such a request does not fail.
func ExampleSetStream() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /log", func(w http.ResponseWriter, r *http.Request) {
		bridgehttp.SetStream(r.Context())
		for _, line := range []string{"started", "stopped"} {
			_, _ = fmt.Fprintln(w, line)
			_ = http.NewResponseController(w).Flush()
		}
	})
	w := httptest.NewRecorder()
	bridgehttp.Middleware(mux).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/log", http.NoBody))
	fmt.Print(w.Body)
	// Output:
	// started
	// stopped
}

// The middleware goes around the mux. Most programs have one timeline and one provider, and call
// bridgehttp.Middleware: it takes observer.ProcessTimeline and otel.SetTracerProvider's.
func ExampleServer_Middleware() {
	ctx := context.Background()
	timeline := observer.NewTimeline(observer.TimelineOptions{})
	backend := tracetest.NewInMemoryExporter()
	provider := bridge.NewTracerProvider(bridge.TracerProviderConfig{
		Timeline: timeline, Processors: []sdktrace.SpanProcessor{sdktrace.NewSimpleSpanProcessor(backend)},
	})
	defer func() { _ = provider.Shutdown(ctx) }()

	mux := http.NewServeMux()
	mux.HandleFunc("GET /products/{id}", func(_ http.ResponseWriter, r *http.Request) {
		marks.Mark(r.Context(), "cache.miss")
		ctx, t := marks.Start(r.Context(), "checkout")
		defer t.End()
		marks.Time(ctx, "tariff").End()
	})
	handler := bridgehttp.Server{TracerProvider: provider, Timeline: timeline}.Middleware(mux)
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/products/7", nil))

	if err := provider.ForceFlush(ctx); err != nil {
		fmt.Println(err)
		return
	}
	spans := backend.GetSpans()
	names := map[string]string{}
	for _, s := range spans {
		names[s.SpanContext.SpanID().String()] = s.Name
	}
	for _, s := range spans {
		fmt.Printf("%s, under %q, %d events\n", s.Name, names[s.Parent.SpanID().String()], len(s.Events))
	}
	// Unordered output:
	// GET /products/{id}, under "", 1 events
	// checkout, under "GET /products/{id}", 0 events
	// tariff, under "checkout", 0 events
}
