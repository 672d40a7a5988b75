package bridgegrpc_test

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/stats"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/bridge/bridgegrpc"
	"github.com/perfline/perfline/observer"
)

type key struct{}

// names labels with the span's name and keeps those that have not ended.
type names struct{ live map[string]bool }

func (names) Enabled() bool { return true }

func (n names) Begin(_ context.Context, _ trace.SpanContext, name string, _ bool) any {
	n.live[name] = true
	return name
}

func (n names) End(label any, _ string) { delete(n.live, label.(string)) }

func (n names) Attributes(any) []attribute.KeyValue { return nil }

func (n names) Value(ctx context.Context, label, k any) any {
	if k == (key{}) {
		return label
	}
	return ctx.Value(k)
}

// The goroutine of a call is labelled while it runs, and the handler's context
// carries the label.
func TestCallsAreLabelled(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	n := names{map[string]bool{}}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(bridge.NewProcessor(
		sdktrace.NewSimpleSpanProcessor(tracetest.NewInMemoryExporter()), bridge.WithTimeline(tl), bridge.WithLabeler(n))))
	defer func() {
		if err := tp.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	h := bridgegrpc.Server{TracerProvider: tp, Timeline: tl}.Handler()
	ctx := h.TagRPC(t.Context(), &stats.RPCTagInfo{FullMethodName: "/" + buy})
	if !n.live[buy] || ctx.Value(key{}) != buy {
		t.Errorf("%v are labelled, the context carries %v", n.live, ctx.Value(key{}))
	}
	h.HandleRPC(ctx, &stats.Begin{})
	h.HandleRPC(ctx, &stats.End{})
	if len(n.live) != 0 {
		t.Errorf("after the call, %v are labelled", n.live)
	}
}
