package bridgegrpc

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/grpc/codes"

	"github.com/perfline/perfline/bridge/internal/kinds"
)

// Methods that clients make up are counted and forgotten.
func TestKeptSetsAreBounded(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	meter := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithCardinalityLimit(-1)).Meter("")
	histogram, err := meter.Float64Histogram("h")
	if err != nil {
		t.Fatal(err)
	}
	made := newDurations(histogram)
	d := &made
	const each = 3 * kinds.Most / 4
	var wg sync.WaitGroup
	for g := range 2 {
		wg.Go(func() {
			for range 2 {
				for i := range each {
					d.record(context.Background(), strconv.Itoa(g*each+i), codes.Unknown, true, time.Second)
				}
			}
		})
	}
	wg.Wait()
	if n := d.sets.Len(); n != kinds.Most {
		t.Errorf("%d sets are kept, want %d", n, kinds.Most)
	}
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	points := all.ScopeMetrics[0].Metrics[0].Data.(metricdata.Histogram[float64]).DataPoints
	if len(points) != 2*each {
		t.Errorf("%d points, want %d", len(points), 2*each)
	}
	for _, p := range points {
		if p.Count != 2 || p.Attributes.Len() != 4 {
			t.Errorf("%v: counted %d times, want 2", p.Attributes.ToSlice(), p.Count)
		}
	}
}

// Without metrics there are no attributes to make.
func TestNoMetrics(t *testing.T) {
	d := &durations{histogram: noop.Float64Histogram{}}
	d.record(context.Background(), "m", codes.OK, false, time.Second)
	if n := d.sets.Len(); n != 0 {
		t.Errorf("%d sets are kept", n)
	}
}
