package peers_test

import (
	"context"
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/leaktest"
	"github.com/perfline/perfline/observer"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A rig is a process of its own: a timeline, providers, and what arrives behind
// them.
type rig struct {
	tl       *observer.Timeline
	provider *sdktrace.TracerProvider
	meters   *sdkmetric.MeterProvider
	spans    *tracetest.SpanRecorder
	reader   *sdkmetric.ManualReader
}

// newRig has the bridge beside the recorder if it is bridged, and else the recorder alone.
func newRig(t testing.TB, bridged bool, others ...sdktrace.SpanProcessor) *rig {
	t.Helper()
	r := &rig{tl: observer.NewTimeline(observer.TimelineOptions{}), spans: tracetest.NewSpanRecorder(), reader: sdkmetric.NewManualReader()}
	var opts []sdktrace.TracerProviderOption
	for _, p := range append([]sdktrace.SpanProcessor{r.spans}, others...) {
		opts = append(opts, sdktrace.WithSpanProcessor(p))
	}
	if bridged {
		opts = append(opts, sdktrace.WithSpanProcessor(bridge.NewProcessor(bridge.ProcessorConfig{Timeline: r.tl})))
	}
	r.provider = sdktrace.NewTracerProvider(opts...)
	r.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.reader))
	t.Cleanup(func() {
		if err := r.provider.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := r.meters.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// ended are the spans that arrived, in the order of their start.
func (r *rig) ended(t *testing.T) []sdktrace.ReadOnlySpan {
	t.Helper()
	if err := r.provider.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return inOrder(r.spans.Ended())
}

// measured are the metrics that were recorded.
func (r *rig) measured(t *testing.T) []metricdata.Metrics {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := r.reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	var metrics []metricdata.Metrics
	for _, s := range all.ScopeMetrics {
		metrics = append(metrics, s.Metrics...)
	}
	return metrics
}
