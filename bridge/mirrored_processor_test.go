package bridge_test

import (
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/record/mirror"
	"github.com/perfline/perfline/observer"
)

// Nothing tells a processor the ends of spans after Shutdown: the black box must not call them open for ever.
func TestShutdownEndsTheMirror(t *testing.T) {
	mem := make([]byte, mirror.LargeSlot+mirror.RegionTail)
	tl := observer.NewTimeline(observer.TimelineOptions{})
	region := mirror.NewRegion(mirror.NewMemory(mem, func(err error) { t.Error(err) }), 0, 1, 0, func() uint64 { return 0 }, func() {})
	(*record.Timeline)(tl).SetMirror(region)
	tp := sdktrace.NewTracerProvider()
	p := bridge.NewProcessor(bridge.ProcessorConfig{Timeline: tl, TracerProvider: tp})
	tp.RegisterSpanProcessor(p)
	ctx, root := tp.Tracer("t").Start(t.Context(), "root")
	defer root.End()
	_, child := tp.Tracer("t").Start(ctx, "child")
	defer child.End()
	if open := mirror.Requests(mem, 1, 0); len(open) != 1 || len(open[0].Entries) != 1 {
		t.Fatalf("open: %+v", open)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if open := mirror.Requests(mem, 1, 0); len(open) > 0 {
		t.Errorf("open after Shutdown: %+v", open)
	}
}
