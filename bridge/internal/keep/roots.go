package keep

import (
	"sync/atomic"

	"github.com/perfline/perfline/internal/record"
)

// Roots count the local roots of an instrumentation scope that wait for a decision. Some
// instrumentation never ends a span that is not recording: otelgrpc is such. Its roots must not
// wait for ever in growing numbers.
type Roots struct {
	// nil before the first root: most scopes have none
	parts atomic.Pointer[record.PerProcessor[rootCounts]]
	full  atomic.Bool // too many never end
}

// near returns the counts of the processor.
func (r *Roots) near() *rootCounts {
	if r.parts.Load() == nil {
		r.parts.CompareAndSwap(nil, new(record.PerProcessor[rootCounts]))
	}
	return r.parts.Load().Near()
}

type rootCounts struct {
	asked, begun, ended atomic.Int64

	_ [64]byte // keeps the next one off these cache lines
}

// maxRoots is about how many may be open while fewer than half of all have ended.
const maxRoots = 4096

// Begin counts a root that begins. It returns false if too many never end.
func (r *Roots) Begin() bool {
	c := r.near()
	if c.asked.Add(1)%32 == 0 {
		r.look()
	}
	if r.full.Load() {
		return false
	}
	c.begun.Add(1)
	return true
}

// look looks whether too many never end.
func (r *Roots) look() {
	var begun, ended int64
	for c := range r.parts.Load().All() {
		begun += c.begun.Load()
		ended += c.ended.Load()
	}
	if full := begun-ended >= maxRoots && ended < begun/2; full != r.full.Load() {
		r.full.Store(full)
	}
}

// End counts a root that ends.
func (r *Roots) End() { r.near().ended.Add(1) }
