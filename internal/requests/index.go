package requests

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"
)

// An index is a hash table of traces by id, with chains through the traces. Two processors that
// alternate in an index exchange fewer cache lines than with a map.
type index struct {
	heads   []*traceData
	shift   int
	factors [2]uint64 // random, so that a client cannot choose ids that collide
}

const maxHeads = 1 << 16

// newIndex returns an index for about as many traces as c allows. Chains grow above maxHeads.
func newIndex(c Config) index {
	n := 0
	for _, more := range []int{c.Requests, c.Requests, c.Slowest, c.KeptRequests, c.Examples,
		c.Background, c.Background, c.MaxPending} {
		n = min(n+min(more, maxHeads), maxHeads-1) // without overflow
	}
	size := bits.Len(uint(n))
	return index{heads: make([]*traceData, 1<<size), shift: 64 - size,
		factors: [2]uint64{rand.Uint64() | 1, rand.Uint64() | 1}}
}

// chain returns the head of an id's chain.
func (x *index) chain(id trace.TraceID) **traceData {
	h := binary.NativeEndian.Uint64(id[:8])*x.factors[0] +
		binary.NativeEndian.Uint64(id[8:])*x.factors[1]
	return &x.heads[h>>x.shift]
}

// find returns the trace with an id, or nil.
func (x *index) find(id trace.TraceID) *traceData {
	t := *x.chain(id)
	for t != nil && t.id != id {
		t = t.next
	}
	return t
}

func (x *index) add(t *traceData) {
	at := x.chain(t.id)
	t.next, *at = *at, t
}

// remove removes a trace, which must be in the index.
func (x *index) remove(t *traceData) {
	at := x.chain(t.id)
	for *at != t {
		at = &(*at).next
	}
	*at = t.next
}
