package recipes_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/rs/zerolog"
	"github.com/sirupsen/logrus"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/examples/recipes"
	"github.com/perfline/perfline/marks"
)

// A line that is logged with a request's context has the ids of its span. Warnings become marks where hooks get the context.
func TestLoggers(t *testing.T) {
	rec, ctx, end := record(t)
	span := trace.SpanContextFromContext(ctx)
	var out bytes.Buffer

	slog.New(bridge.NewHandler(slog.NewJSONHandler(&out, nil))).WarnContext(ctx, "slog")

	l := logrus.New()
	l.SetOutput(&out)
	l.SetFormatter(&logrus.JSONFormatter{})
	l.AddHook(recipes.LogrusHook{})
	l.WithContext(ctx).Warn("logrus")

	zero := zerolog.New(&out).Hook(recipes.ZerologHook{})
	zero.Warn().Ctx(ctx).Msg("zerolog")

	z := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(&out), zap.InfoLevel))
	z.Warn("zap", recipes.ZapFields(ctx)...)

	own := func(message string) { // a logger without a library
		line := map[string]string{"message": message}
		if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
			line["trace_id"], line["span_id"] = sc.TraceID().String(), sc.SpanID().String()
		}
		marks.Mark(ctx, message)
		if err := json.NewEncoder(&out).Encode(line); err != nil {
			t.Error(err)
		}
	}
	own("own")

	end()
	l.Warn("logrus without a context")
	zero.Warn().Msg("zerolog without a context")
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	if len(lines) != 7 {
		t.Fatalf("got %d lines, want 7:\n%s", len(lines), out.String())
	}
	for _, line := range lines[5:] {
		if bytes.Contains(line, []byte("trace_id")) {
			t.Errorf("%s has an id", line)
		}
	}
	for _, line := range lines[:5] {
		var ids struct {
			Trace string `json:"trace_id"`
			Span  string `json:"span_id"`
		}
		if err := json.Unmarshal(line, &ids); err != nil || ids.Trace != span.TraceID().String() || ids.Span != span.SpanID().String() {
			t.Errorf("%s: %v: want the ids %s and %s", line, err, span.TraceID(), span.SpanID())
		}
	}
	rec.Want(`
		GET /items (server)
		  * logrus
		  * zerolog
		  * own
	`)
}
