package bridge

import (
	"context"
	"encoding/hex"
	"log/slog"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/record"
)

// NewHandler returns a [slog.Handler] that adds the attributes trace_id and span_id to each record.
// The ids are the ids of the span in the context. The handler then passes the record to next.
// Readers can thus find the trace of a log line, and the log lines of a trace:
//
//	log := slog.New(bridge.NewHandler(slog.NewJSONHandler(os.Stderr, nil)))
//	log.InfoContext(ctx, "paid") // {…,"msg":"paid","trace_id":"4bf9…","span_id":"00f0…"}
//
// The two attributes are at the top level, even after WithGroup. A record stays unchanged if the
// context contains no span. Spans of all providers work, sampled or not.
//
// To turn warnings into marks of the span, wrap this handler with marks.NewHandler. Alternatively,
// pass a handler of marks.NewHandler as next.
//
// next may be slog's default handler, even if the program then calls [slog.SetDefault] with the
// result. Log lines are then written to the output of package log at the time of the call to
// NewHandler. The handler may be used concurrently.
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
