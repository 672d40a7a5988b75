package bridgelog_test

import (
	"context"
	"sync"
	"testing"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/leaktest"
	"github.com/perfline/perfline/observer"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// newTracers are providers of spans, which call the processor at the end of each span.
var newTracers = map[string]func(*testing.T, sdktrace.Sampler, sdktrace.SpanProcessor) trace.TracerProvider{
	"perfline": func(t *testing.T, s sdktrace.Sampler, sp sdktrace.SpanProcessor) trace.TracerProvider {
		p := bridge.NewTracerProvider(bridge.TracerProviderConfig{
			Timeline: observer.NewTimeline(observer.TimelineOptions{}), Sampler: s, Processors: []sdktrace.SpanProcessor{sp},
		})
		t.Cleanup(func() { _ = p.Shutdown(context.Background()) })
		return p
	},
	"SDK": func(t *testing.T, s sdktrace.Sampler, sp sdktrace.SpanProcessor) trace.TracerProvider {
		p := sdktrace.NewTracerProvider(sdktrace.WithSampler(s), sdktrace.WithSpanProcessor(sp))
		t.Cleanup(func() { _ = p.Shutdown(context.Background()) })
		return p
	},
}

// overBoth runs a test over both providers of spans.
func overBoth(t *testing.T, test func(*testing.T, trace.Tracer, *tracetest.SpanRecorder)) {
	t.Helper()
	for name, start := range newTracers {
		t.Run(name, func(t *testing.T) {
			ended := tracetest.NewSpanRecorder()
			test(t, start(t, sdktrace.AlwaysSample(), ended).Tracer("test"), ended)
		})
	}
}

// A hook is a processor of logs that calls a function for each record.
type hook func(context.Context, *sdklog.Record)

func (h hook) OnEmit(ctx context.Context, r *sdklog.Record) error {
	h(ctx, r)
	return nil
}
func (hook) Enabled(context.Context, sdklog.EnabledParameters) bool { return false }
func (hook) ForceFlush(context.Context) error                       { return nil }
func (hook) Shutdown(context.Context) error                         { return nil }

// records are what reached the end of a pipeline.
type records struct {
	mu  sync.Mutex
	all []sdklog.Record
}

func (r *records) add(_ context.Context, record *sdklog.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, record.Clone())
}
