package otlpenc

import (
	"log/slog"
	"math"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/perfline/perfline/internal/otlpwire"
	"github.com/perfline/perfline/internal/text"
)

// MaxPlain bounds the number of plain attributes: [Plain] compares each key with all others.
const MaxPlain = 8

// Extra contains attributes and events that [Snapshot.Append] adds to the span.
type Extra struct {
	Attributes func([]byte) []byte // appends attributes by an [AttributeWriter]; may be nil
	Detail     []slog.Attr         // plain attributes
	Events     func([]byte) []byte // appends events by [AppendEvent]; may be nil
}

// An AttributeWriter appends encoded attributes of a span to Bytes. Keys must be valid UTF-8.
type AttributeWriter struct{ Bytes []byte }

// Text appends an attribute with a text value. U+FFFD replaces invalid UTF-8 in value.
func (w *AttributeWriter) Text(key attribute.Key, value string) {
	w.Bytes = otlpwire.AppendTextAttribute(w.Bytes, spanAttributes, string(key), text.Valid(value))
}

// Int appends an attribute with an integer value.
func (w *AttributeWriter) Int(key attribute.Key, value int64) {
	w.Bytes = otlpwire.AppendNumber(
		w.Bytes, spanAttributes, string(key), otlpwire.ValueInt, uint64(value))
}

// KeyValues appends the attributes in attrs.
func (w *AttributeWriter) KeyValues(attrs []attribute.KeyValue) {
	w.Bytes = otlpwire.AppendAttributes(w.Bytes, spanAttributes, attrs, 0)
}

// AppendEvent appends an encoded event of a span. The attributes must be plain: see [Plain].
func AppendEvent(b []byte, at time.Time, name string, attrs []slog.Attr) []byte {
	b, start := otlpwire.BeginMessage(b, spanEvents)
	b = otlpwire.AppendFixed64(b, eventTime, otlpwire.Nanos(at))
	b = otlpwire.AppendText(b, eventName, name)
	b = appendDetail(b, eventAttributes, attrs)
	return otlpwire.EndMessage(b, start)
}

// Plain reports whether the encoder writes attrs without changes. Plain attributes meet these
// conditions:
//
//   - There are at most [MaxPlain] attributes.
//   - All values are scalar.
//   - No key is empty, and no key occurs twice.
func Plain(attrs []slog.Attr) bool {
	if len(attrs) > MaxPlain {
		return false
	}
	for i := range attrs {
		if attrs[i].Key == "" || attrs[i].Value.Kind() == slog.KindAny ||
			attrs[i].Value.Kind() >= slog.KindGroup {
			return false
		}
		for k := range i {
			if attrs[k].Key == attrs[i].Key {
				return false
			}
		}
	}
	return true
}

// Value converts a frozen value of an entry to an attribute's value of OpenTelemetry. Function
// Freeze of internal/record lists the kinds of frozen values.
//
//   - Durations become nanoseconds.
//   - Times become nanoseconds since the Unix epoch.
//   - Unsigned numbers above the range of int64 become text.
func Value(v slog.Value) attribute.Value {
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
	return attribute.Value{} // null
}

// Detail converts an attribute's value to a value of an entry. Booleans, integers and floats remain
// scalar. All other values become text.
func Detail(v attribute.Value) slog.Value {
	switch v.Type() {
	case attribute.BOOL:
		return slog.BoolValue(v.AsBool())
	case attribute.INT64:
		return slog.Int64Value(v.AsInt64())
	case attribute.FLOAT64:
		return slog.Float64Value(v.AsFloat64())
	default:
		return slog.StringValue(v.String())
	}
}

func appendDetail(b []byte, tag uint64, attrs []slog.Attr) []byte {
	for i := range attrs {
		key, v := text.Valid(attrs[i].Key), &attrs[i].Value
		switch v.Kind() {
		case slog.KindString: // a short way for the most frequent kinds, texts and integers
			b = otlpwire.AppendTextAttribute(b, tag, key, text.Valid(v.String()))
		case slog.KindInt64:
			b = otlpwire.AppendNumber(b, tag, key, otlpwire.ValueInt, uint64(v.Int64()))
		default:
			kv := attribute.KeyValue{Key: attribute.Key(key), Value: Value(*v)}
			b = otlpwire.AppendKeyValue(b, tag, &kv, 0)
		}
	}
	return b
}
