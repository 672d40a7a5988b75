package bridge

import (
	"reflect"
	"strings"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
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
