//go:build lab

package bridge_test

import (
	"fmt"
	"runtime"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// The heap has little more for an open span than its limits allow, whatever is added to it.
func TestLabMemoryOfLimits(t *testing.T) {
	for _, zero := range []bool{false, true} {
		most := 1 << 19
		if zero {
			most = 1 << 15
		}
		tracer := newPerfline(t, providerConfig{limits: limits(func(l *sdktrace.SpanLimits) {
			if zero {
				*l = sdktrace.SpanLimits{}
			}
		})}).Tracer("test")
		for name, fill := range fillings() {
			before := heapInUse()
			s := fill(t.Context(), tracer, 40_000, func(i int) string { return fmt.Sprintf("text %d %0100d", i, i) })
			if grown := heapInUse() - before; grown > most {
				t.Errorf("%s with limits of zero: %v: the span takes %d bytes, want at most %d", name, zero, grown, most)
			}
			s.End()
		}
	}
}

// heapInUse returns the bytes of the heap that are in use.
func heapInUse() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
