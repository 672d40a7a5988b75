package profiling

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/profiling/internal/labels"
	"github.com/perfline/perfline/profiling/internal/sampling"
)

// SpanLabels tells the profiler which span a goroutine works for, by labels that
// runtime/pprof's profiles have too: span_id, span_name and trace_id, beside those that
// the program sets itself, which are there again when the span has ended. It is for
// bridge.WithLabeler; perfline.Start puts it there. Goroutines are labelled while a
// profiler runs, by spans that start meanwhile; while [LocalRoots] are all that is wanted,
// by local roots, and by other spans only where the goroutine does not work for their
// trace yet, with the local root's name and id.
//
// A goroutine that is started inherits the labels. One that was there before, as in a
// pool of workers, is told with [Do].
type SpanLabels struct {
	// ProfileIDs is which spans carry the attribute pyroscope.profile.id, by which Grafana
	// finds the samples of a span; 0 means none. Its value is the span's id in hexadecimal,
	// as in the label span_id. Only spans that samples may name carry it: not those that
	// began while no profiler ran, nor those that labelled nothing of their own because
	// local roots were all that was wanted.
	ProfileIDs Scope
}

// Enabled reports whether a profiler runs that needs labels.
func (SpanLabels) Enabled() bool { return labels.On() }

// Begin labels the calling goroutine for a span; root tells that it has no parent in this
// process. It returns nil when no profiler runs, or when the goroutine's labels do for
// those that run.
func (SpanLabels) Begin(ctx context.Context, span trace.SpanContext, name string, root bool) (label any) {
	if s := labels.Begin(ctx, span.TraceID(), span.SpanID(), name, root); s != nil {
		return s
	}
	return nil
}

// End ends what Begin began, with the name that the span has then, "" if that is not
// known. On the goroutine that it labelled it restores the labels of before; others'
// labels it leaves.
func (SpanLabels) End(label any, name string) { label.(*labels.Span).End(sampling.Now(), name) }

// profileID is the attribute by which Pyroscope's span profiles are found.
const profileID = attribute.Key("pyroscope.profile.id")

// Attributes are those of ProfileIDs.
func (l SpanLabels) Attributes(label any) []attribute.KeyValue {
	s := label.(*labels.Span)
	if l.ProfileIDs == 0 || !s.IsSpan() || l.ProfileIDs == LocalRoots && !s.IsLocalRoot() {
		return nil
	}
	return []attribute.KeyValue{profileID.String(trace.SpanID(s.SpanID()).String())}
}

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
	name, root := "", false
	if s := labels.FromContext(ctx); s != nil && s.SpanID() == sc.SpanID() && s.TraceID() == sc.TraceID() {
		name = s.Name()
	} else if s, ok := span.(sdktrace.ReadOnlySpan); ok {
		parent := s.Parent()
		name, root = s.Name(), !parent.IsValid() || parent.IsRemote()
	}
	s := labels.Begin(ctx, sc.TraceID(), sc.SpanID(), name, root)
	defer func() { s.End(sampling.Now(), "") }()
	f(labels.Context(ctx, s))
}
