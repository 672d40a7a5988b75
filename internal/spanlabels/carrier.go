package spanlabels

import (
	"context"
	"runtime/pprof"
	"sync"
)

// NewContext returns a child context of ctx that carries s. The method Value of the child context
// is [Span.Value].
func NewContext(ctx context.Context, s *Span) context.Context {
	if s == nil {
		return ctx
	}
	return &carrier{ctx, s}
}

type carrier struct {
	context.Context //nolint:containedctx // it is a context, wrapping its parent
	span            *Span
}

// Value returns the value for key: see [Span.Value].
func (c *carrier) Value(key any) any { return c.span.Value(c.Context, key) }

// labelsKey returns the key of runtime/pprof's labels in contexts, or nil if there is none.
// runtime/pprof hides the key, but asks a probe's context for it.
var labelsKey = sync.OnceValue(func() any {
	probe := &keyProbe{Context: context.Background()}
	pprof.Label(probe, "")
	return probe.key
})

type keyProbe struct {
	context.Context //nolint:containedctx // it is a context, wrapping its parent
	key             any
}

func (p *keyProbe) Value(key any) any {
	p.key = key
	return nil
}
