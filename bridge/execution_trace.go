package bridge

import (
	"context"
	rt "runtime/trace"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
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
// span. above is the goroutine of the parent. A span is an inner span, which package tracelog
// explains, if its parent started on the same goroutine, or if the span started some time ago.
func newStartGoroutine(above startGoroutine, start time.Time) startGoroutine {
	id := goruntime.GoroutineID()
	if id >= uint64(startLogged) {
		id = 0
	}
	if id > 0 && above.id() == id ||
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
		d := s.withDetails()
		d.task, d.taskContext = task, ctx
	}
	s.mu.Unlock()
	if ended {
		task.End()
	}
	return ctx
}

// traceEnd writes the end of the span to the execution trace. ctx has the task of a local root.
func (s *recordedSpan) traceEnd(ctx context.Context, name string) {
	switch {
	case s.root:
		tracelog.RootEnd(ctx, s.spanContext, s.parent.id, name)
	case s.goroutine&startLogged != 0:
		tracelog.End(s.spanContext.SpanID(), name)
	default:
		traceInner(s.goroutine, s.spanContext.SpanID(), s.startTime, s.endTime, name)
	}
}

// traceInner writes an ended inner span to the execution trace.
func traceInner(on startGoroutine, id trace.SpanID, start, end time.Time, name string) {
	took := end.Sub(start)
	if on.id() == 0 || took < tracelog.ShortestInner {
		return
	}
	until := goruntime.Nanotime() - int64(max(0, time.Since(end)))
	tracelog.Inner(id, on.id(), until-int64(took), until, name)
}

// A tracedSpan is an open span of the SDK, while the execution tracer runs.
type tracedSpan struct {
	root      trace.SpanID // the local root; invalid if the root started before the tracer
	goroutine startGoroutine
}

// traceStart writes the start of a span of the SDK to the execution trace. The SDK makes a task for
// each span, so the note names the local root. A span with an unknown root belongs to the request
// of the goroutine.
func (p *Processor) traceStart(s sdktrace.ReadWriteSpan) {
	sc, above := s.SpanContext(), s.Parent()
	root := !isLocal(above)
	var parent tracedSpan
	if !root {
		parent = p.traced.Get(above)
	}
	of := tracedSpan{parent.root, newStartGoroutine(parent.goroutine, s.StartTime())}
	switch ctx := context.Background(); {
	case root:
		of.root, of.goroutine = sc.SpanID(), of.goroutine|startLogged
		tracelog.Root(ctx, sc, above.SpanID(), s.Name())
	case of.goroutine&startLogged == 0:
	case of.root.IsValid():
		tracelog.Within(of.root, sc, s.Name())
	default:
		tracelog.Start(ctx, sc.SpanID(), s.Name())
	}
	p.traced.Put(sc, of)
	if !p.traces.Load() {
		p.traces.Store(true)
	}
}

func isLocal(parent trace.SpanContext) bool { return parent.IsValid() && !parent.IsRemote() }

// traceEnd writes the end of a span of the SDK to the execution trace.
func (p *Processor) traceEnd(s sdktrace.ReadOnlySpan) {
	sc := s.SpanContext()
	of := p.traced.Take(sc)
	if !tracelog.Enabled() {
		return
	}
	switch above := s.Parent(); {
	case !isLocal(above):
		tracelog.RootEnd(context.Background(), sc, above.SpanID(), s.Name())
	case of.goroutine&startLogged != 0:
		tracelog.End(sc.SpanID(), s.Name())
	default:
		traceInner(of.goroutine, sc.SpanID(), s.StartTime(), s.EndTime(), s.Name())
	}
}
