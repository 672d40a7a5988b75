package serving

import (
	"context"
	"reflect"
	"slices"
	"sync/atomic"

	"go.opentelemetry.io/otel/propagation"
)

// An Extractor reads the caller's span and baggage from the headers of a request. The W3C
// propagators run only if the request contains the propagator's header. Other propagators always
// run. The reason is that some, such as contrib's b3, read headers that Fields omits.
type Extractor struct{ parts []part }

// A part is a propagator that is not a composite.
type part struct {
	propagator propagation.TextMapPropagator
	field      string // the header that the propagator needs; empty if unknown
}

// NewExtractor returns an Extractor that runs the parts of p in order.
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

// Has reports whether c may contain data for a propagator.
func (e *Extractor) Has(c propagation.ValuesGetter) bool {
	return slices.ContainsFunc(e.parts, func(p part) bool { return p.reads(c) })
}

// Extract returns a copy of ctx with the span and the baggage that the propagators read from c.
func (e *Extractor) Extract(ctx context.Context, c Carrier) context.Context {
	for _, p := range e.parts {
		if p.reads(c) {
			ctx = p.propagator.Extract(ctx, c) //nolint:fatcontext // one for each propagator
		}
	}
	return ctx
}

// A Carrier provides header fields to propagators.
type Carrier interface {
	propagation.TextMapCarrier
	propagation.ValuesGetter
}

func (p part) reads(c propagation.ValuesGetter) bool {
	return p.field == "" || len(c.Values(p.field)) > 0
}

// Fields caches the header fields that a propagator writes, because a composite propagator creates
// a new list in each call. Fields may be used concurrently.
type Fields struct{ list atomic.Pointer[[]string] }

// Of returns the fields of p. form converts each field to a header key. All calls must pass the
// same p. Of does not cache an empty list, because OpenTelemetry's global propagator is empty until
// the program sets a propagator.
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
