package bridgelog_test

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge/bridgelog"
	"github.com/perfline/perfline/exporter"
)

// A record with four attributes, from the log API into the delivery's queue. "the SDK alone" makes the record and does nothing with it.
func BenchmarkRecord(b *testing.B) {
	d, err := exporter.NewLogDelivery(exporter.Config{Sender: &refusing{}})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = d.Shutdown(context.Background()) }()
	ctx := trace.ContextWithRemoteSpanContext(b.Context(), foreign)
	r := event("", attribute.Int("a", 1), attribute.String("b", "text"), attribute.Bool("c", true), attribute.Float64("d", 1))
	for name, p := range map[string]sdklog.Processor{
		"delivered":     bridgelog.NewProcessor(d, nil),
		"the SDK alone": hook(func(context.Context, *sdklog.Record) {}),
	} {
		l := sdklog.NewLoggerProvider(sdklog.WithProcessor(p)).Logger("test")
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.Emit(ctx, r)
			}
		})
	}
}
