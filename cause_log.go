package perfline

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/waits"
)

// A causeLog logs why requests were slow. The log replaces the attributes of the spans where the
// program's own exporter sends the spans: nothing can delay these spans until a result is ready.
type causeLog struct {
	log *slog.Logger
	now func() time.Time

	mu      sync.Mutex // guards the following fields
	began   time.Time  // of the current minute
	lines   int        // in the current minute
	omitted int        // results without a line since the last line
}

const (
	maxCauseLines = 20  // in a minute
	maxCauseName  = 200 // bytes of a request's name
	maxCause      = 1024
)

// receive logs a result. The recorder calls receive on its own goroutines.
func (l *causeLog) receive(root bridge.Root, result *waits.Request) {
	if result == nil || len(result.Causes) == 0 {
		return
	}
	omitted, ok := l.take()
	if !ok {
		return
	}
	attrs := []slog.Attr{
		slog.String("request", text.Line(root.Name, maxCauseName)),
		slog.Duration("took", root.End.Sub(root.Start)),
		slog.String("cause", text.Line(result.Sentence(), maxCause)),
		slog.String("trace_id", root.TraceID.String()),
		slog.String("span_id", root.SpanID.String()),
	}
	if omitted > 0 {
		attrs = append(attrs, slog.Int("requests_without_a_line", omitted))
	}
	ctx := trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(
		trace.SpanContextConfig{TraceID: root.TraceID, SpanID: root.SpanID,
			TraceFlags: trace.FlagsSampled}))
	l.log.LogAttrs(ctx, slog.LevelInfo, "perfline: why a request was slow", attrs...)
}

// take takes a line of the current minute. take returns the number of results without a line since
// the last line.
func (l *causeLog) take() (omitted int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := l.now(); now.Sub(l.began) >= time.Minute {
		l.began, l.lines = now, 0
	}
	if l.lines == maxCauseLines {
		l.omitted++
		return 0, false
	}
	l.lines++
	omitted, l.omitted = l.omitted, 0
	return omitted, true
}
