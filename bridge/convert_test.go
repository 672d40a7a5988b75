package bridge

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"

	"github.com/perfline/perfline/observer"
)

type panics struct{}

func (panics) LogValue() slog.Value { panic("LogValue") }

type stringer struct{ s string }

func (s *stringer) String() string { return s.s } // panics for nil

func TestConvert(t *testing.T) {
	for _, c := range []struct {
		name string
		attr slog.Attr
		want string
	}{
		{"bool", slog.Bool("k", true), "k=BOOL:true"},
		{"int64", slog.Int64("k", -3), "k=INT64:-3"},
		{"uint64", slog.Uint64("k", 3), "k=INT64:3"},
		{"uint64 above MaxInt64", slog.Uint64("k", math.MaxUint64), "k=STRING:18446744073709551615"},
		{"float64", slog.Float64("k", 0.5), "k=FLOAT64:0.5"},
		{"string", slog.String("k", "v"), "k=STRING:v"},
		{"duration", slog.Duration("k", time.Millisecond), "k=INT64:1000000"},
		{"time", slog.Time("k", time.Unix(1, 5)), "k=INT64:1000000005"},
		{"group", slog.Group("g", slog.Int("a", 1), slog.Group("h", slog.Int("b", 2))), "g.a=INT64:1 g.h.b=INT64:2"},
		{"unnamed group", slog.Group("", slog.Int("a", 1)), "a=INT64:1"},
		{"empty group", slog.Group("g"), ""},
		{"no key", slog.Int("", 1), ""},
		{"zero Attr", slog.Attr{}, ""},
		{"LogValuer that panics", slog.Any("k", panics{}), "k=STRING:LogValue panicked"},
		{"bytes", slog.Any("k", []byte("ab")), "k=BYTESLICE:[97 98]"},
		{"strings", slog.Any("k", []string{"a", "b"}), "k=STRINGSLICE:[a b]"},
		{"ints", slog.Any("k", []int{1, 2}), "k=STRING:[1 2]"},
		{"int64s", slog.Any("k", []int64{1}), "k=INT64SLICE:[1]"},
		{"float64s", slog.Any("k", []float64{.5}), "k=FLOAT64SLICE:[0.5]"},
		{"bools", slog.Any("k", []bool{true}), "k=BOOLSLICE:[true]"},
		{"error", slog.Any("k", errors.New("bad")), "k=STRING:bad"},
		{"Stringer", slog.Any("k", &stringer{"s"}), "k=STRING:s"},
		{"nil Stringer", slog.Any("k", (*stringer)(nil)), "k=STRING:<nil>"},
		{"nil", slog.Any("k", nil), "k=STRING:<nil>"},
		{"struct", slog.Any("k", struct{ A int }{1}), "k=STRING:{A:1}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, kv := range convert(observer.Freeze([]slog.Attr{c.attr})) {
				s := fmt.Sprintf("%s=%s:%v", kv.Key, kv.Value.Type(), kv.Value.AsInterface())
				if i := strings.Index(s, "panicked"); i >= 0 {
					s = s[:i+len("panicked")] // slog adds the stack
				}
				got = append(got, s)
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("got %s, want %s", s, c.want)
			}
		})
	}
}

func TestUnique(t *testing.T) {
	got := unique([]attribute.KeyValue{attribute.Int("a", 1), attribute.Int("b", 2), attribute.Int("a", 3)})
	if len(got) != 2 || got[0] != attribute.Int("a", 3) || got[1] != attribute.Int("b", 2) {
		t.Errorf("got %v: the last value must win, at the first place", got)
	}
}

func FuzzCut(f *testing.F) {
	for _, s := range []string{"", "a", "äöü", "\xff\xfe", "a\xffb", strings.Repeat("☃", 9)} {
		for limit := range 4 {
			f.Add(s, limit)
		}
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		if limit < 0 {
			return
		}
		got := cut(s, limit)
		if n := utf8.RuneCountInString(got); n > limit || !strings.HasPrefix(s, got) {
			t.Errorf("cut(%q, %d) is %q", s, limit, got)
		}
		if utf8.RuneCountInString(s) <= limit && got != s {
			t.Errorf("cut(%q, %d) is %q, though it fits", s, limit, got)
		}
		if utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Errorf("cut(%q, %d) is %q: no longer valid UTF-8", s, limit, got)
		}
	})
}
