package otlpenc

import (
	"fmt"
	"math"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"google.golang.org/protobuf/encoding/protowire"
)

func decodeAttribute(b fields) (attribute.KeyValue, error) { return decodeKeyValue(b, 0) }

// decodeKeyValue decodes an attribute that has depth lists and maps around it.
func decodeKeyValue(b fields, depth int) (kv attribute.KeyValue, err error) {
	err = b.each(func(f field) (err error) {
		switch f.tag {
		case keyValueKey:
			kv.Key = attribute.Key(f.body)
		case keyValueValue:
			kv.Value, err = decodeValue(f.body, depth)
		}
		return err
	})
	return kv, err
}

func decodeValue(b fields, depth int) (v attribute.Value, err error) {
	err = b.each(func(f field) (err error) {
		switch f.tag {
		case valueString:
			v = attribute.StringValue(string(f.body))
		case valueBool:
			v = attribute.BoolValue(protowire.DecodeBool(f.number))
		case valueInt:
			v = attribute.Int64Value(int64(f.number))
		case valueDouble:
			v = attribute.Float64Value(math.Float64frombits(f.number))
		case valueBytes:
			v = attribute.ByteSliceValue(f.body)
		case valueArray:
			var elements []attribute.Value
			elements, err = decodeList(f.body, depth+1, decodeValue)
			v = sliceOf(elements)
		case valueMap:
			var members []attribute.KeyValue
			members, err = decodeList(f.body, depth+1, decodeKeyValue)
			v = attribute.MapValue(members...)
		}
		return err
	})
	return v, err
}

// decodeList decodes the elements of an array or a map.
func decodeList[T any](b fields, depth int, decode func(fields, int) (T, error)) (all []T, err error) {
	if depth > MaxDepth {
		return nil, fmt.Errorf("otlpenc: attribute has more than %d lists and maps within each other", MaxDepth)
	}
	err = b.each(func(f field) (err error) {
		if f.tag == listValues {
			all, err = appendDecoded(all, f.body, func(b fields) (T, error) { return decode(b, depth) })
		}
		return err
	})
	return all, err
}

// sliceOf returns a slice of bools, numbers or texts if all elements are of one such kind, because
// OTLP does not tell them from a slice of such values.
func sliceOf(all []attribute.Value) attribute.Value {
	kind := attribute.EMPTY
	if len(all) > 0 && !slices.ContainsFunc(all, func(v attribute.Value) bool { return v.Type() != all[0].Type() }) {
		kind = all[0].Type()
	}
	switch kind {
	case attribute.BOOL:
		return attribute.BoolSliceValue(convert(all, attribute.Value.AsBool))
	case attribute.INT64:
		return attribute.Int64SliceValue(convert(all, attribute.Value.AsInt64))
	case attribute.FLOAT64:
		return attribute.Float64SliceValue(convert(all, attribute.Value.AsFloat64))
	case attribute.STRING:
		return attribute.StringSliceValue(convert(all, attribute.Value.AsString))
	default:
		return attribute.SliceValue(all...)
	}
}

func convert[T any](all []attribute.Value, as func(attribute.Value) T) []T {
	converted := make([]T, len(all))
	for i, v := range all {
		converted[i] = as(v)
	}
	return converted
}
