package serving

import (
	"sync/atomic"

	"go.opentelemetry.io/otel/propagation"
)

// Fields are the fields that a propagator writes. A propagator of several makes the list anew each time.
type Fields struct{ list atomic.Pointer[[]string] }

// Of returns the fields of p, which is the same in each call. OpenTelemetry's global propagator has none until the program
// sets it.
func (f *Fields) Of(p propagation.TextMapPropagator) []string {
	if list := f.list.Load(); list != nil {
		return *list
	}
	list := p.Fields()
	if len(list) > 0 {
		f.list.Store(&list)
	}
	return list
}
