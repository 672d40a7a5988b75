package otlpenc

import (
	"fmt"
	"math"

	"go.opentelemetry.io/otel/attribute"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/perfline/perfline/internal/otlpwire"
)

// MaxDepth is the greatest nesting of lists and maps in the value of an attribute. The encoder
// writes the text "nested too deep" in place of deeper lists and maps.
const MaxDepth = otlpwire.MaxDepth

func decodeAttribute(b otlpwire.Fields) (attribute.KeyValue, error) { return decodeKeyValue(b, 0) }

func decodeKeyValue(b otlpwire.Fields, depth int) (kv attribute.KeyValue, err error) {
	err = b.Each(func(f otlpwire.Field) (err error) {
		switch f.Tag {
		case otlpwire.KeyValueKey:
			kv.Key = attribute.Key(f.Body)
		case otlpwire.KeyValueValue:
			kv.Value, err = decodeValue(f.Body, depth)
		}
		return err
	})
	return kv, err
}

func decodeValue(b otlpwire.Fields, depth int) (v attribute.Value, err error) {
	err = b.Each(func(f otlpwire.Field) (err error) {
		switch f.Tag {
		case otlpwire.ValueString:
			v = attribute.StringValue(string(f.Body))
		case otlpwire.ValueBool:
			v = attribute.BoolValue(protowire.DecodeBool(f.Number))
		case otlpwire.ValueInt:
			v = attribute.Int64Value(int64(f.Number))
		case otlpwire.ValueDouble:
			v = attribute.Float64Value(math.Float64frombits(f.Number))
		case otlpwire.ValueBytes:
			v = attribute.ByteSliceValue(f.Body)
		case otlpwire.ValueArray:
			var elements []attribute.Value
			elements, err = decodeList(f.Body, depth+1, decodeValue)
			v = sliceOf(elements)
		case otlpwire.ValueMap:
			var members []attribute.KeyValue
			members, err = decodeList(f.Body, depth+1, decodeKeyValue)
			v = attribute.MapValue(members...)
		}
		return err
	})
	return v, err
}

func decodeList[T any](
	b otlpwire.Fields, depth int, decode func(otlpwire.Fields, int) (T, error),
) (all []T, err error) {
	if depth > MaxDepth {
		return nil, fmt.Errorf(
			"otlpenc: attribute has more than %d lists and maps within each other", MaxDepth)
	}
	err = b.Each(func(f otlpwire.Field) (err error) {
		if f.Tag == otlpwire.ListValues {
			all, err = appendDecoded(all, f.Body, func(b otlpwire.Fields) (T, error) {
				return decode(b, depth)
			})
		}
		return err
	})
	return all, err
}

// sliceOf returns a slice of bools, numbers or texts if all elements have one such kind: OTLP
// encodes such a slice as a slice of values.
func sliceOf(all []attribute.Value) attribute.Value {
	kind := attribute.EMPTY
	for i, v := range all {
		if i > 0 && v.Type() != kind {
			return attribute.SliceValue(all...)
		}
		kind = v.Type()
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
