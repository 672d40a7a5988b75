package spanlabels

import (
	"context"
	"sync/atomic"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"

	"github.com/perfline/perfline/internal/underway"
)

// A TracerProvider wraps another provider. The spans of the other provider label the goroutines
// that start the spans. See profiling.WrapTracerProvider. All methods may be called concurrently.
type TracerProvider struct {
	embedded.TracerProvider
	provider trace.TracerProvider
	labels   *labeller   // nil if the provider takes no span processors
	circular atomic.Bool // provider has led back here, as reported
}

var _ trace.TracerProvider = (*TracerProvider)(nil)

// A registry is a provider that takes span processors, such as the SDK's.
type registry interface {
	RegisterSpanProcessor(sp sdktrace.SpanProcessor)
	UnregisterSpanProcessor(sp sdktrace.SpanProcessor)
}

// WrapTracerProvider returns a provider that creates spans with tp. WrapTracerProvider registers a
// span processor with tp. If tp does not support span processors, the spans label no goroutine.
func WrapTracerProvider(tp trace.TracerProvider) *TracerProvider {
	p := &TracerProvider{provider: tp}
	if r, ok := tp.(registry); ok {
		p.labels = &labeller{}
		r.RegisterSpanProcessor(p.labels)
	}
	return p
}

// Tracer returns a tracer that creates spans with the other provider. The spans label goroutines.
func (p *TracerProvider) Tracer(name string, o ...trace.TracerOption) trace.Tracer {
	if p.labels == nil {
		return &tracer{tracer: &forwarding{provider: p, name: name, options: o}}
	}
	return &tracer{tracer: p.provider.Tracer(name, o...)}
}

// UnlabelledSpans returns the number of spans that lost the label before the end of the span. An
// open span may lose the label when more than 16 384 spans are open.
func (p *TracerProvider) UnlabelledSpans() uint64 {
	if p.labels == nil {
		return 0
	}
	return p.labels.open.Evicted()
}

// Stop ends the labels of open spans. New spans label no goroutine. The tracers still create spans.
// Stop removes the span processor from the other provider. The Shutdown of the other provider also
// ends the labels and removes the span processor. Further calls of Stop do nothing.
func (p *TracerProvider) Stop() {
	if p.labels == nil {
		return
	}
	p.provider.(registry).UnregisterSpanProcessor(p.labels)
	// The other provider may not have called Shutdown, because its own Shutdown failed.
	_ = p.labels.Shutdown(context.Background())
}

type tracer struct {
	embedded.Tracer
	tracer trace.Tracer
}

func (t *tracer) Start(ctx context.Context, name string,
	o ...trace.SpanStartOption) (context.Context, trace.Span) {
	ctx, span, _ := Start(ctx, t.tracer, name, o...)
	return ctx, span
}

// A labeller is a span processor that labels the goroutines that start spans.
type labeller struct {
	open    underway.Table[*Span]
	used    atomic.Bool // open ever had a span
	stopped atomic.Bool
}

var _ sdktrace.SpanProcessor = (*labeller)(nil)

// OnStart labels the calling goroutine with s.
func (l *labeller) OnStart(parent context.Context, s sdktrace.ReadWriteSpan) {
	if !Enabled() || l.stopped.Load() {
		return
	}
	sc := s.SpanContext()
	if !sc.IsSampled() {
		return
	}
	above := s.Parent()
	label := Set(parent, sc, s.Name(), !above.IsValid() || above.IsRemote())
	if label == nil {
		return
	}
	if id, ok := label.ProfileID(); ok {
		s.SetAttributes(id)
	}
	if !l.used.Load() {
		l.used.Store(true)
	}
	l.open.Put(sc, label).End("")
	if l.stopped.Load() { // Shutdown may have missed this label
		l.open.Take(sc).End("")
	}
}

// OnEnd ends the label of s. [Span.End] documents the effect on the goroutine.
func (l *labeller) OnEnd(s sdktrace.ReadOnlySpan) {
	if l.used.Load() {
		l.open.Take(s.SpanContext()).End(s.Name())
	}
}

// Shutdown ends the labels of open spans, because the provider does not report the ends of these
// spans.
func (l *labeller) Shutdown(context.Context) error {
	l.stopped.Store(true)
	for _, label := range l.open.TakeAll() {
		label.End("")
	}
	return nil
}

// ForceFlush does nothing, and returns nil.
func (*labeller) ForceFlush(context.Context) error { return nil }
