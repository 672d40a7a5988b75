package bridge_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter/otlpenc"
	"github.com/perfline/perfline/observer"
)

// A backend is an output of whatever kind. It hangs until the context ends, or is done at once.
type backend struct {
	hangs  bool
	inTime bool // the first call came before the context ended
	called bool
}

func (b *backend) ForceFlush(ctx context.Context) error {
	if !b.called {
		b.called, b.inTime = true, ctx.Err() == nil
	}
	if b.hangs {
		<-ctx.Done()
	}
	return nil
}

func (b *backend) Shutdown(ctx context.Context) error              { return b.ForceFlush(ctx) }
func (b *backend) Accept(otlpenc.Spans)                            {}
func (b *backend) AcceptLogs(otlpenc.Records)                      {}
func (b *backend) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (b *backend) OnEnd(sdktrace.ReadOnlySpan)                     {}

// Spans and log records do not wait for each other's backend: if one hangs, the other is flushed nevertheless.
func TestFlushOfLogsBesideSpans(t *testing.T) {
	for name, flush := range map[string]func(*bridge.TracerProvider, context.Context) error{
		"ForceFlush": (*bridge.TracerProvider).ForceFlush, "Shutdown": (*bridge.TracerProvider).Shutdown,
	} {
		for hanging, c := range map[string]struct{ exporter, processor, logs backend }{
			"the exporter hangs":      {exporter: backend{hangs: true}},
			"the processor hangs":     {processor: backend{hangs: true}},
			"the log records' hangs":  {logs: backend{hangs: true}},
			"all but the logs' hangs": {exporter: backend{hangs: true}, processor: backend{hangs: true}},
		} {
			t.Run(name+"/"+hanging, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					tp := bridge.NewTracerProvider(bridge.TracerProviderConfig{
						Timeline:  observer.NewTimeline(observer.TimelineOptions{}),
						Exporters: []bridge.Output{&c.exporter}, Processors: []sdktrace.SpanProcessor{&c.processor}, Logs: &c.logs,
					})
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					_ = flush(tp, ctx) // it may say that the time was up
					if !c.logs.inTime {
						t.Error("log records had no time")
					}
					if !c.exporter.inTime || !c.exporter.hangs && !c.processor.inTime {
						t.Error("spans had no time")
					}
				})
			})
		}
	}
}
