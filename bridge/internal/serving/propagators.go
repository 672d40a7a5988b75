package serving

import (
	"context"
	"reflect"
	"slices"
	"sync/atomic"

	"go.opentelemetry.io/otel/propagation"
)

// An Extractor reads the span and the baggage of a request's caller. It runs the propagators of the
// W3C's headers only if the request has the header. It always runs the others: some, such as
// contrib's b3, read headers that Fields does not name.
type Extractor struct{ parts []part }

// A part is a propagator that is made of no others.
type part struct {
	propagator propagation.TextMapPropagator
	field      string // without which the propagator finds nothing; empty if that is not known
}

// NewExtractor returns an Extractor with the propagators that p is made of, in their order.
func NewExtractor(p propagation.TextMapPropagator) Extractor { return Extractor{partsOf(nil, p)} }

var composite = reflect.TypeOf(propagation.NewCompositeTextMapPropagator())

func partsOf(parts []part, p propagation.TextMapPropagator) []part {
	switch p.(type) {
	case propagation.TraceContext:
		return append(parts, part{p, "traceparent"})
	case propagation.Baggage:
		return append(parts, part{p, "baggage"})
	}
	if reflect.TypeOf(p) != composite {
		return append(parts, part{p, ""})
	}
	all := reflect.ValueOf(p)
	for i := range all.Len() {
		p, _ := all.Index(i).Interface().(propagation.TextMapPropagator)
		parts = partsOf(parts, p)
	}
	return parts
}

// Has reports whether Extract may find something in c.
func (e *Extractor) Has(c propagation.ValuesGetter) bool {
	for i := range e.parts {
		if e.parts[i].reads(c) {
			return true
		}
	}
	return false
}

// Extract returns ctx with what the propagators find in c.
func (e *Extractor) Extract(ctx context.Context, c Carrier) context.Context {
	for i := range e.parts {
		if p := &e.parts[i]; p.reads(c) {
			ctx = p.propagator.Extract(ctx, c) //nolint:fatcontext // one for each propagator
		}
	}
	return ctx
}

// A Carrier is what propagators read.
type Carrier interface {
	propagation.TextMapCarrier
	propagation.ValuesGetter
}

func (p *part) reads(c propagation.ValuesGetter) bool {
	return p.field == "" || len(c.Values(p.field)) > 0
}

// Fields are the fields that a propagator writes. A propagator of several makes the list anew each
// time.
type Fields struct{ list atomic.Pointer[[]string] }

// Of returns the fields of p, which is the same in each call, in the form that the keys of a header
// have. OpenTelemetry's global propagator has none until the program sets it.
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
