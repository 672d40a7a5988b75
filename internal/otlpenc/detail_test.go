package otlpenc_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/internal/otlpenc"
)

// Attributes of entries are encoded as the same attributes of a span are.
func TestAppendPlain(t *testing.T) {
	at := time.Unix(1, 2)
	for _, c := range []struct {
		attr slog.Attr
		want attribute.KeyValue
	}{
		{slog.Bool("k", true), attribute.Bool("k", true)},
		{slog.Bool("k", false), attribute.Bool("k", false)},
		{slog.Int64("k", -1), attribute.Int64("k", -1)},
		{slog.Int64("k", math.MaxInt64), attribute.Int64("k", math.MaxInt64)},
		{slog.Uint64("k", 300), attribute.Int64("k", 300)},
		{slog.Uint64("k", math.MaxInt64), attribute.Int64("k", math.MaxInt64)},
		{slog.Uint64("k", math.MaxInt64+1), attribute.String("k", "9223372036854775808")},
		{slog.Float64("k", -0.5), attribute.Float64("k", -0.5)},
		{slog.String("k", ""), attribute.String("k", "")},
		{slog.String("k", string(bytes.Repeat([]byte("ä"), 200))), attribute.String("k", string(bytes.Repeat([]byte("ä"), 200)))},
		{slog.String("k\xff", "v\xff"), attribute.String("k\ufffd", "v\ufffd")},
		{slog.Duration("k", time.Second), attribute.Int64("k", int64(time.Second))},
		{slog.Time("k", at), attribute.Int64("k", at.UnixNano())},
	} {
		t.Run(fmt.Sprint(c.attr.Value.Kind(), c.want), func(t *testing.T) {
			s := otlpenc.Snapshot{Name: "s", StartTime: at, EndTime: at}
			attrs := []slog.Attr{c.attr, slog.Int("n", 1)}
			if !otlpenc.Plain(attrs) {
				t.Fatal("not plain")
			}
			got := s.Append([]byte("before"), otlpenc.Extra{Detail: attrs, Events: func(b []byte) []byte {
				return otlpenc.AppendEvent(otlpenc.AppendEvent(b, at, "e", attrs), at, "", nil)
			}})
			s.Attributes = []attribute.KeyValue{c.want, attribute.Int("n", 1)}
			s.Events = []sdktrace.Event{{Name: "e", Time: at, Attributes: s.Attributes}, {Time: at}}
			if want := s.Append([]byte("before"), otlpenc.Extra{}); !bytes.Equal(got, want) {
				t.Errorf("got %x, want %x", got, want)
			}
		})
	}
}

// A key of any length is encoded with each length of an integer: a message of 128 bytes and more has a
// longer prefix.
func TestAppendNumbers(t *testing.T) {
	at := time.Unix(1, 2)
	for n := range 140 {
		key := strings.Repeat("k", n)
		want := []attribute.KeyValue{
			attribute.Int(key, 1), attribute.Int64(key, -1), attribute.Int64(key, 1<<40), attribute.Bool(key, true), attribute.Bool(key, false),
		}
		s := otlpenc.Snapshot{Name: "s", StartTime: at, EndTime: at, Attributes: want}
		for decoded, err := range (otlpenc.Spans{Bytes: s.Append(nil, otlpenc.Extra{})}).All() {
			if err != nil || !slices.Equal(decoded.Attributes, want) {
				t.Errorf("with a key of %d bytes: got %v, %v, want %v", n, decoded.Attributes, err, want)
			}
		}
	}
}

// Other attributes have to be converted before.
func TestNotPlain(t *testing.T) {
	var many []slog.Attr
	for i := range 9 {
		many = append(many, slog.Int(fmt.Sprint(i), i))
	}
	for what, attrs := range map[string][]slog.Attr{
		"no key":      {slog.Int("", 1)},
		"a key twice": {slog.Int("k", 1), slog.Int("l", 1), slog.Int("k", 2)},
		"a list":      {slog.Any("k", []string{"a"})},
		"a group":     {slog.Group("k", slog.Int("n", 1))},
		"a valuer":    {slog.Any("k", valuer{})},
		"many":        many,
	} {
		if otlpenc.Plain(attrs) {
			t.Errorf("%s: plain", what)
		}
	}
	if !otlpenc.Plain(many[:otlpenc.MaxPlain]) {
		t.Errorf("%d attributes are not plain", otlpenc.MaxPlain)
	}
}

type valuer struct{}

func (valuer) LogValue() slog.Value { return slog.IntValue(1) }
