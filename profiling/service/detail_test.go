package service

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/service/profilerv1"
)

func TestDetails(t *testing.T) {
	many := make([]any, 0, 200)
	for i := range 100 {
		many = append(many, slog.Int("i", i))
	}
	for _, tt := range []struct {
		name string
		attr slog.Attr
		want string // as JSON, without spaces
	}{
		{"string", slog.String("k", "v"), `{"key":"k","stringValue":"v"}`},
		{"empty string", slog.String("k", ""), `{"key":"k","stringValue":""}`},
		{"int", slog.Int("k", -7), `{"key":"k","intValue":"-7"}`},
		{"uint", slog.Uint64("k", 7), `{"key":"k","intValue":"7"}`},
		{"uint that is no int", slog.Uint64("k", math.MaxUint64), `{"key":"k","stringValue":"18446744073709551615"}`},
		{"float", slog.Float64("k", 0.5), `{"key":"k","doubleValue":0.5}`},
		{"no number", slog.Float64("k", math.NaN()), `{"key":"k","doubleValue":"NaN"}`},
		{"bool", slog.Bool("k", false), `{"key":"k","boolValue":false}`},
		{"duration", slog.Duration("k", 1500*time.Microsecond), `{"key":"k","stringValue":"1.5ms"}`},
		{"time", slog.Time("k", time.Date(2026, 1, 2, 15, 4, 5, 999_000_000, time.UTC)), `{"key":"k","stringValue":"2026-01-02T15:04:05.999Z"}`},
		{"error", slog.Any("k", errors.New("no")), `{"key":"k","stringValue":"no"}`},
		{"nil", slog.Any("k", nil), `{"key":"k","stringValue":"\u003cnil\u003e"}`},
		{"struct", slog.Any("k", struct{ A int }{1}), `{"key":"k","stringValue":"{A:1}"}`},
		{"group", slog.Group("g", slog.Int("a", 1), slog.Group("h", slog.Int("b", 2))), `{"key":"g.a","intValue":"1"}{"key":"g.h.b","intValue":"2"}`},
		{"group without a name", slog.Group("", slog.Int("a", 1)), `{"key":"a","intValue":"1"}`},
		{"no key", slog.Int("", 1), ``},
		{"list", slog.Any("k", []string{"a", "b"}), `{"key":"k","stringValue":"[a b]"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got strings.Builder
			for _, d := range details(observer.Freeze([]slog.Attr{tt.attr})) {
				b, err := protojson.Marshal(d)
				if err != nil {
					t.Fatal(err)
				}
				got.WriteString(strings.ReplaceAll(string(b), `, "`, `,"`)) // protojson's spaces vary on purpose
			}
			want := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(tt.want)
			if got := strings.ReplaceAll(got.String(), `": `, `":`); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
	if n := len(details([]slog.Attr{slog.Group("g", many...), slog.Int("after", 1)})); n != 64 {
		t.Errorf("%d of 101 details, want 64", n)
	}
}

func FuzzCut(f *testing.F) {
	for _, s := range []string{"", "a", "\xff", "é", strings.Repeat("a", 1024), strings.Repeat("a", 1025), strings.Repeat("é", 600), strings.Repeat("a", 1019) + "世界世界", strings.Repeat("\x80", 2000), strings.Repeat("a\xff", 2000)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := cut(s)
		if !utf8.ValidString(got) {
			t.Fatalf("%q is not UTF-8", got)
		}
		if utf8.ValidString(s) && len(s) <= 1024 && got != s {
			t.Errorf("%q became %q: it is as it should be", s, got)
		}
		if utf8.ValidString(s) && len(s) > 1024 {
			if begin, is := strings.CutSuffix(got, "…"); !is || !strings.HasPrefix(s, begin) || len(got) > 1024 || len(got) <= 1024-utf8.UTFMax {
				t.Errorf("%d bytes became %d, %q: want the first of them and an ellipsis, 1024 bytes or nearly", len(s), len(got), got)
			}
		}
		if len(got) > 3*1024 {
			t.Errorf("%d bytes became %d", len(s), len(got))
		}
		if _, err := proto.Marshal(&profilerv1.Event{Name: got}); err != nil {
			t.Error(err)
		}
	})
}

func TestDurationsOnTheWire_SP8(t *testing.T) {
	for ms, want := range map[float64]time.Duration{
		0: 0, 1.5: 1500 * time.Microsecond, -2: -2 * time.Millisecond, 1e-6: 1,
		1e300: math.MaxInt64, -1e300: math.MinInt64, math.Inf(1): math.MaxInt64,
	} {
		if got := duration(ms); got != want {
			t.Errorf("%s: got %v, want %v", fmt.Sprint(ms, " ms"), got, want)
		}
	}
}
