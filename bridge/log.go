package bridge

import (
	"context"
	"encoding/hex"
	"log/slog"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/record"
)

// NewHandler returns a [slog.Handler] that adds the attributes trace_id and span_id of the span in
// the context to each record, and passes it on to next. Log lines then lead to their trace, and a
// trace to its log lines:
//
//	log := slog.New(bridge.NewHandler(slog.NewJSONHandler(os.Stderr, nil)))
//	log.InfoContext(ctx, "paid") // {…,"msg":"paid","trace_id":"4bf9…","span_id":"00f0…"}
//
// The two attributes are at the top level, also after WithGroup. A record that is logged without a
// context, or under no span, stays as it is. The span may be of any provider, and need not be
// sampled. For warnings that become marks of the span, put marks.NewHandler around or inside this
// handler. slog's default handler may be next, also when the result becomes the default logger:
// lines go to where package log prints when NewHandler is called.
func NewHandler(next slog.Handler) slog.Handler { return &logHandler{next: record.LogTo(next)} }

// A logHandler does not change: WithAttrs and WithGroup make another.
type logHandler struct {
	next   slog.Handler
	groups []logGroup // outermost first; next knows nothing of them
}

// A logGroup is a group that WithGroup opened, with the attributes that WithAttrs put into it.
type logGroup struct {
	name  string
	attrs []slog.Attr
}

var _ slog.Handler = (*logHandler)(nil)

func (h *logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	if len(h.groups) > 0 {
		r = h.grouped(r)
	}
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		tid, sid := sc.TraceID(), sc.SpanID()
		var room [48]byte
		// one allocation for both
		ids := string(hex.AppendEncode(hex.AppendEncode(room[:0], tid[:]), sid[:]))
		r = r.Clone()
		r.AddAttrs(slog.String("trace_id", ids[:32]), slog.String("span_id", ids[32:]))
	}
	return h.next.Handle(ctx, r)
}

// grouped returns r with its attributes inside the open groups.
func (h *logHandler) grouped(r slog.Record) slog.Record {
	attrs := make([]slog.Attr, 0, r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	for _, g := range slices.Backward(h.groups) {
		attrs = []slog.Attr{{Key: g.name,
			Value: slog.GroupValue(append(slices.Clip(g.attrs), attrs...)...)}}
	}
	out := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	out.AddAttrs(attrs...)
	return out
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	n := len(h.groups)
	if n == 0 {
		return &logHandler{next: h.next.WithAttrs(attrs)}
	}
	groups := slices.Clone(h.groups)
	groups[n-1].attrs = append(slices.Clip(groups[n-1].attrs), attrs...)
	return &logHandler{next: h.next, groups: groups}
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return &logHandler{next: h.next, groups: append(slices.Clip(h.groups), logGroup{name: name})}
}
