package otlpenc

import (
	"math"

	"go.opentelemetry.io/otel/attribute"
	"google.golang.org/protobuf/encoding/protowire"
)

// MaxDepth is the number of lists and maps that may lie within each other in the value of an attribute.
// The encoder writes the text "nested too deep" in place of each list and map below. Receivers refuse a
// request with messages more than 100 levels deep (protobuf's limit in C++, Java and Rust) or 10 000 (in Go).
// The value of an attribute of an event or a link is at level 6, and each map adds three.
const MaxDepth = 30

const tooDeep = "nested too deep"

// appendAttributes appends attributes that have depth lists and maps around them.
func appendAttributes(b []byte, tag uint64, attrs []attribute.KeyValue, depth int) []byte {
	for i := range attrs {
		b = appendKeyValue(b, tag, &attrs[i], depth)
	}
	return b
}

func appendKeyValue(b []byte, tag uint64, kv *attribute.KeyValue, depth int) []byte {
	key := validText(string(kv.Key))
	if kv.Value.Type() == attribute.STRING {
		return appendTextAttribute(b, tag, key, validText(kv.Value.AsString()))
	}
	b, at := beginMessage(b, tag)
	b = appendText(b, keyValueKey, key)
	b = appendValue(b, keyValueValue, kv.Value, depth)
	return endMessage(b, at)
}

// appendTextAttribute appends an attribute whose value is a text. Most are short: this saves a sixth of the time of a span.
func appendTextAttribute(b []byte, tag uint64, key, s string) []byte {
	n := 6 + len(key) + len(s)
	if key == "" || n >= 1<<7 {
		b, at := beginMessage(b, tag)
		b = appendText(b, keyValueKey, key)
		b = appendValue(b, keyValueValue, attribute.StringValue(s), 0)
		return endMessage(b, at)
	}
	b = append(b, byte(tag), byte(n), byte(keyValueKey), byte(len(key)))
	b = append(b, key...)
	b = append(b, byte(keyValueValue), byte(len(s)+2), byte(valueString), byte(len(s)))
	return append(b, s...)
}

// appendScalar appends an attribute whose value is a number or a truth value: n has its bits, and field says which.
func appendScalar(b []byte, tag uint64, key string, field, n uint64) []byte {
	b, at := beginMessage(b, tag)
	b = appendText(b, keyValueKey, key)
	b, value := beginMessage(b, keyValueValue)
	b = append(b, byte(field))
	if field == valueDouble {
		b = protowire.AppendFixed64(b, n)
	} else {
		b = protowire.AppendVarint(b, n)
	}
	return endMessage(endMessage(b, value), at)
}

// appendValue appends an AnyValue that has depth lists and maps around it.
func appendValue(b []byte, tag uint64, v attribute.Value, depth int) []byte {
	b, at := beginMessage(b, tag)
	switch v.Type() {
	case attribute.EMPTY:
	case attribute.BOOL:
		b = append(b, byte(valueBool), byte(protowire.EncodeBool(v.AsBool())))
	case attribute.INT64:
		b = protowire.AppendVarint(append(b, byte(valueInt)), uint64(v.AsInt64()))
	case attribute.FLOAT64:
		b = protowire.AppendFixed64(append(b, byte(valueDouble)), math.Float64bits(v.AsFloat64()))
	case attribute.STRING:
		b = appendString(b, valueString, validText(v.AsString()))
	case attribute.BYTESLICE:
		b = appendString(b, valueBytes, string(v.AsByteSlice()))
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
			b = appendString(b, valueString, tooDeep)
			break
		}
		var list int
		b, list = beginMessage(b, valueMap)
		b = appendAttributes(b, listValues, v.AsMap(), depth+1)
		b = endMessage(b, list)
	default:
		b = appendString(b, valueString, "INVALID") // a kind of value that the SDK got later
	}
	return endMessage(b, at)
}

// appendList appends an array that has depth lists and maps around it.
func appendList[T any](b []byte, elements []T, value func(T) attribute.Value, depth int) []byte {
	if depth == MaxDepth {
		return appendString(b, valueString, tooDeep)
	}
	b, at := beginMessage(b, valueArray)
	for _, e := range elements {
		b = appendValue(b, listValues, value(e), depth+1)
	}
	return endMessage(b, at)
}
