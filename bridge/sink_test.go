package bridge_test

import (
	"context"
	"log/slog"
	"testing"

	"go.opentelemetry.io/otel/attribute"

	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/internal/sinktest"
	"github.com/perfline/perfline/observer"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Each provider is a sink as any other.
func TestSinks(t *testing.T) {
	for _, name := range bothproviders.All() {
		t.Run(name, func(t *testing.T) {
			sinktest.Test(t, func(t *testing.T, tl *observer.Timeline) sinktest.Sink {
				noLimits := limits(func(l *sdktrace.SpanLimits) { l.EventCountLimit = -1 })
				return sink(t, newRig(t, name, bothproviders.Options{Timeline: tl, Limits: noLimits}))
			})
		})
	}
}

func sink(t *testing.T, r *rig) sinktest.Sink {
	ctx, span := r.tracer.Start(context.Background(), "parent")
	return sinktest.Sink{
		Context:  ctx,
		Unsigned: true, // a span does not end before it starts
		Received: func() []sinktest.Record {
			span.End()
			r.flush(t)
			var out []sinktest.Record
			for _, s := range r.got.all() {
				if s.Name() != "parent" {
					out = append(out, sinktest.Record{
						Type: observer.Measure, Name: s.Name(), Start: s.StartTime(),
						Duration: s.EndTime().Sub(s.StartTime()), Attrs: slogAttrs(s.Attributes()),
					})
				}
				for _, e := range s.Events() {
					out = append(out, sinktest.Record{Type: observer.Mark, Name: e.Name, Start: e.Time, Attrs: slogAttrs(e.Attributes)})
				}
			}
			return out
		},
	}
}

func slogAttrs(kvs []attribute.KeyValue) (out []slog.Attr) {
	for _, kv := range kvs {
		out = append(out, slog.Any(string(kv.Key), kv.Value.AsInterface()))
	}
	return out
}
