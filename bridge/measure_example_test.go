package bridge_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// The histogram counts all measures of a name. The sampler drops their spans here.
func ExampleNewMeasureHistogram() {
	timeline := observer.NewTimeline(observer.TimelineOptions{})
	spans := bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: timeline, Sampler: sdktrace.NeverSample()})
	reader := sdkmetric.NewManualReader()
	histogram, err := bridge.NewMeasureHistogram(bridge.MeasureConfig{
		Names:         []string{"stock.*"},
		Attributes:    []string{"site"},
		Timeline:      timeline,
		MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer histogram.Stop()

	ctx, span := spans.Tracer("shop").Start(context.Background(), "order")
	for _, site := range []string{"north", "south", "north"} {
		marks.Time(ctx, "stock.query", slog.String("site", site), slog.Int("part", 1009)).End()
	}
	marks.Time(ctx, "payment.charge").End()
	took := 2 * time.Millisecond
	_, err = marks.Measure(ctx, "stock.wait", marks.MeasureOptions{Start: marks.At(0), Duration: &took})
	span.End()

	var got metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &got); err != nil {
		fmt.Println(err)
	}
	for _, m := range got.ScopeMetrics[0].Metrics {
		fmt.Println(m.Name, m.Unit)
		for _, p := range m.Data.(metricdata.Histogram[float64]).DataPoints {
			fmt.Println(p.Count, p.Attributes.Encoded(attribute.DefaultEncoder()))
		}
	}
	fmt.Println(err, histogram.Stats().Series)
	// Unordered output:
	// perfline.measure.duration s
	// 2 perfline.measure.name=stock.query,site=north
	// 1 perfline.measure.name=stock.query,site=south
	// 1 perfline.measure.name=stock.wait
	// <nil> 3
}
