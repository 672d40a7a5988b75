package bridge

import (
	"context"
	rt "runtime/trace"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/internal/tracelog"
)

// A tracedOn has the number of the goroutine on which a span started, and 0 without an execution
// trace or a number that fits.
type tracedOn uint32

// startNoted is set besides if the start of the span is noted in the execution trace.
const startNoted tracedOn = 1 << 31

func (o tracedOn) goroutine() uint64 { return uint64(o &^ startNoted) }

// traceHere returns on which goroutine a span starts, which is this one, and decides how the
// execution trace gets the span. It is an inner span if its parent started here, too, or if it
// started some time ago. Package tracelog explains inner spans.
func traceHere(parent trace.Span, start time.Time) tracedOn {
	id := goruntime.GoroutineID()
	if id >= uint64(startNoted) {
		id = 0
	}
	above, ok := parent.(*recordedSpan)
	switch {
	case !start.IsZero() && time.Since(start) >= tracelog.ShortestInner:
		return tracedOn(id) // a note of the start would be late
	case ok && id > 0 && above.traced.goroutine() == id:
		return tracedOn(id)
	default:
		return tracedOn(id) | startNoted
	}
}

// traceStart notes the span in the execution trace, which has a local root as a task. The span has
// just been made.
func (s *recordedSpan) traceStart(ctx context.Context) context.Context {
	if !s.root {
		if s.traced&startNoted != 0 {
			tracelog.Start(ctx, s.spanContext.SpanID(), s.Name())
		}
		return ctx
	}
	name := s.Name() // perhaps changed by a processor
	ctx, task := rt.NewTask(ctx, tracelog.Name(name))
	tracelog.Root(ctx, s.spanContext, name)
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

// traceEnd notes the end of the span in the execution trace.
func (s *recordedSpan) traceEnd(name string) {
	switch {
	case s.root || s.traced&startNoted != 0:
		tracelog.End(s.spanContext.SpanID(), name)
	case s.traced.goroutine() > 0 && s.endTime.Sub(s.startTime) >= tracelog.ShortestInner:
		end := goruntime.Nanotime() - int64(max(0, time.Since(s.endTime)))
		tracelog.Inner(s.spanContext.SpanID(), s.traced.goroutine(),
			end-int64(s.endTime.Sub(s.startTime)), end, name)
	}
}
