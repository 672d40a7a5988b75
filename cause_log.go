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
//
// A gateway and the service that it calls may be one process, and a provider of the SDK does not
// tell that the requests are one. So the slow requests of a trace that wait for their results at
// the same time have one line. The line is about the longest request, which encloses the others.
type causeLog struct {
	log      *slog.Logger
	recorder waits.Recorder
	stop     func() // ends the recorder's calls of receive

	mu      sync.Mutex // guards the following fields
	traces  map[trace.TraceID]*slowTrace
	began   time.Time // of the current minute
	lines   int       // in the current minute
	omitted int       // traces without a line since the last line
}

// A slowTrace is a trace with slow requests that wait for their results.
type slowTrace struct {
	waiting int // requests
	cause   slowCause
}

// A slowCause is the longest request of a trace that has a cause. The zero slowCause is none.
type slowCause struct {
	root     bridge.Root
	sentence string
}

const (
	// maxSlowTraces bounds the traces that wait. Each request of a further trace has its own line.
	maxSlowTraces = 1024

	maxCauseLines = 20  // in a minute
	maxCauseName  = 200 // bytes of a request's name
	maxCause      = 1024
)

// newCauseLog returns a log of the recorder's results. The caller calls end.
func newCauseLog(log *slog.Logger, recorder waits.Recorder) *causeLog {
	l := &causeLog{log: log, recorder: recorder, traces: map[trace.TraceID]*slowTrace{}}
	l.stop = recorder.Watch(l.receive)
	return l
}

// onSlow asks the recorder for the result of a request.
func (l *causeLog) onSlow(root bridge.Root, _ bool) {
	l.mu.Lock()
	t := l.traces[root.TraceID]
	if t == nil && len(l.traces) < maxSlowTraces {
		t = &slowTrace{}
		l.traces[root.TraceID] = t
	}
	if t != nil {
		t.waiting++
	}
	l.mu.Unlock()
	if l.recorder.Slow(root) || t == nil {
		return
	}
	if c := l.settle(root.TraceID, slowCause{}); c.sentence != "" {
		l.mu.Lock()
		l.omitted++ // a line would delay the request by the program's code
		l.mu.Unlock()
	}
}

// receive logs the result of a trace's last request. The recorder calls receive on its own
// goroutines.
func (l *causeLog) receive(root bridge.Root, result *waits.Request) {
	var c slowCause
	if result != nil && len(result.Causes) > 0 {
		c = slowCause{root, text.Line(result.Sentence(), maxCause)}
	}
	if c = l.settle(root.TraceID, c); c.sentence != "" {
		l.write(c)
	}
}

// settle adds the result of a request. settle returns the cause for the line if no request of the
// trace waits.
func (l *causeLog) settle(id trace.TraceID, c slowCause) slowCause {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.traces[id]
	if t == nil {
		return c
	}
	if c.sentence != "" && (t.cause.sentence == "" || c.took() > t.cause.took()) {
		t.cause = c
	}
	if t.waiting--; t.waiting > 0 {
		return slowCause{}
	}
	delete(l.traces, id)
	return t.cause
}

func (c *slowCause) took() time.Duration { return c.root.End.Sub(c.root.Start) }

// end ends the log. Requests that still wait have no line.
func (l *causeLog) end() {
	l.stop()
	l.mu.Lock()
	all := l.traces
	l.traces = map[trace.TraceID]*slowTrace{}
	l.mu.Unlock()
	for _, t := range all {
		if t.cause.sentence != "" {
			l.write(t.cause)
		}
	}
}

// write logs a cause, unless the minute has too many lines.
func (l *causeLog) write(c slowCause) {
	omitted, ok := l.take()
	if !ok {
		return
	}
	root := &c.root
	attrs := []slog.Attr{
		slog.String("request", text.Line(root.Name, maxCauseName)),
		slog.Duration("took", c.took()),
		slog.String("cause", c.sentence),
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

// take takes a line of the current minute. take returns the number of traces without a line since
// the last line.
func (l *causeLog) take() (omitted int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.began) >= time.Minute {
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
