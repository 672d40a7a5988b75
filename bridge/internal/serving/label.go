package serving

import (
	"context"
	"sync/atomic"
)

// A Starting is the context that a request's span is started under. By it the processor
// that labels goroutines for spans tells that it labelled this one: who starts a span
// does not know its processors.
type Starting struct {
	context.Context //nolint:containedctx // it is a context, wrapping its parent
	open            atomic.Bool
	carry           func(context.Context) context.Context
}

type startingKey struct{}

// Under returns the context to start the span under.
func (s *Starting) Under(ctx context.Context) context.Context {
	s.Context = ctx
	s.open.Store(true)
	return s
}

// Value implements [context.Context].
func (s *Starting) Value(key any) any {
	if key == (startingKey{}) {
		return s
	}
	return s.Context.Value(key)
}

// Take is the Starting that the span which starts now is started under, nil when it is
// none. The caller is to tell it of a label.
func Take(ctx context.Context) *Starting {
	if s, ok := ctx.Value(startingKey{}).(*Starting); ok && s.open.CompareAndSwap(true, false) {
		return s
	}
	return nil
}

// Labelled says how a context carries the span's label.
func (s *Starting) Labelled(carry func(context.Context) context.Context) { s.carry = carry }

// Carry returns the context for the code under the span, which carries its label if
// it has one. ctx is what starting the span returned.
func (s *Starting) Carry(ctx context.Context) context.Context {
	if s.open.Swap(false) || s.carry == nil {
		return ctx
	}
	return s.carry(ctx)
}
