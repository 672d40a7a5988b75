package bridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/slogtest"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
)

func TestLogHandler(t *testing.T) {
	spans := map[string]context.Context{
		"without a span": context.Background(),
		"under a span": trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{0xab, 15: 1}, SpanID: trace.SpanID{0xcd, 7: 2},
		})),
	}
	const ids = `,"trace_id":"ab000000000000000000000000000001","span_id":"cd00000000000002"`
	for name, ctx := range spans {
		for _, c := range []struct {
			name string
			log  func(*slog.Logger)
			want string
		}{
			{"plain", func(l *slog.Logger) { l.InfoContext(ctx, "m", "a", 1) }, `{"msg":"m","a":1` + ids + `}`},
			{"with attributes", func(l *slog.Logger) { l.With("b", 2).InfoContext(ctx, "m", "a", 1) }, `{"msg":"m","b":2,"a":1` + ids + `}`},
			{"in a group", func(l *slog.Logger) { l.WithGroup("g").InfoContext(ctx, "m", "a", 1) }, `{"msg":"m","g":{"a":1}` + ids + `}`},
			{
				"in groups with attributes", func(l *slog.Logger) {
					l.With("b", 2).WithGroup("g").With("c", 3).WithGroup("h").InfoContext(ctx, "m", "a", 1)
				},
				`{"msg":"m","b":2,"g":{"c":3,"h":{"a":1}}` + ids + `}`,
			},
			{"in an empty group", func(l *slog.Logger) { l.WithGroup("g").WithGroup("").InfoContext(ctx, "m") }, `{"msg":"m"` + ids + `}`},
			{"many attributes", func(l *slog.Logger) { l.InfoContext(ctx, "m", "a", 1, "b", 2, "c", 3, "d", 4, "e", 5) }, `{"msg":"m","a":1,"b":2,"c":3,"d":4,"e":5` + ids + `}`},
			{"below the level", func(l *slog.Logger) { l.DebugContext(ctx, "m") }, ""},
		} {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				var out bytes.Buffer
				c.log(slog.New(bridge.NewHandler(slog.NewJSONHandler(&out, &slog.HandlerOptions{ReplaceAttr: onlyMessage}))))
				want := c.want
				if name == "without a span" {
					want = strings.Replace(want, ids, "", 1)
				}
				if got := strings.TrimSpace(out.String()); got != want {
					t.Errorf("logged %s, want %s", got, want)
				}
			})
		}
	}
}

// onlyMessage leaves out the time and the level.
func onlyMessage(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
		return slog.Attr{}
	}
	return a
}

// Handlers that come of one do not share their attributes.
func TestLogHandlersAreApart(t *testing.T) {
	var out bytes.Buffer
	base := slog.New(bridge.NewHandler(slog.NewJSONHandler(&out, &slog.HandlerOptions{ReplaceAttr: onlyMessage}))).WithGroup("g").With("a", 1)
	one, two := base.With("b", 2), base.With("c", 3)
	one.Info("m")
	two.Info("m")
	base.Info("m")
	const want = `{"msg":"m","g":{"a":1,"b":2}}` + "\n" + `{"msg":"m","g":{"a":1,"c":3}}` + "\n" + `{"msg":"m","g":{"a":1}}` + "\n"
	if out.String() != want {
		t.Errorf("logged\n%swant\n%s", &out, want)
	}
}

func TestLogHandlerConforms(t *testing.T) {
	var out bytes.Buffer
	slogtest.Run(t, func(*testing.T) slog.Handler {
		out.Reset()
		return bridge.NewHandler(slog.NewJSONHandler(&out, nil))
	}, func(t *testing.T) map[string]any {
		var got map[string]any
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		return got
	})
}
