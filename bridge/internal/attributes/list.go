package attributes

import (
	"slices"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/internal/record"
)

// Unique returns attrs with the last value of each key, at the place of the first. It changes
// attrs.
func Unique(attrs []attribute.KeyValue) []attribute.KeyValue {
	if !mayRepeat(attrs) {
		return attrs
	}
	places := make(map[attribute.Key]int, len(attrs))
	out := attrs[:0]
	for _, a := range attrs {
		if at, ok := places[a.Key]; ok {
			out[at] = a
			continue
		}
		places[a.Key] = len(out)
		out = append(out, a)
	}
	return out
}

// mayRepeat reports whether a list may have a key twice. In a short list, it compares only keys
// that look alike.
func mayRepeat(attrs []attribute.KeyValue) bool {
	if len(attrs) > 32 {
		return true
	}
	var seen [4]uint64
	for i := range attrs {
		k := attrs[i].Key
		h := uint(len(k))
		if h > 0 {
			h += uint(k[0])*7 + uint(k[len(k)/2])*13 + uint(k[len(k)-1])*29
		}
		word, bit := &seen[h>>6%4], uint64(1)<<(h%64)
		if *word&bit != 0 &&
			slices.ContainsFunc(attrs[:i], func(a attribute.KeyValue) bool { return a.Key == k }) {
			return true
		}
		*word |= bit
	}
	return false
}

// Limit brings an attribute within the limits of a span.
func Limit(a *attribute.KeyValue, limits *sdktrace.SpanLimits) {
	a.Key = attribute.Key(record.Key(string(a.Key)))
	limitValue(&a.Value, limits.AttributeValueDepthLimit, limits.AttributeValueLengthLimit)
}

// LimitList returns attributes within limits, and how many it dropped. It changes attrs. A key may
// come again.
func LimitList(attrs []attribute.KeyValue, depth, length, count int) (_ []attribute.KeyValue,
	dropped int) {
	if count >= 0 && len(attrs) > count {
		dropped = len(attrs) - count
		// a copy: the others take no memory
		attrs = append([]attribute.KeyValue(nil), attrs[:count]...)
	}
	for i := range attrs {
		attrs[i].Key = attribute.Key(record.Key(string(attrs[i].Key)))
		limitValue(&attrs[i].Value, depth, length)
	}
	return attrs, dropped
}

// Size returns the memory of attributes in bytes, as an estimate.
func Size(attrs []attribute.KeyValue) int {
	size := len(attrs) * int(unsafe.Sizeof(attribute.KeyValue{}))
	for i := range attrs {
		size += len(attrs[i].Key) + valueSize(attrs[i].Value)
	}
	return size
}
