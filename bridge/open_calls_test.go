package bridge

import (
	"encoding/binary"
	"testing"

	"go.opentelemetry.io/otel/trace"
	"pgregory.net/rapid"
)

// Open calls never include a call that has ended, or one that never began. Two calls with the same
// place fit.
func TestOpenCalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := func(n int) (id trace.SpanID) { // of four in one pair of places
			binary.NativeEndian.PutUint64(id[:], uint64(n/4+1)*callSlots*8+uint64(n%4))
			return id
		}
		var calls openCalls
		open, peak, replaced := map[int]bool{}, 0, 0
		for _, n := range rapid.SliceOf(rapid.IntRange(0, 15)).Draw(t, "calls") {
			if open[n] {
				calls.remove(id(n))
				delete(open, n)
			} else {
				if calls.add(id(n)) {
					replaced++
				}
				open[n] = true
			}
			if peak = max(peak, len(open)); len(open) == 0 {
				peak, replaced = 0, 0
			}
			known := 0
			for n := range 16 {
				switch has := calls.has(id(n)); {
				case has && !open[n]:
					t.Fatalf("call %d is not open", n)
				case has:
					known++
				}
			}
			if known < len(open)-replaced {
				t.Fatalf("%d of %d calls are known, and only %d were counted as forgotten", known, len(open), replaced)
			}
			if peak <= 2 && known < len(open) {
				t.Fatalf("%d of %d calls are known", known, len(open))
			}
		}
		if calls.has(trace.SpanID{}) {
			t.Fatal("no span is an open call")
		}
	})
}
