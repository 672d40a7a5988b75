package bridge

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/text"
)

// A Labeler tells a profiler for which span a goroutine works. profiling.SpanLabels
// is one.
//
//   - Enabled reports whether anybody profiles. It is asked of every span, and nothing
//     else is while it reports false.
//   - Begin is called on the goroutine that starts a span, a sampled one, with the
//     context it is started under. root tells that it has no parent in this process. It
//     returns nil when the goroutine needs no label of that span; then the others are not
//     called.
//   - End is called when the span has ended, on the goroutine that ended it, which
//     may be another one, with the name that it has then, "" if that is not known. It may
//     be called more than once; the first call counts.
//   - Attributes are what the exported span gets beside its own attributes, nil for
//     nothing. It is called off the request's path, when the span has ended, and may be
//     called more than once. What the span has already, it keeps.
//   - Value is what the context of the code that works under the span answers for a
//     key, that of marks.Start, bridgehttp.Middleware and bridgegrpc's server: the label, in the
//     profiler's way, and ctx.Value(key) for what is not of the profiler.
//
// They may be called concurrently, and must be quick and not block.
type Labeler interface {
	Enabled() bool
	Begin(ctx context.Context, span trace.SpanContext, name string, root bool) (label any)
	End(label any, name string)
	Attributes(label any) []attribute.KeyValue
	Value(ctx context.Context, label, key any) any
}

// WithLabeler has the goroutines that start spans of the processor's provider
// labelled: spans of any instrumentation, and those of measures begun with marks.Start.
// Of several processors of a provider the first with a Labeler labels, for all. With [Sync],
// which does not see spans start, it does nothing.
func WithLabeler(l Labeler) Option {
	return func(o *options) { o.labeler = l }
}

// A label is of a span; the zero value is none.
type label struct {
	by    *Processor // whose Labeler's it is
	token any
}

// begin labels the calling goroutine; p labels.
func (p *Processor) begin(ctx context.Context, span trace.SpanContext, name string, root bool) label {
	if token := p.labeler.Begin(ctx, span, text.Valid(name), root); token != nil {
		return label{p, token}
	}
	return label{}
}

// labelling reports whether p has a Labeler, and that somebody to label for. p may be nil.
func (p *Processor) labelling() bool { return p != nil && p.labeler != nil && p.labeler.Enabled() }

// labelerOf is the processor that labels for those of a provider, nil for none.
func labelerOf(all []*Processor) *Processor {
	for _, p := range all {
		if p.labeler != nil {
			return p
		}
	}
	return nil
}

// end ends the label of a span of that name, "" when it is not known.
func (l label) end(name string) {
	if l.by != nil {
		l.by.labeler.End(l.token, text.Valid(name))
	}
}

// attributes adds the label's to those of a span, within p's limits. It reports false, and
// changes nothing, when there are none to add.
func (l label) attributes(own []attribute.KeyValue, p *Processor) (all []attribute.KeyValue, dropped int, ok bool) {
	if l.by == nil {
		return own, 0, false
	}
	more := l.by.labeler.Attributes(l.token)
	if len(more) == 0 {
		return own, 0, false
	}
	n := len(own)
	all = append(make([]attribute.KeyValue, 0, n+len(more)), own...) // no longer than it has to be
	for _, kv := range more {
		if kv.Valid() && !slices.ContainsFunc(own, func(x attribute.KeyValue) bool { return x.Key == kv.Key }) {
			all = append(all, kv)
		}
	}
	if len(all) == n {
		return own, 0, false
	}
	added, length := unique(all[n:]), p.limits.AttributeValueLengthLimit
	room := -1
	if limit := p.limits.AttributeCountLimit; limit >= 0 {
		room = max(0, limit-n)
	}
	added, dropped = limited(added, room, length)
	return all[:n+len(added)], dropped, true
}

// attributed is a span with the attributes of its label, if that has any.
func (l label) attributed(s sdktrace.ReadOnlySpan, p *Processor) sdktrace.ReadOnlySpan {
	if l.by == nil {
		return s
	}
	all, dropped, ok := l.attributes(s.Attributes(), p)
	if !ok {
		return s
	}
	return &attributedSpan{ReadOnlySpan: s, attrs: all, dropped: s.DroppedAttributes() + dropped}
}

// attributedSpan is a span as the SDK ended it, with the attributes of its label.
type attributedSpan struct {
	sdktrace.ReadOnlySpan
	attrs   []attribute.KeyValue
	dropped int
}

func (s *attributedSpan) Attributes() []attribute.KeyValue { return s.attrs }
func (s *attributedSpan) DroppedAttributes() int           { return s.dropped }

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
