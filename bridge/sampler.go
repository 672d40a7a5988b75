package bridge

import (
	"context"
	"reflect"
	"strings"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// isSDK reports whether a sampler, with all samplers in it, is of the SDK.
func isSDK(v reflect.Value) bool {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !v.IsValid() {
		return false
	}
	if pkg := v.Type().PkgPath(); pkg != "" &&
		pkg != reflect.TypeFor[sdktrace.SpanLimits]().PkgPath() {
		return false
	}
	if v.Kind() == reflect.Struct {
		for _, field := range v.Fields() {
			if !isSDK(field) {
				return false
			}
		}
	}
	return true
}

// inherits reports whether a sampler of the SDK samples exactly the spans whose parent is sampled,
// if they have one. Its description shows that: it is a ParentBased with the SDK's defaults for all
// parents.
func inherits(s sdktrace.Sampler) bool {
	_, parents, _ := strings.Cut(sdktrace.ParentBased(sdktrace.NeverSample()).Description(),
		sdktrace.NeverSample().Description())
	return strings.HasPrefix(s.Description(), "ParentBased{root:") &&
		strings.HasSuffix(s.Description(), parents)
}

// decidesByTrace reports whether a sampler of the SDK samples all spans, or decides by the trace id
// alone. Its description shows that.
func decidesByTrace(s sdktrace.Sampler) bool {
	ratio, _, _ := strings.Cut(sdktrace.TraceIDRatioBased(1).Description(), "{")
	return s.Description() == sdktrace.AlwaysSample().Description() ||
		strings.HasPrefix(s.Description(), ratio+"{")
}

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
