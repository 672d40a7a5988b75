package profiling

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/spanlabels"
)

// A Selection says which spans the samples of a profiler name. The zero value is [LocalRoots].
type Selection uint8

// The selections.
const (
	// LocalRoots are the first spans of their traces in this process. For a request, the local root
	// is its server span, whichever span under it was active. Other spans cost next to nothing, as
	// long as no profiler selects every span. Code that goes on when the local root has ended
	// counts for no span, or for a span of its own. A profiler that knows only the text of labels
	// names the active span while another profiler selects every span.
	LocalRoots = Selection(spanlabels.LocalRoots)

	// EverySpan is the span that was active on the goroutine: the innermost.
	EverySpan = Selection(spanlabels.EverySpan)
)

// WrapTracerProvider returns a tracer provider whose spans label the goroutines that start them, so
// that samples name spans. The spans are made by tp:
//
//	provider := sdktrace.NewTracerProvider(…)
//	otel.SetTracerProvider(profiling.WrapTracerProvider(provider))
//
// perfline.Start does this when a provider of the SDK makes the spans. Spans of
// bridge.TracerProvider label without it.
//
// WrapTracerProvider registers a span processor with tp. tp must be the SDK's provider, or have its
// methods for span processors. Spans of another provider are not labelled: label their work with
// [Do].
//
//   - Sampled spans that start while a profiler runs label their goroutine. Without a profiler, a
//     span costs a look at a flag at its start and at its end.
//   - While all profilers select [LocalRoots], local roots label. Other spans label only where the
//     goroutine does not work for their trace yet, with the local root's name and id.
//   - All spans of tp label, whichever of its tracers makes them. The contexts of the returned
//     provider's tracers also carry the label: pprof.Do under them adds to it. Under a context that
//     does not carry the label, pprof.Do replaces the label until it returns. Contexts of
//     marks.Start, bridgehttp and bridgegrpc carry labels, too.
//   - The spans are tp's own, and no wrappers.
//   - At most 16 384 open spans keep their label. A span over this number loses it before its end.
//   - The labels end with tp's Shutdown. The tracers still make spans then.
//   - While an exporter to Pyroscope runs, the spans that its samples name also carry the attribute
//     pyroscope.profile.id: see [HoldProfileIDs].
//
// A goroutine that is started inherits the labels. Label an older goroutine, as in a pool of
// workers, with [Do].
//
// Set a provider before you wrap otel.GetTracerProvider(). Without one, it returns OpenTelemetry's
// own provider, which forwards to the first provider that is set: to the wrapper, if that is set.
// The wrapper makes no spans then until another provider is set, and reports so to otel.Handle.
// Spans of a provider that is set later are not labelled.
//
// The provider and its tracers may be used concurrently.
func WrapTracerProvider(tp trace.TracerProvider) trace.TracerProvider {
	return spanlabels.WrapTracerProvider(tp)
}

// Do runs f. Meanwhile profilers count the calling goroutine's time for the span active in ctx,
// also if that span has ended already: f is its work. Goroutines that are started with a go
// statement while the span is active need no Do. Do is for older goroutines, which work for one
// span after the other:
//
//	for job := range jobs {
//		profiling.Do(job.ctx, job.run)
//	}
//
// f gets ctx, with the labels for pprof.Do. Do just calls f if ctx has no span, if the span is of
// another process or is not sampled, and while no profiler runs.
func Do(ctx context.Context, f func(context.Context)) { spanlabels.Do(ctx, f) }

// HoldLabels makes spans that begin from now on label their goroutines, until release is called.
// The labels are span_id, span_name and trace_id. Profiles of runtime/pprof have them, too: call
// HoldLabels for a profiler that is not perfline's. A [Profiler] holds labels itself. Both
// functions may be called concurrently, and release more than once.
func HoldLabels(spans Selection) (release func()) {
	return spanlabels.Hold(spanlabels.Selection(spans))
}

// HoldProfileIDs makes the selected spans carry the attribute pyroscope.profile.id, until release
// is called: a Pyroscope server that gets the samples shows them for such a span. Spans carry the
// attribute only if they begin while goroutines are labelled: call [HoldLabels], too, unless a
// [Profiler] runs. Package pyroscope holds profile ids itself. Both functions may be called
// concurrently, and release more than once.
func HoldProfileIDs(spans Selection) (release func()) {
	return spanlabels.HoldProfileIDs(spanlabels.Selection(spans))
}
