//go:build !race

// The race detector takes memory of its own.

package bridge_test

import (
	"runtime"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/observer/record"
)

// 100 000 roots that never end, each with a child that did and with events for which there is no room, keep a bounded
// memory while their contexts are forgotten. Every child arrives.
func TestUnitsNeverEnded(t *testing.T) {
	const roots = 100_000
	limits := sdktrace.NewSpanLimits()
	limits.EventCountLimit = 0
	a := &arrivals{countOnly: true}
	tl := observer.NewTimeline(observer.TimelineOptions{})
	tp := bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: tl, Exporters: []bridge.Output{a}, Limits: &limits})
	tracer := tp.Tracer("t")
	before := heapInUse()
	for range roots {
		ctx, root := tracer.Start(t.Context(), "root")
		root.AddEvent("event")
		_, child := tracer.Start(ctx, "child")
		child.End()
	}
	s := (*record.Timeline)(tl).UnitStats()
	if grown := heapInUse() - before; grown > 32<<20 {
		t.Errorf("%d MiB stay for %d roots that never ended", grown>>20, roots)
	}
	if int(a.count.Load())+s.Waiting != roots {
		t.Errorf("%d children arrived, and %d wait, want %d", a.count.Load(), s.Waiting, roots)
	}
	if err := tp.ForceFlush(t.Context()); err != nil {
		t.Error(err)
	}
	if n := a.count.Load(); n != roots {
		t.Errorf("%d children arrived, want %d", n, roots)
	}
}

// Handles that are kept do not grow by events without room.
func TestSpansKeepNoEventsWithoutRoom(t *testing.T) {
	limits := sdktrace.NewSpanLimits()
	limits.EventCountLimit = 0
	tp, _ := ownProvider(t, bridge.TracerProviderConfig{Limits: &limits})
	_, span := tp.Tracer("t").Start(t.Context(), "span")
	before := heapInUse()
	for range 100_000 {
		span.AddEvent("event", trace.WithAttributes(attribute.String("k", "v")))
	}
	if grown := heapInUse() - before; grown > 1<<20 {
		t.Errorf("%d bytes stay for events of a span that may have none", grown)
	}
	span.End()
	runtime.KeepAlive(span)
}
