//go:build !race

// One goroutine at a time has no races, and the race detector would take long.

package bridge_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/garbage"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

// Roots that never end, each with a child that did and with events for which there is no room, have a bounded number
// of journals. Every child arrives.
func TestUnitsNeverEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // journals do not get old
		const roots, most, bytes = 20_000, 16 << 10, 64 << 20
		a := &arrivals{countOnly: true}
		tl, tp := withoutEvents(a)
		tracer := tp.Tracer("t")
		for range roots {
			neverEnded(t.Context(), tracer)
		}
		s := (*record.Timeline)(tl).UnitStats()
		if s.Waiting > most || s.WaitingBytes > bytes {
			t.Errorf("%d units wait with %d bytes, want at most %d with %d", s.Waiting, s.WaitingBytes, most, bytes)
		}
		if int(a.arrived())+s.Waiting != roots {
			t.Errorf("%d children arrived, and %d wait, want %d", a.arrived(), s.Waiting, roots)
		}
		if err := tp.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		if n := a.arrived(); n != roots {
			t.Errorf("%d children arrived, want %d", n, roots)
		}
	})
}

// The journal of a root that never ends keeps nothing of the root's context.
func TestContextsOfUnitsNeverEnded(t *testing.T) {
	_, tp := withoutEvents(&arrivals{countOnly: true})
	var requests garbage.Objects
	for range 100 {
		value := new([64]byte)
		garbage.Watch(&requests, "value of the root's context", value)
		neverEnded(context.WithValue(t.Context(), bigKey{}, value), tp.Tracer("t"))
	}
	requests.Wait(t)
	runtime.KeepAlive(tp)
}

// withoutEvents returns a provider and its timeline. Spans of the provider have no room for events.
func withoutEvents(to bridge.Output) (*observer.Timeline, *bridge.TracerProvider) {
	limits := sdktrace.NewSpanLimits()
	limits.EventCountLimit = 0
	tl := observer.NewTimeline(observer.TimelineOptions{})
	return tl, bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: tl, Exporters: []bridge.Output{to}, Limits: &limits})
}

// neverEnded starts a root with an event and a child, and ends the child only.
func neverEnded(ctx context.Context, tracer trace.Tracer) {
	ctx, root := tracer.Start(ctx, "root")
	root.AddEvent("event")
	_, child := tracer.Start(ctx, "child")
	child.End()
}

// Handles that are kept do not grow by events without room.
func TestSpansKeepNoEventsWithoutRoom(t *testing.T) {
	_, tp := withoutEvents(&arrivals{countOnly: true})
	_, span := tp.Tracer("t").Start(t.Context(), "span")
	var texts garbage.Objects
	for i := range 1000 {
		text := fmt.Sprintf("text %0100d", i)
		garbage.WatchText(&texts, "text of an event", text)
		span.AddEvent("event", trace.WithAttributes(attribute.String("k", text)))
	}
	texts.Wait(t)
	span.End()
	runtime.KeepAlive(span)
}

// The trace states of links count: who sent the messages of a batch has chosen them.
func TestTraceStatesOfLinksAreCounted(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	p := bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: tl, Exporters: []bridge.Output{&arrivals{countOnly: true}}})
	const spans = 100 // room is taken for several at a time
	var many []string
	for i := range 32 {
		many = append(many, fmt.Sprintf("k%d=v", i))
	}
	for name, c := range map[string]struct {
		state string
		least int // bytes
	}{
		"a long member":      {"k=" + strings.Repeat("v", 200), 202},
		"many short members": {strings.Join(many, ","), 32 * int(unsafe.Sizeof([2]string{}))}, // a TraceState is a list of keys and values
	} {
		t.Run(name, func(t *testing.T) {
			state, err := trace.ParseTraceState(c.state)
			if err != nil {
				t.Fatal(err)
			}
			link := trace.Link{SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceState: state})}
			ctx, root := p.Tracer("t").Start(t.Context(), "batch")
			defer root.End()
			booked := func(links ...trace.Link) int {
				before := (*record.Timeline)(tl).UnitStats().WaitingBytes
				for range spans {
					_, s := p.Tracer("t").Start(ctx, "message", trace.WithLinks(links...))
					s.End()
				}
				return (*record.Timeline)(tl).UnitStats().WaitingBytes - before
			}
			if one, two := booked(link), booked(link, link); two-one < spans*c.least {
				t.Errorf("a link takes %d bytes in the books, want at least %d", (two-one)/spans, c.least)
			}
		})
	}
}
