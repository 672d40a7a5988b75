package bridge

import (
	"reflect"
	"strings"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// isSDK reports whether a sampler, with all samplers in it, is of the SDK.
func isSDK(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		return isSDK(v.Elem())
	case reflect.Struct:
		if v.Type().PkgPath() != reflect.TypeFor[sdktrace.SpanLimits]().PkgPath() {
			return false
		}
		for i := range v.NumField() {
			switch f := v.Field(i); f.Kind() {
			case reflect.Interface, reflect.Pointer, reflect.Struct:
				if !isSDK(f) {
					return false
				}
			default:
			}
		}
		return true
	default:
		return false
	}
}

// inherits reports whether a sampler of the SDK samples exactly the spans whose parent is sampled, if they have one. Its
// description shows that: it is a ParentBased with the SDK's defaults for all parents.
func inherits(s sdktrace.Sampler) bool {
	_, parents, _ := strings.Cut(sdktrace.ParentBased(sdktrace.NeverSample()).Description(), sdktrace.NeverSample().Description())
	return strings.HasPrefix(s.Description(), "ParentBased{root:") && strings.HasSuffix(s.Description(), parents)
}
