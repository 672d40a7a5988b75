package bridge

import (
	"context"
	rt "runtime/trace"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/internal/tracelog"
)

// A startGoroutine is the id of the goroutine on which a span started. The id is 0 without an
// execution trace, and for an id over 31 bits.
type startGoroutine uint32

// startLogged marks a span: the execution trace contains the start of the span.
const startLogged startGoroutine = 1 << 31

func (o startGoroutine) id() uint64 { return uint64(o &^ startLogged) }

// newStartGoroutine returns the calling goroutine, and decides how the execution trace gets the
// span. A span is an inner span, which package tracelog explains, if its parent started on the same
// goroutine, or if the span started some time ago.
func newStartGoroutine(parent trace.Span, start time.Time) startGoroutine {
	id := goruntime.GoroutineID()
	if id >= uint64(startLogged) {
		id = 0
	}
	above, ok := parent.(*recordedSpan)
	if ok && id > 0 && above.goroutine.id() == id ||
		!start.IsZero() && time.Since(start) >= tracelog.ShortestInner {
		return startGoroutine(id)
	}
	return startGoroutine(id) | startLogged
}

// traceStart writes the start of a new span to the execution trace. A local root becomes a task.
func (s *recordedSpan) traceStart(ctx context.Context) context.Context {
	if !s.root {
		if s.goroutine&startLogged != 0 {
			tracelog.Start(ctx, s.spanContext.SpanID(), s.Name())
		}
		return ctx
	}
	name := s.Name() // a processor may have changed the name
	ctx, task := rt.NewTask(ctx, tracelog.Name(name))
	tracelog.Root(ctx, s.spanContext, s.parent.id, name)
	s.mu.Lock()
	ended := !s.isOpen()
	if !ended {
		s.withDetails().task = task
	}
	s.mu.Unlock()
	if ended {
		task.End()
	}
	return ctx
}

func (s *recordedSpan) traceEnd(name string) {
	switch {
	case s.root || s.goroutine&startLogged != 0:
		tracelog.End(s.spanContext.SpanID(), name)
	case s.goroutine.id() > 0 && s.endTime.Sub(s.startTime) >= tracelog.ShortestInner:
		end := goruntime.Nanotime() - int64(max(0, time.Since(s.endTime)))
		start := end - int64(s.endTime.Sub(s.startTime))
		tracelog.Inner(s.spanContext.SpanID(), s.goroutine.id(), start, end, name)
	}
}
