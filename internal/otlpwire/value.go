package otlpwire

import (
	"math"

	"go.opentelemetry.io/otel/attribute"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/perfline/perfline/internal/text"
)

// Tags of an attribute and its value: a field's number and the type of its value.
const (
	KeyValueKey   = 1<<3 | Prefixed
	KeyValueValue = 2<<3 | Prefixed

	ValueString = 1<<3 | Prefixed
	ValueBool   = 2<<3 | Varint
	ValueInt    = 3<<3 | Varint
	ValueDouble = 4<<3 | Fixed64
	ValueArray  = 5<<3 | Prefixed
	ValueMap    = 6<<3 | Prefixed
	ValueBytes  = 7<<3 | Prefixed

	ListValues = 1<<3 | Prefixed // of an array and of a map
)

// MaxDepth is the greatest nesting of lists and maps in the value of an attribute. The encoder
// writes [TooDeep] in place of deeper lists and maps. Receivers refuse a request with messages more
// than 100 levels deep (protobuf's limit in C++, Java and Rust) or 10 000 (in Go). The value of an
// attribute of an event or a link is at level 6, and each map adds three levels.
const MaxDepth = 30

// TooDeep is the text in place of a deeper list or map.
const TooDeep = "nested too deep"

// AppendAttributes appends attributes. Each attribute becomes a field with the given tag. depth is
// the number of lists and maps that enclose the attributes.
func AppendAttributes(b []byte, tag uint64, attrs []attribute.KeyValue, depth int) []byte {
	for i := range attrs {
		b = AppendKeyValue(b, tag, &attrs[i], depth)
	}
	return b
}

// AppendKeyValue appends an attribute. depth is the number of lists and maps that enclose the
// attribute.
func AppendKeyValue(b []byte, tag uint64, kv *attribute.KeyValue, depth int) []byte {
	key := text.Valid(string(kv.Key))
	switch kv.Value.Type() {
	case attribute.STRING:
		return AppendTextAttribute(b, tag, key, text.Valid(kv.Value.AsString()))
	case attribute.INT64:
		return AppendNumber(b, tag, key, ValueInt, uint64(kv.Value.AsInt64()))
	case attribute.BOOL:
		return AppendNumber(b, tag, key, ValueBool, protowire.EncodeBool(kv.Value.AsBool()))
	default:
	}
	b, at := BeginMessage(b, tag)
	b = AppendText(b, KeyValueKey, key)
	b = AppendValue(b, KeyValueValue, kv.Value, depth)
	return EndMessage(b, at)
}

// AppendTextAttribute appends an attribute with a text value. key and s must be valid UTF-8.
// Separate code for short texts saves a sixth of the time to encode a span.
func AppendTextAttribute(b []byte, tag uint64, key, s string) []byte {
	n := 6 + len(key) + len(s)
	if key == "" || n >= 1<<7 {
		b, at := BeginMessage(b, tag)
		b = AppendText(b, KeyValueKey, key)
		b = AppendValue(b, KeyValueValue, attribute.StringValue(s), 0)
		return EndMessage(b, at)
	}
	b = append(b, byte(tag), byte(n), byte(KeyValueKey), byte(len(key)))
	b = append(b, key...)
	b = append(b, byte(KeyValueValue), byte(len(s)+2), byte(ValueString), byte(len(s)))
	return append(b, s...)
}

// AppendNumber appends an attribute with an integer or boolean value. The parameter field is the
// tag of the value, and n contains the bits of the value. key must be valid UTF-8.
func AppendNumber(b []byte, tag uint64, key string, field, n uint64) []byte {
	size := 1 + protowire.SizeVarint(n)
	all := 4 + len(key) + size
	if key == "" || all >= 1<<7 {
		b, at := BeginMessage(b, tag)
		b = append(AppendText(b, KeyValueKey, key), byte(KeyValueValue), byte(size), byte(field))
		return EndMessage(protowire.AppendVarint(b, n), at)
	}
	b = append(b, byte(tag), byte(all), byte(KeyValueKey), byte(len(key)))
	b = append(append(b, key...), byte(KeyValueValue), byte(size), byte(field))
	return protowire.AppendVarint(b, n)
}

// AppendValue appends a value as an AnyValue message. depth is the number of lists and maps that
// enclose the value.
func AppendValue(b []byte, tag uint64, v attribute.Value, depth int) []byte {
	b, at := BeginMessage(b, tag)
	switch v.Type() {
	case attribute.EMPTY:
	case attribute.BOOL:
		b = append(b, byte(ValueBool), byte(protowire.EncodeBool(v.AsBool())))
	case attribute.INT64:
		b = protowire.AppendVarint(append(b, byte(ValueInt)), uint64(v.AsInt64()))
	case attribute.FLOAT64:
		b = protowire.AppendFixed64(append(b, byte(ValueDouble)), math.Float64bits(v.AsFloat64()))
	case attribute.STRING:
		b = AppendString(b, ValueString, text.Valid(v.AsString()))
	case attribute.BYTESLICE:
		b = AppendString(b, ValueBytes, string(v.AsByteSlice()))
	case attribute.BOOLSLICE:
		b = appendList(b, v.AsBoolSlice(), attribute.BoolValue, depth)
	case attribute.INT64SLICE:
		b = appendList(b, v.AsInt64Slice(), attribute.Int64Value, depth)
	case attribute.FLOAT64SLICE:
		b = appendList(b, v.AsFloat64Slice(), attribute.Float64Value, depth)
	case attribute.STRINGSLICE:
		b = appendList(b, v.AsStringSlice(), attribute.StringValue, depth)
	case attribute.SLICE:
		b = appendList(b, v.AsSlice(), func(e attribute.Value) attribute.Value { return e }, depth)
	case attribute.MAP:
		if depth == MaxDepth {
			b = AppendString(b, ValueString, TooDeep)
			break
		}
		var list int
		b, list = BeginMessage(b, ValueMap)
		b = AppendAttributes(b, ListValues, v.AsMap(), depth+1)
		b = EndMessage(b, list)
	default:
		b = AppendString(b, ValueString, "INVALID") // a kind of a later SDK
	}
	return EndMessage(b, at)
}

func appendList[T any](b []byte, elements []T, value func(T) attribute.Value, depth int) []byte {
	if depth == MaxDepth {
		return AppendString(b, ValueString, TooDeep)
	}
	b, at := BeginMessage(b, ValueArray)
	for _, e := range elements {
		b = AppendValue(b, ListValues, value(e), depth+1)
	}
	return EndMessage(b, at)
}
