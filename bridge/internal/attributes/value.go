package attributes

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"
)

// deepest is the depth of values without a limit. A receiver takes far less.
const deepest = 10_000

// limitValue cuts v down to depth, where a value by itself has the depth 1. Of a map, it leaves the
// last value of each key, and of texts and lists of bytes the first length characters or bytes. A
// negative limit means no limit.
func limitValue(v *attribute.Value, depth, length int) {
	t := v.Type()
	if length < 0 && depth != 0 && t != attribute.SLICE && t != attribute.MAP {
		return // most often: to write nothing saves the garbage collector's barriers
	}
	if depth < 0 {
		depth = deepest
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

// limitedMap returns the pairs of a map, sorted by key, with values within limits. The last pair of
// a key counts.
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

// firstRunes returns the first limit characters of s, without bytes that are not UTF-8, or s if
// that has no more than limit bytes.
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

// valueSize returns the memory of a value beyond the Value itself, in bytes, as an estimate.
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
