package bridge

import (
	"encoding/binary"
	"sync/atomic"

	"go.opentelemetry.io/otel/trace"
)

// openCalls remembers the open client spans of a provider, so that a request whose parent is such a
// span is known as a part of the caller's request. openCalls has a fixed size, and takes no lock:
// of more calls at the same time than fit, a later one replaces an earlier one. Requests of
// forgotten calls count as requests of their own.
type openCalls [callSlots]atomic.Uint64

const callSlots = 4096 // 32 KiB

// places returns the two places of a span.
func (c *openCalls) places(id trace.SpanID) (first, second *atomic.Uint64, value uint64) {
	value = binary.NativeEndian.Uint64(id[:])
	i := value % callSlots
	return &c[i], &c[i^1], value
}

func (c *openCalls) add(id trace.SpanID) {
	first, second, value := c.places(id)
	if !first.CompareAndSwap(0, value) && !second.CompareAndSwap(0, value) {
		first.Store(value)
	}
}

func (c *openCalls) remove(id trace.SpanID) {
	first, second, value := c.places(id)
	if !first.CompareAndSwap(value, 0) {
		second.CompareAndSwap(value, 0)
	}
}

func (c *openCalls) has(id trace.SpanID) bool {
	first, second, value := c.places(id)
	return id.IsValid() && (first.Load() == value || second.Load() == value)
}
