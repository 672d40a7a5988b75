package bridge_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/observer"
)

// A backend is an output of whatever kind. It hangs until the context ends, or is done at once.
type backend struct {
	hangs bool

	mu     sync.Mutex // guards what follows
	called bool
	inTime bool // the first call came before the context ended
}

func (b *backend) hadTime() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.inTime
}

func (b *backend) ForceFlush(ctx context.Context) error {
	b.mu.Lock()
	b.called, b.inTime = true, b.inTime || !b.called && ctx.Err() == nil
	b.mu.Unlock()
	if b.hangs {
		<-ctx.Done()
	}
	return nil
}

func (b *backend) Shutdown(ctx context.Context) error              { return b.ForceFlush(ctx) }
func (b *backend) Accept([]bridge.Spans)                           {}
func (b *backend) AcceptLogs(bridge.Records)                       {}
func (b *backend) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (b *backend) OnEnd(sdktrace.ReadOnlySpan)                     {}

// Spans and log records do not wait for each other's backend: if one hangs, the other is flushed nevertheless.
func TestFlushOfLogsBesideSpans(t *testing.T) {
	for name, flush := range map[string]func(*bridge.TracerProvider, context.Context) error{
		"ForceFlush": (*bridge.TracerProvider).ForceFlush, "Shutdown": (*bridge.TracerProvider).Shutdown,
	} {
		for hanging, c := range map[string]struct{ exporter, processor, logs bool }{
			"the exporter":           {exporter: true},
			"the processor":          {processor: true},
			"the log output":         {logs: true},
			"all but the log output": {exporter: true, processor: true},
		} {
			t.Run(name+"/"+hanging, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					exporter, processor, logs := &backend{hangs: c.exporter}, &backend{hangs: c.processor}, &backend{hangs: c.logs}
					tp := bridge.NewTracerProvider(bridge.TracerProviderConfig{
						Timeline:  observer.NewTimeline(observer.TimelineOptions{}),
						Exporters: []bridge.Output{exporter}, Processors: []sdktrace.SpanProcessor{processor}, Logs: logs,
					})
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					_ = flush(tp, ctx) // it may say that the time was up
					if !logs.hadTime() {
						t.Error("log records had no time")
					}
					if !exporter.hadTime() || !c.exporter && !processor.hadTime() {
						t.Error("spans had no time")
					}
				})
			})
		}
	}
}
