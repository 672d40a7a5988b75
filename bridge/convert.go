package bridge

import (
	"log/slog"
	"math"
	"strconv"

	"go.opentelemetry.io/otel/attribute"

	"github.com/perfline/perfline/internal/text"
)

// convert converts the detail of an entry, which is frozen: see record.Freeze for the kinds that
// there are.
func convert(attrs []slog.Attr) []attribute.KeyValue {
	if len(attrs) == 0 {
		return nil
	}
	return appendConverted(make([]attribute.KeyValue, 0, len(attrs)), attrs)
}

// appendConverted appends what convert returns.
func appendConverted(kvs []attribute.KeyValue, attrs []slog.Attr) []attribute.KeyValue {
	n := len(kvs)
	for _, a := range attrs {
		kvs = appendAttr(kvs, "", a)
	}
	return kvs[:n+len(unique(kvs[n:]))]
}

// appendAttr converts one attribute. prefix has the names of the groups around it.
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
	return append(kvs, attribute.KeyValue{Key: attribute.Key(text.Valid(prefix + a.Key)),
		Value: value(a.Value)})
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
	}
	switch x := v.Any().(type) {
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
	case []byte:
		return attribute.ByteSliceValue(x)
	}
	return attribute.Value{} // null: no other kind is left
}
