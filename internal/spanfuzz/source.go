// Package spanfuzz generates the contents of spans from a fuzzer's bytes, and compares requests
// with the requests of the SDK's exporter. Only tests use the package.
package spanfuzz

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// A Source generates values from the bytes of Data. After the last byte, Source generates zero
// values.
type Source struct {
	Data     []byte
	MaxDepth int // of lists and maps within each other
	// A generated map contains a key with invalid UTF-8. The repaired key may have another position
	// in the sorted map.
	Repaired bool
}

var base = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)

// Byte returns the next byte of Data. After the last byte, Byte returns 0.
func (r *Source) Byte() byte {
	if len(r.Data) == 0 {
		return 0
	}
	b := r.Data[0]
	r.Data = r.Data[1:]
	return b
}

// Below returns a number from 0 to n-1. n is at most 256.
func (r *Source) Below(n int) int { return int(r.Byte()) % n }

// Number returns an arbitrary number, often an extreme number.
func (r *Source) Number() int64 {
	switch r.Below(6) {
	case 0:
		return 0
	case 1:
		return int64(r.Byte())
	case 2:
		return -int64(r.Byte())
	case 3:
		return math.MaxInt64
	case 4:
		return math.MinInt64
	default:
		var b [8]byte
		for i := range b {
			b[i] = r.Byte()
		}
		return int64(binary.LittleEndian.Uint64(b[:]))
	}
}

// Float returns an arbitrary number, often NaN.
func (r *Source) Float() float64 {
	if r.Below(4) == 0 {
		return math.NaN()
	}
	return math.Float64frombits(uint64(r.Number()))
}

// Text returns an arbitrary text. The text is often empty, sometimes long, and sometimes invalid
// UTF-8.
func (r *Source) Text() string {
	switch r.Below(8) {
	case 0:
		return ""
	case 1:
		return strings.Repeat("é", int(r.Byte())) // around a length of 128
	case 2:
		if r.Below(16) > 0 { // not often, because it takes long
			return "x"
		}
		return strings.Repeat("x", int(r.Byte())*100) // around 16 384
	case 3:
		return "\xff\xfe" + strings.Repeat("\x80", r.Below(3)) + "=\xe2\x82"
	default:
		n := r.Below(20)
		n = min(n, len(r.Data))
		s := string(r.Data[:n])
		r.Data = r.Data[n:]
		return s
	}
}

// Time returns an arbitrary time. The time is often near a fixed day, and sometimes the zero time.
func (r *Source) Time() time.Time {
	switch r.Below(6) {
	case 0:
		return time.Time{}
	case 1:
		return time.Unix(0, r.Number())
	case 2:
		return time.Unix(r.Number(), r.Number()) // any year
	default:
		return base.Add(time.Duration(r.Byte()))
	}
}

// List returns up to 7 results of f.
func List[T any](r *Source, f func() T) []T {
	out := make([]T, r.Below(8))
	for i := range out {
		out[i] = f()
	}
	return out
}

// Attributes returns up to 7 attributes. depth is the number of lists and maps that enclose the
// attributes.
func (r *Source) Attributes(depth int) []attribute.KeyValue {
	return List(r, func() attribute.KeyValue {
		return attribute.KeyValue{Key: attribute.Key(r.Text()), Value: r.Value(depth)}
	})
}

// Value returns a value of any kind. depth is the number of lists and maps that enclose the value.
func (r *Source) Value(depth int) attribute.Value {
	kinds := 13
	if depth > 4 {
		kinds = 6
	}
	switch r.Below(kinds) {
	case 0:
		return attribute.Value{}
	case 1:
		return attribute.BoolValue(r.Below(2) == 1)
	case 2:
		return attribute.Int64Value(r.Number())
	case 3:
		return attribute.Float64Value(r.Float())
	case 4:
		return attribute.StringValue(r.Text())
	case 5:
		return attribute.ByteSliceValue([]byte(r.Text()))
	case 6:
		return attribute.BoolSliceValue(List(r, func() bool { return r.Below(2) == 1 }))
	case 7:
		return attribute.Int64SliceValue(List(r, r.Number))
	case 8:
		return attribute.Float64SliceValue(List(r, r.Float))
	case 9:
		return attribute.StringSliceValue(List(r, r.Text))
	case 10:
		return attribute.SliceValue(
			List(r, func() attribute.Value { return r.Value(depth + 1) })...)
	case 11:
		members := r.Attributes(depth + 1)
		for _, kv := range members {
			r.Repaired = r.Repaired ||
				string(kv.Key) != strings.ToValidUTF8(string(kv.Key), "\uFFFD")
		}
		return attribute.MapValue(members...)
	default:
		v := r.Value(5) // a chain, as deep as may be
		for range r.Below(r.MaxDepth - depth + 1) {
			if r.Below(2) == 0 {
				v = attribute.SliceValue(v)
			} else {
				v = attribute.MapValue(attribute.KeyValue{Key: "k", Value: v})
			}
		}
		return v
	}
}

// Context returns a span context with arbitrary ids. The ids may be zero.
func (r *Source) Context() trace.SpanContext {
	var c trace.SpanContextConfig
	for i := range c.TraceID {
		c.TraceID[i] = r.Byte()
	}
	for i := range c.SpanID {
		c.SpanID[i] = r.Byte()
	}
	c.TraceFlags, c.Remote = trace.TraceFlags(r.Byte()), r.Below(2) == 1
	for i := range r.Below(4) {
		key := "k" + strconv.Itoa(i)
		if ts, err := c.TraceState.Insert(key, strings.Repeat("v", 1+int(r.Byte()))); err == nil {
			c.TraceState = ts
		}
	}
	return trace.NewSpanContext(c)
}
