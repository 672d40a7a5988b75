package bridge_test

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/marks"
)

type panics struct{}

func (panics) LogValue() slog.Value { panic("LogValue") }

type stringer struct{ s string }

func (s *stringer) String() string { return s.s } // panics for nil

func TestConvert(t *testing.T) {
	overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
		convertEach(t, open(bothproviders.Options{}))
	})
}

func convertEach(t *testing.T, r *rig) {
	for _, c := range []struct {
		name  string
		attrs []slog.Attr
		want  string
	}{
		{"bool", []slog.Attr{slog.Bool("k", true)}, "k=BOOL:true"},
		{"int64", []slog.Attr{slog.Int64("k", -3)}, "k=INT64:-3"},
		{"uint64", []slog.Attr{slog.Uint64("k", 3)}, "k=INT64:3"},
		{"uint64 above MaxInt64", []slog.Attr{slog.Uint64("k", math.MaxUint64)}, "k=STRING:18446744073709551615"},
		{"float64", []slog.Attr{slog.Float64("k", 0.5)}, "k=FLOAT64:0.5"},
		{"string", []slog.Attr{slog.String("k", "v")}, "k=STRING:v"},
		{"duration", []slog.Attr{slog.Duration("k", time.Millisecond)}, "k=INT64:1000000"},
		{"time", []slog.Attr{slog.Time("k", time.Unix(1, 5))}, "k=INT64:1000000005"},
		{"group", []slog.Attr{slog.Group("g", slog.Int("a", 1), slog.Group("h", slog.Int("b", 2)))}, "g.a=INT64:1 g.h.b=INT64:2"},
		{"unnamed group", []slog.Attr{slog.Group("", slog.Int("a", 1))}, "a=INT64:1"},
		{"empty group", []slog.Attr{slog.Group("g")}, ""},
		{"no key", []slog.Attr{slog.Int("", 1)}, ""},
		{"zero Attr", []slog.Attr{{}}, ""},
		{"LogValuer that panics", []slog.Attr{slog.Any("k", panics{})}, "k=STRING:LogValue panicked"},
		{"bytes", []slog.Attr{slog.Any("k", []byte("ab"))}, "k=BYTESLICE:[97 98]"},
		{"strings", []slog.Attr{slog.Any("k", []string{"a", "b"})}, "k=STRINGSLICE:[a b]"},
		{"ints", []slog.Attr{slog.Any("k", []int{1, 2})}, "k=STRING:[1 2]"},
		{"int64s", []slog.Attr{slog.Any("k", []int64{1})}, "k=INT64SLICE:[1]"},
		{"float64s", []slog.Attr{slog.Any("k", []float64{.5})}, "k=FLOAT64SLICE:[0.5]"},
		{"bools", []slog.Attr{slog.Any("k", []bool{true})}, "k=BOOLSLICE:[true]"},
		{"error", []slog.Attr{slog.Any("k", errors.New("bad"))}, "k=STRING:bad"},
		{"Stringer", []slog.Attr{slog.Any("k", &stringer{"s"})}, "k=STRING:s"},
		{"nil Stringer", []slog.Attr{slog.Any("k", (*stringer)(nil))}, "k=STRING:<nil>"},
		{"nil", []slog.Attr{slog.Any("k", nil)}, "k=EMPTY:<nil>"},
		{"struct", []slog.Attr{slog.Any("k", struct{ A int }{1})}, "k=STRING:{A:1}"},
		{"a key twice", []slog.Attr{slog.Int("a", 1), slog.Int("b", 2), slog.Int("a", 3)}, "a=INT64:3 b=INT64:2"}, // the last value, at the first place
		{"many keys twice", append(numbered(100), numbered(100)...), converted(100)},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, span := r.tracer.Start(r.ctx, "span")
			marks.Mark(ctx, "mark", c.attrs...)
			marks.Time(ctx, c.name, c.attrs...).End()
			span.End()
			r.flush(t)
			all := r.got.all()
			event := all[len(all)-1].Events()[0]
			for what, kvs := range map[string][]attribute.KeyValue{"a mark": event.Attributes, "a measure": r.got.one(t, c.name).Attributes()} {
				s := text(kvs)
				if i := strings.Index(s, "panicked"); i >= 0 {
					s = s[:i+len("panicked")] // slog adds the stack
				}
				if s != c.want {
					t.Errorf("%s has %s, want %s", what, s, c.want)
				}
			}
		})
	}
}

// numbered returns n attributes with different keys, and converted what they become.
func numbered(n int) (attrs []slog.Attr) {
	for i := range n {
		attrs = append(attrs, slog.Int(fmt.Sprint("k", i), i))
	}
	return attrs
}

func converted(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("k%d=INT64:%d", i, i))
	}
	return strings.Join(all, " ")
}
