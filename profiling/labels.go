package profiling

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/profiling/internal/labels"
	"github.com/perfline/perfline/profiling/internal/sampling"
)

// SpanLabels tells the profiler which span a goroutine works for, by labels that
// runtime/pprof's profiles have too: span_id, span_name and trace_id, beside those that
// the program sets itself, which are there again when the span has ended. It is for
// bridge.WithLabeler; perfline.Start puts it there. Goroutines are labelled while a
// profiler runs, by spans that start meanwhile.
//
// A goroutine that is started inherits the labels. One that was there before, as in a
// pool of workers, is told with [Do].
type SpanLabels struct{}

// Begin labels the calling goroutine for a span. It returns nil when no profiler runs.
func (SpanLabels) Begin(ctx context.Context, span trace.SpanContext, name string) (label any) {
	if s := labels.Begin(ctx, span.TraceID(), span.SpanID(), name); s != nil {
		return s
	}
	return nil
}

// End ends what Begin began. On the goroutine that it labelled it restores the labels
// of before; others' labels it leaves.
func (SpanLabels) End(label any) { label.(*labels.Span).End(sampling.Now()) }

// Value is what a context over ctx answers for key that carries the label, so that
// pprof.Do and pprof.WithLabels under it add to the span's labels.
func (SpanLabels) Value(ctx context.Context, label, key any) any {
	return labels.Value(ctx, label.(*labels.Span), key)
}

// Do runs f, and has the profiler count the calling goroutine's time for the span
// active in ctx meanwhile, also if that has ended already: f is its work. Goroutines that are started
// with a go statement while the span is active need no Do: it is for those that were
// there before, which work for one span after the other:
//
//	for job := range jobs {
//		profiling.Do(job.ctx, job.run)
//	}
//
// f is given ctx, with the labels for pprof.Do. Without a span of this process that is
// sampled, or without a profiler that runs, it is just called.
func Do(ctx context.Context, f func(context.Context)) {
	span := trace.SpanFromContext(ctx)
	sc := span.SpanContext()
	if !labels.On() || !sc.IsSampled() || sc.IsRemote() {
		f(ctx)
		return
	}
	name := ""
	if s := labels.FromContext(ctx); s != nil && s.SpanID == sc.SpanID() && s.TraceID == sc.TraceID() {
		name = s.Name
	} else if s, ok := span.(interface{ Name() string }); ok {
		name = s.Name()
	}
	s := labels.Begin(ctx, sc.TraceID(), sc.SpanID(), name)
	defer func() { s.End(sampling.Now()) }()
	f(labels.Context(ctx, s))
}
