//go:build !race

// The race detector allocates on its own account.

package bridge_test

import (
	"reflect"
	"strconv"
	"testing"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/observer"
)

func TestProviderAllocs(t *testing.T) {
	out := &arrivals{countOnly: true}
	// A timeline keeps the first 2000 entries of a unit that is handed over in parts. These allocations are not the span's.
	tl := observer.NewTimeline(observer.TimelineOptions{ChildBufferSize: -1})
	tp := bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: tl, Exporters: []bridge.Output{out}})
	tracer := tp.Tracer("t")
	unsampled := bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: tl, Sampler: sdktrace.NeverSample(), Exporters: []bridge.Output{out}}).Tracer("t")
	ctx, root := tracer.Start(t.Context(), "root")
	defer root.End()
	attrs := trace.WithAttributes(attribute.String("db.system", "sqlite"), attribute.Int("rows", 3))
	for _, c := range []struct {
		what string
		want float64 // of the span and its context, if nothing else is named
		do   func()
	}{
		{"a child", 1, func() {
			_, s := tracer.Start(ctx, "child")
			s.End()
		}},
		{"a child with attributes", 3, func() { // the options, and the list of attributes
			_, s := tracer.Start(ctx, "child", attrs)
			s.End()
		}},
		{"a root alone", 1, func() {
			_, s := tracer.Start(t.Context(), "root")
			s.End()
		}},
		{"a root with 20 children", 1 + 1 + 20, func() { // with the unit
			ctx, r := tracer.Start(t.Context(), "root")
			for range 20 {
				_, s := tracer.Start(ctx, "child")
				s.End()
			}
			r.End()
		}},
		{"a span that is not sampled", 1, func() {
			_, s := unsampled.Start(t.Context(), "root")
			s.End()
		}},
		{"calls that add nothing", 0, func() {
			root.SetName("root")
			root.SetStatus(codes.Unset, "")
			root.SetAttributes()
			_ = root.IsRecording()
		}},
	} {
		// A hand-over of what waits allocates, too, and comes every 512 spans: that is less than one for a call.
		if got := testing.AllocsPerRun(400, bothproviders.HandedOver(tp, c.do)); got != c.want {
			t.Errorf("%s: %v allocations, want %v", c.what, got, c.want)
		}
	}
}

// A span and its context are one allocation, which fills a size class of the allocator on 64-bit machines.
func TestProviderSpanSize(t *testing.T) {
	tracer := bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: observer.NewTimeline(observer.TimelineOptions{})}).Tracer("t")
	ctx, span := tracer.Start(t.Context(), "span")
	if size := reflect.TypeOf(span).Elem().Size() + reflect.TypeOf(ctx).Elem().Size(); size > 320 || size <= 288 && unsafe.Sizeof(size) == 8 {
		t.Errorf("a span with its context takes %d bytes, want 289 to 320", size)
	}
	start := func() { _, span = tracer.Start(t.Context(), "span") }
	if n := testing.AllocsPerRun(100, start); n != 1 {
		t.Errorf("an open span takes %v allocations, want 1", n)
	}
}

// An attribute over the limit costs a search, and no map of all attributes.
func TestAllocsOverTheLimit(t *testing.T) {
	tp := bridge.NewTracerProvider(bridge.TracerProviderConfig{
		Timeline: observer.NewTimeline(observer.TimelineOptions{}), Sampler: sdktrace.AlwaysSample(),
	})
	_, span := tp.Tracer("t").Start(t.Context(), "full")
	defer span.End()
	for i := range 128 {
		span.SetAttributes(attribute.Int(strconv.Itoa(i), i))
	}
	one := []attribute.KeyValue{attribute.Bool("more", true)}
	if n := testing.AllocsPerRun(100, func() { span.SetAttributes(one...) }); n != 0 {
		t.Errorf("%v allocations for an attribute over the limit, want 0", n)
	}
}
