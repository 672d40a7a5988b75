package profiling

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/profiling/spanlabels"
)

// SpanLabels has the spans of a bridge label their goroutines through package spanlabels. It is for
// bridge.WithLabeler; perfline.Start puts it there. Goroutines are labelled while a
// profiler runs, by spans that start meanwhile. While [spanlabels.LocalRoots] are all that is wanted,
// local roots label. Other spans label only where the goroutine does not work for their
// trace yet, with the local root's name and id.
//
// A goroutine that is started inherits the labels. One that was there before, as in a
// pool of workers, is told with [spanlabels.Do].
type SpanLabels struct {
	// ProfileIDs is which spans carry the attribute pyroscope.profile.id, by which Grafana
	// finds the samples of a span; 0 means none. Its value is the span's id in hexadecimal,
	// as in the label span_id. Only spans that samples may name carry it: not those that
	// began while no profiler ran, nor those that labelled nothing of their own because
	// local roots were all that was wanted.
	ProfileIDs spanlabels.Scope
}

// Enabled reports whether a profiler runs that needs labels.
func (SpanLabels) Enabled() bool { return spanlabels.Enabled() }

// Begin labels the calling goroutine for a span; root tells that it has no parent in this
// process. It returns nil when no profiler runs, or when the goroutine's labels do for
// those that run.
func (SpanLabels) Begin(ctx context.Context, span trace.SpanContext, name string, root bool) (label any) {
	if s := spanlabels.Set(ctx, span, name, root); s != nil {
		return s
	}
	return nil
}

// End ends what Begin began, with the name that the span has then, "" if that is not
// known. On the goroutine that it labelled it restores the labels of before; others'
// labels it leaves.
func (SpanLabels) End(label any, name string) { label.(*spanlabels.Span).End(name) }

// Attributes are those of ProfileIDs.
func (l SpanLabels) Attributes(label any) []attribute.KeyValue {
	if id, ok := label.(*spanlabels.Span).ProfileID(l.ProfileIDs); ok {
		return []attribute.KeyValue{id}
	}
	return nil
}

// Value is what a context over ctx answers for key that carries the label, so that
// pprof.Do and pprof.WithLabels under it add to the span's labels.
func (SpanLabels) Value(ctx context.Context, label, key any) any {
	return label.(*spanlabels.Span).Value(ctx, key)
}
