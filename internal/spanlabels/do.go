package spanlabels

import (
	"context"

	"go.opentelemetry.io/otel/trace"
)

// Do runs f. While f runs, profilers count the time of the calling goroutine for the active span of
// ctx. See profiling.Do.
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

// A described span has a name and a parent, as the SDK's ReadOnlySpan.
type described interface {
	Name() string
	Parent() trace.SpanContext
}
