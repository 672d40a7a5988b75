package bridgehttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/observer"
)

// exportedSpans counts the spans that an exporter gets.
type exportedSpans struct{ n int }

func (e *exportedSpans) Accept(all []bridge.Spans) {
	for _, s := range all {
		e.n += s.Count
	}
}
func (e *exportedSpans) ForceFlush(context.Context) error { return nil }
func (e *exportedSpans) Shutdown(context.Context) error   { return nil }

// The exemplar of http.server.request.duration leads to the request's span if that is exported, also if it is because a policy keeps it. With
// OpenTelemetry's default filter, other requests have none.
func TestServerExemplars(t *testing.T) {
	for _, c := range []struct {
		name    string
		sampler sdktrace.Sampler
		keep    bridge.KeepPolicy
		want    bool
	}{
		{"sampled", sdktrace.AlwaysSample(), bridge.KeepPolicy{}, true},
		{"not sampled", sdktrace.NeverSample(), bridge.KeepPolicy{Off: true}, false},
		{"not sampled, may be kept", sdktrace.NeverSample(), bridge.KeepPolicy{}, false},
		{"kept in memory", sdktrace.NeverSample(), bridge.KeepPolicy{Share: 1}, false},
		{"kept and exported", sdktrace.NeverSample(), bridge.KeepPolicy{Share: 1, Export: true}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			exported := &exportedSpans{}
			spans := bridge.NewTracerProvider(bridge.TracerProviderConfig{
				Timeline: observer.NewTimeline(observer.TimelineOptions{}), Sampler: c.sampler, Keep: &c.keep, Exporters: []bridge.Output{exported},
			})
			exemplarOf(t, spans, c.want)
			if err := spans.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			if (exported.n > 0) != c.want {
				t.Errorf("%d spans are exported; want some: %t", exported.n, c.want)
			}
		})
	}
	t.Run("sampled by the SDK", func(t *testing.T) { exemplarOf(t, sdktrace.NewTracerProvider(), true) })
	t.Run("not sampled by the SDK", func(t *testing.T) {
		exemplarOf(t, sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())), false)
	})
}

// exemplarOf serves a request, and checks whether the metric has an exemplar that leads to its span.
func exemplarOf(t *testing.T, spans trace.TracerProvider, want bool) {
	t.Helper()
	reader := sdkmetric.NewManualReader()
	var of trace.SpanContext
	h := bridgehttp.Server{
		TracerProvider: spans, MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), Propagators: propagation.TraceContext{},
		Timeline: observer.NewTimeline(observer.TimelineOptions{}),
	}.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { of = trace.SpanContextFromContext(r.Context()) }))
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody))
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	p := all.ScopeMetrics[0].Metrics[0].Data.(metricdata.Histogram[float64]).DataPoints[0] //nolint:forcetypeassert // it panics then
	traceID, spanID := of.TraceID(), of.SpanID()
	switch {
	case !want && len(p.Exemplars) > 0:
		t.Errorf("the exemplars are %+v, want none", p.Exemplars)
	case want && (len(p.Exemplars) != 1 || string(p.Exemplars[0].TraceID) != string(traceID[:]) || string(p.Exemplars[0].SpanID) != string(spanID[:]) || p.Exemplars[0].Value != p.Sum):
		t.Errorf("the exemplars are %+v, want one of %v s that leads to %s %s", p.Exemplars, p.Sum, traceID, spanID)
	}
}

// The exemplar of http.client.request.duration leads to the call's span.
func TestClientExemplars(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	for _, sampled := range []bool{true, false} {
		ended, sampler := tracetest.NewSpanRecorder(), sdktrace.NeverSample()
		if sampled {
			sampler = sdktrace.AlwaysSample()
		}
		tl := observer.NewTimeline(observer.TimelineOptions{})
		spans := bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: tl, Sampler: sampler, Processors: []sdktrace.SpanProcessor{ended}})
		reader := sdkmetric.NewManualReader()
		base := &http.Transport{}
		client := &http.Client{Transport: bridgehttp.Client{
			TracerProvider: spans, MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), Propagators: propagation.TraceContext{},
		}.Transport(base)}
		request, err := http.NewRequestWithContext(observer.NewContext(t.Context(), tl), http.MethodGet, server.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		base.CloseIdleConnections()
		var all metricdata.ResourceMetrics
		if err := reader.Collect(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		p := all.ScopeMetrics[0].Metrics[0].Data.(metricdata.Histogram[float64]).DataPoints[0] //nolint:forcetypeassert // it panics then
		switch {
		case !sampled && len(p.Exemplars) > 0:
			t.Errorf("not sampled: the exemplars are %+v, want none", p.Exemplars)
		case sampled && (len(p.Exemplars) != 1 || len(ended.Ended()) != 1):
			t.Errorf("%d exemplars and %d spans, want 1 and 1", len(p.Exemplars), len(ended.Ended()))
		case sampled:
			of := ended.Ended()[0].SpanContext()
			traceID, spanID := of.TraceID(), of.SpanID()
			if e := p.Exemplars[0]; string(e.TraceID) != string(traceID[:]) || string(e.SpanID) != string(spanID[:]) {
				t.Errorf("the exemplar is %+v, want one that leads to %s %s", e, traceID, spanID)
			}
		}
	}
}
