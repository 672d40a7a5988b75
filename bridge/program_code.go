package bridge

import (
	"context"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter/otlpenc"
)

// This file calls what a program has given to a provider. A panic there is counted, and ends no request and no goroutine of perfline's.

// accept gives spans to an output. After a panic, the output lacks them.
func (p *TracerProvider) accept(o Output, spans []otlpenc.Spans) {
	p.timeline.Try("an Output's Accept", func() { o.Accept(spans) })
}

func (p *TracerProvider) onStart(ctx context.Context, s *recordedSpan) {
	for _, sp := range *p.processors.Load() {
		p.timeline.Try("a span processor's OnStart", func() { sp.OnStart(ctx, s) })
	}
}

func (p *TracerProvider) onEnd(s *recordedSpan) {
	for _, sp := range *p.processors.Load() {
		p.timeline.Try("a span processor's OnEnd", func() { sp.OnEnd(endedSpan{s}) })
	}
}

// shouldSample asks the sampler. A span that it panics about is dropped.
func (p *TracerProvider) shouldSample(params sdktrace.SamplingParameters) (r sdktrace.SamplingResult) {
	ok := p.timeline.Try("the sampler", func() { r = p.sampler.ShouldSample(params) })
	if !ok {
		r = sdktrace.SamplingResult{Decision: sdktrace.Drop, Tracestate: trace.SpanContextFromContext(params.ParentContext).TraceState()}
	}
	return r
}

const theIDGenerator = "the generator of ids"

// newIDs returns the ids of a root. They are random if the generator panics.
func (p *TracerProvider) newIDs(ctx context.Context) (t trace.TraceID, s trace.SpanID) {
	if random, ok := p.ids.(randomIDs); ok {
		return random.NewIDs(ctx)
	}
	if !p.timeline.Try(theIDGenerator, func() { t, s = p.ids.NewIDs(ctx) }) {
		t, s = randomIDs{}.NewIDs(ctx)
	}
	return t, s
}

// newSpanID returns the id of a span. It is random if the generator panics.
func (p *TracerProvider) newSpanID(ctx context.Context, t trace.TraceID) (id trace.SpanID) {
	if _, ok := p.ids.(randomIDs); ok {
		return newSpanID()
	}
	if !p.timeline.Try(theIDGenerator, func() { id = p.ids.NewSpanID(ctx, t) }) {
		id = newSpanID()
	}
	return id
}
