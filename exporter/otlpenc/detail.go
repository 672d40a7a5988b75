package otlpenc

import (
	"log/slog"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// maxPlain is the number of attributes that [Snapshot.AppendPlain] takes. It compares each key with all others.
const maxPlain = 8

// AppendPlain is Append for a span that has the attributes of a timeline's entry. It takes attributes of scalar kinds,
// with keys that are neither empty nor repeated. It reports false, and appends nothing, for others. s.Attributes is not used.
//
// Numbers become numbers. Durations are nanoseconds, and times are nanoseconds since the Unix epoch. An unsigned number above the range of int64 becomes
// text.
func (s *Snapshot) AppendPlain(b []byte, attrs []slog.Attr) (_ []byte, ok bool) {
	if !plain(attrs) {
		return b, false
	}
	return s.append(b, attrs), true
}

func plain(attrs []slog.Attr) bool {
	if len(attrs) > maxPlain {
		return false
	}
	for i := range attrs {
		if attrs[i].Key == "" || attrs[i].Value.Kind() == slog.KindAny || attrs[i].Value.Kind() >= slog.KindGroup {
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

// appendDetail appends attributes that are plain.
func appendDetail(b []byte, attrs []slog.Attr) []byte {
	for i := range attrs {
		b = appendScalar(b, spanAttributes, validText(attrs[i].Key), scalarOfDetail(attrs[i].Value))
	}
	return b
}

func scalarOfDetail(v slog.Value) scalar {
	switch v.Kind() {
	case slog.KindBool:
		return scalar{tag: valueBool, number: protowire.EncodeBool(v.Bool()), size: 2}
	case slog.KindInt64:
		return integer(v.Int64())
	case slog.KindUint64:
		if u := v.Uint64(); u > math.MaxInt64 {
			return text(strconv.FormatUint(u, 10))
		}
		return integer(int64(v.Uint64()))
	case slog.KindFloat64:
		return scalar{tag: valueDouble, number: math.Float64bits(v.Float64()), size: 1 + protowire.SizeFixed64()}
	case slog.KindDuration:
		return integer(int64(v.Duration()))
	case slog.KindTime:
		return integer(v.Time().UnixNano())
	default:
		return text(v.String())
	}
}
