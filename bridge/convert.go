package bridge

import (
	"log/slog"
	"math"
	"strconv"

	"go.opentelemetry.io/otel/attribute"

	"github.com/perfline/perfline/internal/text"
)

// A slab hands out attribute slices from larger arrays: entries have few
// attributes, and one allocation serves many of them.
type slab struct{ free []attribute.KeyValue }

const slabLen = 128

// attributes converts an entry's detail, which is frozen: see observer.Freeze for the
// kinds that there are. limit and length are a span limit for the
// number of attributes and for the length of a value; negative is unlimited.
// dropped is how many were over the limit.
func (s *slab) attributes(detail []slog.Attr, limit, length int) (kvs []attribute.KeyValue, dropped int) {
	n := len(detail)
	if n == 0 {
		return nil, 0
	}
	if cap(s.free)-len(s.free) < n {
		s.free = make([]attribute.KeyValue, 0, max(slabLen, n))
	}
	from := len(s.free)
	kvs = s.free[from:from]
	for _, a := range detail {
		kvs = appendAttr(kvs, "", a)
	}
	kvs, dropped = limited(unique(kvs), limit, length)
	if len(kvs) <= cap(s.free)-from { // still in the slab: groups may have outgrown it
		s.free = s.free[:from+len(kvs)]
	}
	return kvs[:len(kvs):len(kvs)], dropped
}

// limited applies span limits to attributes in place.
func limited(kvs []attribute.KeyValue, count, length int) (kept []attribute.KeyValue, dropped int) {
	if count >= 0 && len(kvs) > count {
		dropped = len(kvs) - count
		kvs = kvs[:count]
	}
	if length >= 0 {
		for i := range kvs {
			kvs[i] = truncate(kvs[i], length)
		}
	}
	return kvs, dropped
}

// convert is attributes for a plain list.
func convert(attrs []slog.Attr) []attribute.KeyValue {
	var kvs []attribute.KeyValue
	for _, a := range attrs {
		kvs = appendAttr(kvs, "", a)
	}
	return unique(kvs)
}

// appendAttr converts one attribute; prefix is that of the groups around it.
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
	key := a.Key
	if prefix != "" {
		key = prefix + key
	}
	return append(kvs, attribute.KeyValue{Key: attribute.Key(text.Valid(key)), Value: value(a.Value)})
}

func value(v slog.Value) attribute.Value {
	switch v.Kind() {
	case slog.KindBool:
		return attribute.BoolValue(v.Bool())
	case slog.KindInt64:
		return attribute.Int64Value(v.Int64())
	case slog.KindUint64:
		if u := v.Uint64(); u > math.MaxInt64 {
			return attribute.StringValue(strconv.FormatUint(u, 10))
		}
		return attribute.Int64Value(int64(v.Uint64()))
	case slog.KindFloat64:
		return attribute.Float64Value(v.Float64())
	case slog.KindString:
		return attribute.StringValue(text.Valid(v.String()))
	case slog.KindDuration:
		return attribute.Int64Value(int64(v.Duration()))
	case slog.KindTime:
		return attribute.Int64Value(v.Time().UnixNano())
	default:
		return listValue(v.Any())
	}
}

func listValue(list any) attribute.Value {
	switch x := list.(type) {
	case []string:
		texts := make([]string, len(x))
		for i := range x {
			texts[i] = text.Valid(x[i])
		}
		return attribute.StringSliceValue(texts)
	case []bool:
		return attribute.BoolSliceValue(x)
	case []int64:
		return attribute.Int64SliceValue(x)
	case []float64:
		return attribute.Float64SliceValue(x)
	default:
		b, _ := list.([]byte) // no other kind is left
		return attribute.ByteSliceValue(b)
	}
}

// unique keeps the last value of each key, at the place of the first: spans and
// events must not have two attributes of one key. Lists are short.
func unique(kvs []attribute.KeyValue) []attribute.KeyValue {
	out := kvs[:0]
next:
	for _, kv := range kvs {
		for i := range out {
			if out[i].Key == kv.Key {
				out[i] = kv
				continue next
			}
		}
		out = append(out, kv)
	}
	return out
}

// truncate cuts strings to limit characters and bytes to as many, as the SDK's span
// limits do.
func truncate(kv attribute.KeyValue, limit int) attribute.KeyValue {
	switch kv.Value.Type() {
	case attribute.STRING:
		if s := kv.Value.AsString(); len(s) > limit {
			kv.Value = attribute.StringValue(cut(s, limit))
		}
	case attribute.STRINGSLICE:
		list := kv.Value.AsStringSlice()
		for i, s := range list {
			list[i] = cut(s, limit)
		}
		kv.Value = attribute.StringSliceValue(list)
	case attribute.BYTESLICE:
		if b := kv.Value.AsByteSlice(); len(b) > limit {
			kv.Value = attribute.ByteSliceValue(b[:limit])
		}
	default: // has no length, or is none that this package makes
	}
	return kv
}

func cut(s string, limit int) string {
	n := 0
	for i := range s {
		if n == limit {
			return s[:i]
		}
		n++
	}
	return s
}
