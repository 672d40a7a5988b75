package bridge

import (
	"context"
	"reflect"
	"strings"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// isSDK reports whether a sampler and all samplers in the sampler are the SDK's.
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

// inherits reports whether an SDK sampler samples a child exactly if the parent is sampled. The
// description shows whether the sampler is a ParentBased with the SDK's defaults for all parents.
func inherits(s sdktrace.Sampler) bool {
	_, parents, _ := strings.Cut(sdktrace.ParentBased(sdktrace.NeverSample()).Description(),
		sdktrace.NeverSample().Description())
	return strings.HasPrefix(s.Description(), "ParentBased{root:") &&
		strings.HasSuffix(s.Description(), parents)
}

// decidesByTrace reports whether an SDK sampler samples all spans, or decides by the trace id
// alone, according to the description.
func decidesByTrace(s sdktrace.Sampler) bool {
	ratio, _, _ := strings.Cut(sdktrace.TraceIDRatioBased(1).Description(), "{")
	return s.Description() == sdktrace.AlwaysSample().Description() ||
		strings.HasPrefix(s.Description(), ratio+"{")
}

// accept hands spans to outputs. An output that panics loses the spans. Here and below, a panic of
// the program's code is counted, and does not end a request or a goroutine of perfline.
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

// shouldSample asks the sampler. A span is dropped if the sampler panics. The SDK's samplers call
// no code of the program.
func (p *TracerProvider) shouldSample(
	params *sdktrace.SamplingParameters) (r sdktrace.SamplingResult) {
	if p.sdkSampler {
		return p.sampler.ShouldSample(*params)
	}
	if !p.timeline.Try("the sampler", func() { r = p.sampler.ShouldSample(*params) }) {
		r = sdktrace.SamplingResult{Decision: sdktrace.Drop,
			Tracestate: trace.SpanContextFromContext(params.ParentContext).TraceState()}
	}
	return r
}
