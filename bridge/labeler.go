package bridge

import (
	"context"

	"go.opentelemetry.io/otel/trace"
)

// A Labeler tells a profiler for which span a goroutine works. profiling.SpanLabels
// is one.
//
//   - Begin is called on the goroutine that starts a span, a sampled one, with the
//     context it is started under. It returns nil when nobody profiles; then the
//     others are not called.
//   - End is called when the span has ended, on the goroutine that ended it, which
//     may be another one. It may be called more than once; the first call counts.
//   - Value is what the context of the code that works under the span answers for a
//     key, that of marks.Start, [Middleware] and bridgegrpc's server: the label, in the
//     profiler's way, and ctx.Value(key) for what is not of the profiler.
//
// They may be called concurrently, and must be quick and not block.
type Labeler interface {
	Begin(ctx context.Context, span trace.SpanContext, name string) (label any)
	End(label any)
	Value(ctx context.Context, label, key any) any
}

// WithLabeler has the goroutines that start spans of the processor's provider
// labelled: spans of any instrumentation, and those of measures begun with marks.Start.
// Of several processors of a provider the first with a Labeler labels. With [Sync],
// which does not see spans start, it does nothing.
func WithLabeler(l Labeler) Option {
	return func(o *options) { o.labeler = l }
}

// A label is of a span; the zero value is none.
type label struct {
	by    *Processor // whose Labeler's it is
	token any
}

// begin labels the calling goroutine. p may be nil, and labels nothing then.
func (p *Processor) begin(ctx context.Context, span trace.SpanContext, name string) label {
	if p != nil {
		if token := p.labeler.Begin(ctx, span, valid(name)); token != nil {
			return label{p, token}
		}
	}
	return label{}
}

// labelerOf is the processor that labels for those of a provider, nil for none.
func labelerOf(all []*Processor) *Processor {
	for _, p := range all {
		if p.labeler != nil {
			return p
		}
	}
	return nil
}

func (l label) end() {
	if l.by != nil {
		l.by.labeler.End(l.token)
	}
}

// value is what a context over ctx that carries the label answers for key.
func (l label) value(ctx context.Context, key any) any {
	if l.by == nil {
		return ctx.Value(key)
	}
	return l.by.labeler.Value(ctx, l.token, key)
}

func (l label) context(ctx context.Context) context.Context {
	if l.by == nil {
		return ctx
	}
	return &labelled{ctx, l}
}

// labelled is a context that carries a label.
type labelled struct {
	context.Context //nolint:containedctx // it is a context, wrapping its parent
	label           label
}

// Value implements [context.Context].
func (c *labelled) Value(key any) any { return c.label.value(c.Context, key) }
