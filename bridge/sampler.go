package bridge

import (
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

// shouldSample asks the sampler. A span is dropped if the program's sampler panics.
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
