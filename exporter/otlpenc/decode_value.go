package otlpenc

import (
	"fmt"
	"math"

	"go.opentelemetry.io/otel/attribute"
	"google.golang.org/protobuf/encoding/protowire"
)

func appendDecoded(attrs []attribute.KeyValue, b fields) ([]attribute.KeyValue, error) {
	kv, err := decodeKeyValue(b, 0)
	if err != nil {
		return attrs, err
	}
	return append(attrs, kv), nil
}

// decodeKeyValue decodes an attribute that has depth lists and maps around it.
func decodeKeyValue(b fields, depth int) (kv attribute.KeyValue, err error) {
	for len(b) > 0 {
		f, err := b.next()
		if err != nil {
			return kv, err
		}
		switch f.tag {
		case keyValueKey:
			kv.Key = attribute.Key(f.body)
		case keyValueValue:
			if kv.Value, err = decodeValue(f.body, depth); err != nil {
				return kv, err
			}
		}
	}
	return kv, nil
}

func decodeValue(b fields, depth int) (v attribute.Value, err error) {
	for len(b) > 0 {
		f, err := b.next()
		if err != nil {
			return v, err
		}
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
		case valueArray, valueMap:
			if depth == MaxDepth {
				return v, fmt.Errorf("otlpenc: attribute has more than %d lists and maps within each other", MaxDepth)
			}
			if f.tag == valueMap {
				v, err = decodeMap(f.body, depth+1)
			} else {
				v, err = decodeArray(f.body, depth+1)
			}
			if err != nil {
				return v, err
			}
		}
	}
	return v, nil
}

func decodeMap(b fields, depth int) (attribute.Value, error) {
	members, err := decodeList(b, depth, decodeKeyValue)
	if err != nil {
		return attribute.Value{}, err
	}
	return attribute.MapValue(members...), nil
}

// decodeArray returns a slice of bools, numbers or texts if all elements are of one such kind, because
// OTLP does not tell them from a slice of such values.
func decodeArray(b fields, depth int) (attribute.Value, error) {
	all, err := decodeList(b, depth, decodeValue)
	if err != nil {
		return attribute.Value{}, err
	}
	if len(all) == 0 {
		return attribute.SliceValue(), nil
	}
	kind := all[0].Type()
	for _, v := range all {
		if v.Type() != kind {
			return attribute.SliceValue(all...), nil
		}
	}
	switch kind {
	case attribute.BOOL:
		return attribute.BoolSliceValue(each(all, attribute.Value.AsBool)), nil
	case attribute.INT64:
		return attribute.Int64SliceValue(each(all, attribute.Value.AsInt64)), nil
	case attribute.FLOAT64:
		return attribute.Float64SliceValue(each(all, attribute.Value.AsFloat64)), nil
	case attribute.STRING:
		return attribute.StringSliceValue(each(all, attribute.Value.AsString)), nil
	default:
		return attribute.SliceValue(all...), nil
	}
}

func each[T any](all []attribute.Value, as func(attribute.Value) T) []T {
	out := make([]T, len(all))
	for i, v := range all {
		out[i] = as(v)
	}
	return out
}

// decodeList decodes the elements of an array or a map.
func decodeList[T any](b fields, depth int, decode func(fields, int) (T, error)) ([]T, error) {
	var all []T
	for len(b) > 0 {
		f, err := b.next()
		if err != nil {
			return nil, err
		}
		if f.tag != listValues {
			continue
		}
		element, err := decode(f.body, depth)
		if err != nil {
			return nil, err
		}
		all = append(all, element)
	}
	return all, nil
}
