package perfline_test

import (
	"net/http"
	"slices"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/profiling/pyroscope"
)

// The engine in use shows in Stats, in the counts, which the page shows, and in the metrics.
func TestEngineIsShown(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	before := otel.GetMeterProvider()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	t.Cleanup(func() { otel.SetMeterProvider(before) })
	url, _ := takesProfiles(t, http.StatusOK)
	pl, _, _ := start(t, perfline.Config{Profiles: pyroscope.Config{ServerAddress: url}})

	forceSample(stateOf(pl)) // or it may be paused, for the answer whether the CPU profiler is free
	s := pl.Stats().Profiles
	if s.Engine != "cpu" && (s.Engine != "window" || s.Fallback == "") {
		t.Errorf("Stats has the engine %q and the reason %q, want cpu, or window and a reason", s.Engine, s.Fallback)
	}
	shown := func(c exporter.Count) bool {
		return c.Group == "perfline.profiling.engine" && c.Name == string(s.Engine) && c.N == 1 && c.Now
	}
	if all := pl.Counts(); !slices.ContainsFunc(all, shown) {
		t.Errorf("the counts lack the engine %q: %+v", s.Engine, all)
	}
	if got := valueOf(t, reader, "perfline.profiling.engine", string(s.Engine)); got != 1 {
		t.Errorf("the metric of the engine %q is %d, want 1", s.Engine, got)
	}
	if got := valueOf(t, reader, "perfline.profiling.state", "started"); got != 1 {
		t.Errorf("the metric of the state is %d, want 1", got)
	}
	if err := pl.Shutdown(patient(t)); err != nil {
		t.Error(err)
	}
}

// valueOf is the value of an up-down counter whose attribute of the same name is value, 0 if there is none.
func valueOf(t *testing.T, reader sdkmetric.Reader, name, value string) int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			sum, ok := m.Data.(metricdata.Sum[int64])
			if !ok || m.Name != name {
				continue
			}
			for _, p := range sum.DataPoints {
				if v, _ := p.Attributes.Value(attribute.Key(name)); v.AsString() == value {
					return p.Value
				}
			}
		}
	}
	return 0
}
