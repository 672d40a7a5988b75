//go:build lab

package bridge_test

import (
	"runtime"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// The heap has little for 100 000 roots that never end, after the program has forgotten their contexts.
func TestLabUnitsNeverEnded(t *testing.T) {
	const roots = 100_000
	tl, tp := withoutEvents(&arrivals{countOnly: true})
	tracer := tp.Tracer("t")
	before := heapInUse()
	for range roots {
		neverEnded(t.Context(), tracer)
	}
	if grown := heapInUse() - before; grown > 32<<20 {
		t.Errorf("%d MiB stay for %d roots that never ended", grown>>20, roots)
	}
	runtime.KeepAlive(tl)
	runtime.KeepAlive(tp)
}

// The heap has little for an open span with 100 000 events for which there is no room.
func TestLabEventsWithoutRoom(t *testing.T) {
	_, tp := withoutEvents(&arrivals{countOnly: true})
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
