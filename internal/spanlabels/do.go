package spanlabels

import (
	"context"

	"go.opentelemetry.io/otel/trace"
)

// Do runs f, and has the profiler count the calling goroutine's time for the span
// active in ctx meanwhile, also if that has ended already: f is its work. Goroutines that are started
// with a go statement while the span is active need no Do. It is for older goroutines,
// which work for one span after the other:
//
//	for job := range jobs {
//		spanlabels.Do(job.ctx, job.run)
//	}
//
// f is given ctx, with the labels for pprof.Do. Without a span of this process that is
// sampled, or without a profiler that runs, it is just called.
func Do(ctx context.Context, f func(context.Context)) {
	span := trace.SpanFromContext(ctx)
	sc := span.SpanContext()
	if !Enabled() || !sc.IsSampled() || sc.IsRemote() {
		f(ctx)
		return
	}
	name, root := "", false
	if s := inContext(ctx); s != nil && s.SpanID() == sc.SpanID() && s.TraceID() == sc.TraceID() {
		name = s.Name()
	} else if s, ok := span.(described); ok {
		parent := s.Parent()
		name, root = s.Name(), !parent.IsValid() || parent.IsRemote()
	}
	s := Set(ctx, sc, name, root)
	defer s.End("")
	f(NewContext(ctx, s))
}

// described is what Do asks of a span, such as the SDK's ReadOnlySpan.
type described interface {
	Name() string
	Parent() trace.SpanContext
}
