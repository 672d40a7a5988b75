package profiling

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/spanlabels"
)

// A Selection says which spans the samples of a profiler name. The zero value is [LocalRoots].
type Selection uint8

const (
	// LocalRoots are the first spans of their traces in this process: for a request, its server
	// span, whichever span under it was active. Other spans cost next to nothing while no profiler
	// selects every span. Code that continues after the end of the local root counts for no span,
	// or for its own span. A profiler that knows only the text of labels names the active span
	// while another profiler selects every span.
	LocalRoots = Selection(spanlabels.LocalRoots)

	// EverySpan is the innermost span that was active on the goroutine.
	EverySpan = Selection(spanlabels.EverySpan)
)

// WrapTracerProvider returns a tracer provider whose spans label the goroutines that start them, so
// that samples name spans. tp makes the spans:
//
//	provider := sdktrace.NewTracerProvider(…)
//	otel.SetTracerProvider(profiling.WrapTracerProvider(provider))
//
// perfline.Start does this when a provider of the SDK makes the spans. Spans of
// bridge.TracerProvider label goroutines without WrapTracerProvider.
//
// WrapTracerProvider registers a span processor with tp. tp must be the SDK's provider, or have the
// SDK's methods for span processors. Spans of another provider label nothing: call [Do] for their
// work.
//
//   - Sampled spans that start while a profiler runs label their goroutine. Without a profiler, a
//     span costs a look at a flag at its start and at its end.
//   - While all profilers select [LocalRoots], local roots label their goroutines. Other spans
//     label only goroutines that do not work for the trace yet, with the local root's name and id.
//   - All spans of tp label goroutines, whichever tracer makes the spans. Contexts of the returned
//     provider's tracers also carry the label, and pprof.Do under such a context adds to the label.
//     Under other contexts, pprof.Do replaces the label until it returns. Contexts of marks.Start,
//     bridgehttp and bridgegrpc carry labels, too.
//   - The spans are tp's own, without wrappers.
//   - At most 16 384 open spans keep their label. Further spans lose the label before their end.
//   - tp's Shutdown ends the labels. The tracers still make spans then.
//   - While an exporter to Pyroscope runs, the spans that its samples name also carry the attribute
//     pyroscope.profile.id: see [HoldProfileIDs].
//
// New goroutines inherit the labels. Label an older goroutine, as in a pool of workers, with [Do].
//
// Set a provider before you wrap otel.GetTracerProvider(). Otherwise otel.GetTracerProvider returns
// OpenTelemetry's own provider, which forwards to the first provider that is set, and that may be
// the wrapper. Then the wrapper makes no spans until another provider is set, and reports so to
// otel.Handle. Spans of a provider that is set later are not labelled.
//
// The provider and its tracers may be used concurrently.
func WrapTracerProvider(tp trace.TracerProvider) trace.TracerProvider {
	return spanlabels.WrapTracerProvider(tp)
}

// Do runs f with ctx. Meanwhile profilers count the calling goroutine's time for the active span of
// ctx, even if the span has ended. Use Do for long-lived goroutines that work for one span after
// another; goroutines that start while the span is active do not need it:
//
//	for job := range jobs {
//		profiling.Do(job.ctx, job.run)
//	}
//
// f's context also carries the labels for pprof.Do. Do only calls f if ctx has no span, if the span
// is unsampled or of another process, or while no profiler runs.
func Do(ctx context.Context, f func(context.Context)) { spanlabels.Do(ctx, f) }

// HoldLabels makes new spans label their goroutines until release is called. The labels are
// span_id, span_name and trace_id. Profiles of runtime/pprof have the labels, too: call HoldLabels
// for a profiler that is not perfline's. A [Profiler] holds labels itself. Both functions may be
// called concurrently, and release more than once.
func HoldLabels(spans Selection) (release func()) {
	return spanlabels.Hold(spanlabels.Selection(spans))
}

// HoldProfileIDs makes the selected spans carry the attribute pyroscope.profile.id, until release
// is called. A Pyroscope server shows the samples of such a span. Spans carry the attribute only if
// they begin while goroutines are labelled: call [HoldLabels], too, unless a [Profiler] runs.
// Package pyroscope holds profile ids itself. Both functions may be called concurrently, and
// release more than once.
func HoldProfileIDs(spans Selection) (release func()) {
	return spanlabels.HoldProfileIDs(spanlabels.Selection(spans))
}
