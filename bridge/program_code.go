package bridge

import (
	"context"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// This file calls what a program has given to a provider. A panic there is counted, and ends no
// request and no goroutine of perfline's.

// accept gives spans to outputs. After a panic, the output lacks them.
func (p *TracerProvider) accept(outputs []Output, spans []Spans) {
	if len(spans) == 0 {
		return
	}
	for _, o := range outputs {
		p.timeline.Try("an Output's Accept", func() { o.Accept(spans) })
	}
}

func (p *TracerProvider) onStart(ctx context.Context, s *recordedSpan) {
	for _, sp := range *p.processors.Load() {
		p.timeline.Try("a span processor's OnStart", func() { sp.OnStart(ctx, s) })
	}
}

func (p *TracerProvider) onEnd(s *recordedSpan) {
	if s.tentative {
		return
	}
	for _, sp := range *p.processors.Load() {
		p.timeline.Try("a span processor's OnEnd", func() { sp.OnEnd(endedSpan{s}) })
	}
}

// shouldSample asks the sampler. One of the SDK's calls no code of the program. A span that it
// panics about is dropped.
func (p *TracerProvider) shouldSample(params *sdktrace.SamplingParameters) (
	r sdktrace.SamplingResult) {
	if p.sdkSampler {
		return p.sampler.ShouldSample(*params)
	}
	if !p.timeline.Try("the sampler", func() { r = p.sampler.ShouldSample(*params) }) {
		r = sdktrace.SamplingResult{Decision: sdktrace.Drop,
			Tracestate: trace.SpanContextFromContext(params.ParentContext).TraceState()}
	}
	return r
}
