package bridge

import (
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
)

// deepest is the depth of values without a limit. A receiver takes far less.
const deepest = 10_000

// limited returns v with each key of a map once, the last one, and without what is nested deeper than depth. A value by
// itself has the depth 1. Texts and lists of bytes have their first length characters or bytes. A negative limit means
// no limit.
func limited(v attribute.Value, depth, length int) (_ attribute.Value, changed bool) {
	if depth < 0 {
		depth = deepest
	}
	switch t := v.Type(); {
	case t == attribute.STRING:
		s := v.AsString()
		if short := firstRunes(s, length); len(short) < len(s) {
			return attribute.StringValue(short), true
		}
	case t == attribute.EMPTY || t == attribute.BOOL || t == attribute.INT64 || t == attribute.FLOAT64:
	case depth == 0:
		return attribute.Value{}, true
	case t == attribute.BYTESLICE && length >= 0:
		if b := v.AsByteSlice(); len(b) > length {
			return attribute.ByteSliceValue(b[:length]), true
		}
	case t == attribute.STRINGSLICE && length >= 0:
		all := v.AsStringSlice()
		for i, s := range all {
			all[i] = firstRunes(s, length)
			changed = changed || len(all[i]) < len(s)
		}
		if changed {
			return attribute.StringSliceValue(all), true
		}
	case t == attribute.SLICE:
		all := v.AsSlice()
		for i := range all {
			if short, ok := limited(all[i], depth-1, length); ok {
				all[i], changed = short, true
			}
		}
		if changed {
			return attribute.SliceValue(all...), true
		}
	case t == attribute.MAP:
		if all, changed := limitedMap(v.AsMap(), depth-1, length); changed {
			return attribute.MapValue(all...), true
		}
	}
	return v, false
}

// limitedMap returns a map's pairs, which are sorted by key, with values within limits. Of pairs with the same key the last
// one counts.
func limitedMap(all []attribute.KeyValue, depth, length int) (_ []attribute.KeyValue, changed bool) {
	n := 0
	for i, kv := range all {
		if i+1 < len(all) && all[i+1].Key == kv.Key {
			changed = true
			continue
		}
		if v, ok := limited(kv.Value, depth, length); ok {
			kv.Value, changed = v, true
		}
		all[n] = kv
		n++
	}
	return all[:n], changed
}

// firstRunes returns the first limit characters of s, or s if it has no more bytes. When it has to count, it leaves out
// bytes that are not UTF-8.
func firstRunes(s string, limit int) string {
	if limit < 0 || len(s) <= limit {
		return s
	}
	n := 0
	for i, r := range s {
		if n == limit {
			return s[:i]
		}
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return s[:i] + firstValidRunes(s[i:], limit-n)
			}
		}
		n++
	}
	return s
}

func firstValidRunes(s string, limit int) string {
	var b strings.Builder
	for i := 0; i < len(s) && limit > 0; {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r != utf8.RuneError || size > 1 {
			b.WriteString(s[i : i+size])
			limit--
		}
		i += size
	}
	return b.String()
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
