package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/benchmarks/internal/response"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

const httpGroup = "an HTTP request, spans and metrics"

// An httpWay is a handler behind a middleware, with a tracer provider and
// a meter provider that aggregates. The spans are counted and dropped: sending them
// costs both the same.
type httpWay struct {
	tl       *observer.Timeline
	end      *counting
	provider *sdktrace.TracerProvider
	meters   *sdkmetric.MeterProvider
	handler  http.Handler
}

var page = []byte("<!doctype html><title>a page</title>")

func servePage(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(page) }

func serveMeasured(w http.ResponseWriter, r *http.Request) {
	for range 3 {
		marks.Time(r.Context(), "t").End()
	}
	_, _ = w.Write(page)
}

func (h *httpWay) serveTraced() http.HandlerFunc {
	tracer := h.provider.Tracer("benchmarks")
	return func(w http.ResponseWriter, r *http.Request) {
		for range 3 {
			_, span := tracer.Start(r.Context(), "t")
			span.End()
		}
		_, _ = w.Write(page)
	}
}

func newHTTPWay(way string, measures bool, sampler sdktrace.Sampler) *httpWay {
	h := &httpWay{tl: quiet(), end: &counting{}}
	var p sdktrace.SpanProcessor = h.end
	if way == ourHTTP || way == ourHTTPSizes {
		p = bridge.NewProcessor(p, bridge.WithTimeline(h.tl))
	}
	h.provider = sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler), sdktrace.WithSpanProcessor(p))
	h.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	propagators := propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

	page := servePage
	if measures {
		page = serveMeasured
		if way == theirHTTP {
			page = h.serveTraced()
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /pages/{id}", page)
	h.handler = mux
	switch way {
	case ourHTTP, ourHTTPSizes:
		s := bridge.Server{TracerProvider: h.provider, MeterProvider: h.meters, Propagators: propagators, Timeline: h.tl}
		s.BodySizeMetrics = way == ourHTTPSizes
		h.handler = s.Middleware(mux)
	case theirHTTP:
		h.handler = otelhttp.NewHandler(mux, "", otelhttp.WithTracerProvider(h.provider),
			otelhttp.WithMeterProvider(h.meters), otelhttp.WithPropagators(propagators))
	}
	return h
}

// serve makes n requests, each of its own as net/http's server makes them.
func (h *httpWay) serve(n int) {
	w := response.NewDiscard()
	template := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "http://shop.example/pages/7?q=x", http.NoBody)
	template.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36")
	template.Header.Set("Accept", "text/html")
	for range n {
		r := *template
		w.Reset()
		h.handler.ServeHTTP(w, &r)
	}
}

func (h *httpWay) close() error {
	return errors.Join(h.provider.Shutdown(context.Background()), h.meters.Shutdown(context.Background()))
}

const (
	noHTTP       = "the mux and handler alone"
	theirHTTP    = "otelhttp"
	ourHTTP      = "perfline"
	ourHTTPSizes = "perfline with the metrics of body sizes, as otelhttp"
)

// httpName is a row's name: which middleware, whether the handler measures three
// times, and what is sampled.
func httpName(way string, measures bool, rate string) string {
	if way == noHTTP {
		return noHTTP
	}
	if measures {
		way += ", 3 measures in the handler"
	}
	return way + ", " + rate + " sampled"
}

func httpRows() (rows []*row) {
	add := func(way string, measures bool, rate string, sampler sdktrace.Sampler) {
		rows = append(rows, &row{group: httpGroup, name: httpName(way, measures, rate), procs: 1, open: func() (*bench, error) {
			h := newHTTPWay(way, measures, sampler)
			return &bench{
				burst:  100,
				op:     h.serve,
				settle: func() error { return h.provider.ForceFlush(context.Background()) },
				close:  h.close,
				check: func(calls uint64) error {
					want := calls
					if measures {
						want *= 4
					}
					if way == noHTTP || rate == "0 %" {
						want = 0
					}
					if h.end.spans != want {
						return fmt.Errorf("%d requests, %d spans ended, want %d", calls, h.end.spans, want)
					}
					return nil
				},
			}, nil
		}})
	}
	add(noHTTP, false, "0 %", sdktrace.NeverSample())
	both := func(way string, measures bool) {
		add(way, measures, "100 %", sdktrace.AlwaysSample())
		add(way, measures, "0 %", sdktrace.NeverSample())
	}
	both(theirHTTP, false)
	both(ourHTTP, false)
	both(ourHTTPSizes, false)
	both(theirHTTP, true)
	both(ourHTTP, true)
	return rows
}
