package live

import (
	"context"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter/requests"
)

func TestHeldIsBounded(t *testing.T) {
	h := newHeld(2, 1<<20)
	one := func(n byte) requests.Snapshot { return requests.Snapshot{TraceID: [16]byte{n}} }
	for _, n := range []byte{0, 1, 0, 2} { // the first one again: it is newer than the second
		h.add(one(n))
	}
	for n, want := range []bool{true, false, true} {
		if _, got := h.get(idOf(one(byte(n)))); got != want {
			t.Errorf("request %d is held: %v", n, got)
		}
	}
}

// Large requests are held until they have too many bytes together.
func TestHeldIsBoundedInBytes(t *testing.T) {
	recent := requests.NewRecent(requests.Config{})
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recent)).Tracer("t")
	for range 20 {
		_, s := tracer.Start(context.Background(), "large", trace.WithAttributes(attribute.String("text", strings.Repeat("x", 100_000))))
		s.End()
	}
	newest, _ := recent.Snapshots()
	const most = 1 << 20
	h := newHeld(100, most)
	h.addNew(newest)
	bytes, count := 0, 0
	for i, s := range newest {
		if _, ok := h.get(idOf(s)); ok {
			bytes += s.Bytes()
			if count++; count != i+1 {
				t.Errorf("request %d is held, a newer one is not", i)
			}
		}
	}
	if len(newest) != 20 || bytes > most || bytes < most/2 || bytes != h.bytes || len(h.requests) != count {
		t.Errorf("%d of %d requests with %d bytes are held, want some with at most %d", count, len(newest), bytes, most)
	}
}
