package perfline_test

import (
	"runtime"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/perfline/perfline"
)

// runtimeScope is the scope of contrib's instrumentation of the runtime.
const runtimeScope = "go.opentelemetry.io/contrib/instrumentation/runtime"

// runtimeMetrics returns the sum of the points of each of the runtime's metrics that a reader gets.
func runtimeMetrics(t *testing.T, reader sdkmetric.Reader) map[string]int64 {
	t.Helper()
	var got metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &got); err != nil {
		t.Fatal(err)
	}
	values := map[string]int64{}
	for _, s := range got.ScopeMetrics {
		if s.Scope.Name != runtimeScope {
			continue
		}
		for _, m := range s.Metrics {
			values[m.Name] += 0
			if sum, ok := m.Data.(metricdata.Sum[int64]); ok {
				for _, p := range sum.DataPoints {
					values[m.Name] += p.Value
				}
			}
		}
	}
	return values
}

// A reader of metrics gets the runtime's, by the names of OpenTelemetry's conventions, until Shutdown.
func TestRuntimeMetrics(t *testing.T) {
	before := otel.GetMeterProvider()
	t.Cleanup(func() { otel.SetMeterProvider(before) })
	reader := sdkmetric.NewManualReader()
	pl, _, log := start(t, perfline.Config{Service: "shop", Metrics: reader})
	got := runtimeMetrics(t, reader)
	for name, least := range map[string]int64{
		"go.memory.used": 1 << 20, "go.memory.allocated": 1 << 10, "go.memory.allocations": 100, "go.memory.gc.goal": 1 << 20,
		"go.goroutine.count": 2, "go.processor.limit": 1, "go.config.gogc": 1,
	} {
		if got[name] < least {
			t.Errorf("%s is %d, want at least %d", name, got[name], least)
		}
	}
	if want := int64(runtime.GOMAXPROCS(0)); got["go.processor.limit"] != want {
		t.Errorf("go.processor.limit is %d, want %d", got["go.processor.limit"], want)
	}
	for name := range got {
		if !strings.HasPrefix(name, "go.") {
			t.Errorf("%s arrived: metrics by old names are an experiment that is off", name)
		}
	}
	if err := pl.Shutdown(patient(t)); err != nil {
		t.Error(err)
	}
	if log.Len() > 0 {
		t.Errorf("logged %s", log)
	}
}

// A variable of contrib's adds the metrics by their old names.
func TestDeprecatedRuntimeMetrics(t *testing.T) {
	before := otel.GetMeterProvider()
	t.Cleanup(func() { otel.SetMeterProvider(before) })
	t.Setenv("OTEL_GO_X_DEPRECATED_RUNTIME_METRICS", "1")
	reader := sdkmetric.NewManualReader()
	_, _, log := start(t, perfline.Config{Service: "shop", Metrics: reader})
	got := runtimeMetrics(t, reader)
	for _, name := range []string{"go.goroutine.count", "process.runtime.go.goroutines"} {
		if got[name] < 2 {
			t.Errorf("%s is %d, want at least 2", name, got[name])
		}
	}
	if log.Len() > 0 {
		t.Errorf("logged %s", log)
	}
}

// Without metrics, a program's own meter provider gets none of the runtime.
func TestNoRuntimeMetricsUnlessAsked(t *testing.T) {
	before := otel.GetMeterProvider()
	t.Cleanup(func() { otel.SetMeterProvider(before) })
	reader := sdkmetric.NewManualReader()
	own := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	otel.SetMeterProvider(own)
	start(t, perfline.Config{Service: "shop"})
	if got := runtimeMetrics(t, reader); len(got) > 0 {
		t.Errorf("got %v without Config.Metrics and OTEL_METRICS_EXPORTER", got)
	}
}
