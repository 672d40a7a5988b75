package bridge

import (
	"context"
	"encoding/hex"
	"log/slog"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/record"
)

// NewHandler returns a [slog.Handler] that adds the attributes trace_id and span_id of the span in
// the context to each record, and passes the record on to next. A log line then leads to its trace,
// and a trace to its log lines:
//
//	log := slog.New(bridge.NewHandler(slog.NewJSONHandler(os.Stderr, nil)))
//	log.InfoContext(ctx, "paid") // {…,"msg":"paid","trace_id":"4bf9…","span_id":"00f0…"}
//
// The two attributes are at the top level, also after WithGroup. A record without a context, or
// under no span, stays unchanged. The span may be of any provider, and need not be sampled.
//
// For warnings that become marks of the span, put marks.NewHandler around or inside this handler.
// next may be slog's default handler, also when the result becomes the default logger: lines go to
// the output that package log has when NewHandler is called. The handler may be used concurrently.
func NewHandler(next slog.Handler) slog.Handler { return &logHandler{next: record.LogTo(next)} }

// A logHandler is immutable. WithAttrs and WithGroup return another logHandler.
type logHandler struct {
	next   slog.Handler
	groups record.LogGroups // open groups, which next does not know
}

var _ slog.Handler = (*logHandler)(nil)

func (h *logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	if len(h.groups) > 0 {
		attrs := h.groups.Around(r)
		r = slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
		r.AddAttrs(attrs...)
	}
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		tid, sid := sc.TraceID(), sc.SpanID()
		var buf [48]byte // one allocation for both ids
		ids := string(hex.AppendEncode(hex.AppendEncode(buf[:0], tid[:]), sid[:]))
		r = r.Clone()
		r.AddAttrs(slog.String("trace_id", ids[:32]), slog.String("span_id", ids[32:]))
	}
	return h.next.Handle(ctx, r)
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(h.groups) == 0 {
		return &logHandler{next: h.next.WithAttrs(attrs)}
	}
	return &logHandler{h.next, h.groups.With(attrs)}
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return &logHandler{h.next, h.groups.Open(name)}
}
