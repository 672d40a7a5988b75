package service_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/profiling/service"
	pb "github.com/perfline/perfline/profiling/service/profilerv1"
)

// detailOf returns what clients get of the attributes of a mark.
func detailOf(t *testing.T, attrs ...slog.Attr) []*pb.Detail {
	t.Helper()
	p := newProgram(t)
	id := uint32(p.recorded(t, func(ctx context.Context) { marks.Mark(ctx, "m", attrs...) }))
	c := client(t, serve(t, p.Recorder, service.Config{}))
	s, err := c.GetSession(t.Context(), &pb.GetSessionArg{SessionId: id})
	if err != nil {
		t.Fatal(err)
	}
	page, err := c.GetEvents(t.Context(), &pb.GetEventsArg{SessionId: id, TimelineId: theTimeline(s)})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range page.GetEventList() {
		if e.GetName() == "m" {
			return e.GetDetail()
		}
	}
	t.Fatal("there is no mark")
	return nil
}

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
			for _, d := range detailOf(t, tt.attr) {
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
	if n := len(detailOf(t, slog.Group("g", many...), slog.Int("after", 1))); n != 64 {
		t.Errorf("%d of 101 details, want 64", n)
	}
}
