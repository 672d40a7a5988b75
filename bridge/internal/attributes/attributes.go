// Package attributes converts attributes of timelines to OpenTelemetry's attributes, and applies
// the limits of a span.
package attributes

import (
	"log/slog"
	"slices"
	"strings"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/text"
)

// Unique removes repeated keys from attrs. The last value of a key replaces the first value at the
// first position. Unique changes attrs.
func Unique(attrs []attribute.KeyValue) []attribute.KeyValue {
	if !mayRepeat(attrs) {
		return attrs
	}
	indexes := make(map[attribute.Key]int, len(attrs))
	out := attrs[:0]
	for _, a := range attrs {
		if i, ok := indexes[a.Key]; ok {
			out[i] = a
			continue
		}
		indexes[a.Key] = len(out)
		out = append(out, a)
	}
	return out
}

// mayRepeat reports whether attrs may repeat a key. In a list of at most 32 attributes, mayRepeat
// compares only keys with the same hash.
func mayRepeat(attrs []attribute.KeyValue) bool {
	if len(attrs) > 32 {
		return true
	}
	var hashes [4]uint64 // a set of 256 bits
	for i := range attrs {
		k := attrs[i].Key
		h := uint(len(k))
		if h > 0 {
			h += uint(k[0])*7 + uint(k[len(k)/2])*13 + uint(k[len(k)-1])*29
		}
		word, bit := &hashes[h>>6%4], uint64(1)<<(h%64)
		if *word&bit != 0 &&
			slices.ContainsFunc(attrs[:i], func(a attribute.KeyValue) bool { return a.Key == k }) {
			return true
		}
		*word |= bit
	}
	return false
}

// Limit applies the limits of a span to an attribute.
func Limit(a *attribute.KeyValue, limits *sdktrace.SpanLimits) {
	a.Key = attribute.Key(record.Key(string(a.Key)))
	limitValue(&a.Value, limits.AttributeValueDepthLimit, limits.AttributeValueLengthLimit)
}

// LimitList returns the first count attributes and the number of dropped attributes. LimitList
// applies the limits of depth and length to the attributes. A negative limit means no limit.
// LimitList changes attrs. LimitList does not remove repeated keys.
func LimitList(attrs []attribute.KeyValue, depth, length, count int) (_ []attribute.KeyValue,
	dropped int) {
	if count >= 0 && len(attrs) > count {
		dropped = len(attrs) - count
		// does not keep the others in memory
		attrs = append([]attribute.KeyValue(nil), attrs[:count]...)
	}
	for i := range attrs {
		attrs[i].Key = attribute.Key(record.Key(string(attrs[i].Key)))
		limitValue(&attrs[i].Value, depth, length)
	}
	return attrs, dropped
}

// Size returns an estimate of the memory of attributes, in bytes.
func Size(attrs []attribute.KeyValue) int {
	size := len(attrs) * int(unsafe.Sizeof(attribute.KeyValue{}))
	for i := range attrs {
		size += len(attrs[i].Key) + valueSize(attrs[i].Value)
	}
	return size
}

// Convert converts the attributes of an entry. The attributes must be frozen. [otlpenc.Value]
// converts the values.
func Convert(attrs []slog.Attr) []attribute.KeyValue {
	if len(attrs) == 0 {
		return nil
	}
	return AppendConverted(make([]attribute.KeyValue, 0, len(attrs)), attrs)
}

// AppendConverted converts attrs like Convert, and appends the result to kvs.
func AppendConverted(kvs []attribute.KeyValue, attrs []slog.Attr) []attribute.KeyValue {
	n := len(kvs)
	for _, a := range attrs {
		kvs = appendAttr(kvs, "", a)
	}
	return kvs[:n+len(Unique(kvs[n:]))]
}

// appendAttr converts one attribute. prefix is the names of the groups around the attribute.
func appendAttr(kvs []attribute.KeyValue, prefix string, a slog.Attr) []attribute.KeyValue {
	if a.Value.Kind() == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, member := range a.Value.Group() {
			kvs = appendAttr(kvs, prefix, member)
		}
		return kvs
	}
	if a.Key == "" {
		return kvs
	}
	key := attribute.Key(text.Valid(prefix + a.Key))
	return append(kvs, attribute.KeyValue{Key: key, Value: otlpenc.Value(a.Value)})
}

// maxDepth replaces an unlimited depth. Receivers accept far less.
const maxDepth = 10_000

// limitValue cuts v to a depth, a text to length characters, and a list of bytes to length bytes. A
// scalar has the depth 1. A negative limit means no limit. In a map, the last value of a key stays.
func limitValue(v *attribute.Value, depth, length int) {
	t := v.Type()
	if length < 0 && depth != 0 && t != attribute.SLICE && t != attribute.MAP {
		return // the usual case: a write would run the garbage collector's barriers
	}
	if depth < 0 {
		depth = maxDepth
	}
	switch {
	case t == attribute.STRING:
		*v = attribute.StringValue(firstRunes(v.AsString(), length))
	case t == attribute.EMPTY || t == attribute.BOOL || t == attribute.INT64 ||
		t == attribute.FLOAT64:
	case depth == 0:
		*v = attribute.Value{}
	case t == attribute.BYTESLICE:
		b := v.AsByteSlice()
		*v = attribute.ByteSliceValue(b[:min(len(b), length)])
	case t == attribute.STRINGSLICE:
		all := v.AsStringSlice()
		for i, s := range all {
			all[i] = firstRunes(s, length)
		}
		*v = attribute.StringSliceValue(all)
	case t == attribute.SLICE:
		all := v.AsSlice()
		for i := range all {
			limitValue(&all[i], depth-1, length)
		}
		*v = attribute.SliceValue(all...)
	case t == attribute.MAP:
		*v = attribute.MapValue(limitedMap(v.AsMap(), depth-1, length)...)
	}
}

// limitedMap limits the pairs of a map that is sorted by key. The last pair of a key stays.
func limitedMap(all []attribute.KeyValue, depth, length int) []attribute.KeyValue {
	n := 0
	for i, kv := range all {
		if i+1 < len(all) && all[i+1].Key == kv.Key {
			continue
		}
		all[n] = kv
		limitValue(&all[n].Value, depth, length)
		n++
	}
	return all[:n]
}

// firstRunes returns the first limit characters of s, without bytes that are not UTF-8. firstRunes
// returns s unchanged if s has at most limit bytes.
func firstRunes(s string, limit int) string {
	if limit < 0 || len(s) <= limit {
		return s
	}
	s = strings.ToValidUTF8(s, "")
	for i := range s {
		if limit == 0 {
			return s[:i]
		}
		limit--
	}
	return s
}

// valueSize returns an estimate of a value's memory outside the Value itself, in bytes.
func valueSize(v attribute.Value) (size int) {
	const value, pair, text = 48, 64, 16
	switch v.Type() {
	case attribute.STRING:
		return len(v.AsString())
	case attribute.BYTESLICE:
		return len(v.AsByteSlice())
	case attribute.BOOLSLICE:
		return len(v.AsBoolSlice())
	case attribute.INT64SLICE:
		return 8 * len(v.AsInt64Slice())
	case attribute.FLOAT64SLICE:
		return 8 * len(v.AsFloat64Slice())
	case attribute.STRINGSLICE:
		for _, s := range v.AsStringSlice() {
			size += text + len(s)
		}
	case attribute.SLICE:
		for _, v := range v.AsSlice() {
			size += value + valueSize(v)
		}
	case attribute.MAP:
		for _, kv := range v.AsMap() {
			size += pair + len(kv.Key) + valueSize(kv.Value)
		}
	default:
	}
	return size
}
