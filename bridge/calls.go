package bridge

import (
	"encoding/binary"
	"sync/atomic"

	"go.opentelemetry.io/otel/trace"
)

// openCalls contains the ids of a provider's open client spans. A request is inner if the request's
// parent is one of these spans. openCalls has a fixed size and takes no lock. If more calls are
// open than fit, a later call replaces an earlier call. A request of a replaced call counts as a
// request of its own, like a request from another process. TracerProvider.RequestCounts counts the
// replaced calls.
type openCalls [callSlots]atomic.Uint64

const callSlots = 4096 // 32 KiB

// places returns the two places of a span.
func (c *openCalls) places(id trace.SpanID) (first, second *atomic.Uint64, value uint64) {
	value = binary.NativeEndian.Uint64(id[:])
	i := value % callSlots
	return &c[i], &c[i^1], value
}

// add reports whether the call has replaced another call.
func (c *openCalls) add(id trace.SpanID) (replaced bool) {
	first, second, value := c.places(id)
	if first.CompareAndSwap(0, value) || second.CompareAndSwap(0, value) {
		return false
	}
	return first.Swap(value) != 0
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
