package serving

import (
	"slices"
	"sync/atomic"

	"go.opentelemetry.io/otel/propagation"
)

// Fields are the fields that a propagator writes. A propagator of several makes the list anew each time.
type Fields struct{ list atomic.Pointer[[]string] }

// Of returns the fields of p, which is the same in each call, in the form that the keys of a header have. OpenTelemetry's
// global propagator has none until the program sets it.
func (f *Fields) Of(p propagation.TextMapPropagator, form func(string) string) []string {
	if list := f.list.Load(); list != nil {
		return *list
	}
	list := slices.Clone(p.Fields())
	for i, field := range list {
		list[i] = form(field)
	}
	if len(list) > 0 {
		f.list.Store(&list)
	}
	return list
}
