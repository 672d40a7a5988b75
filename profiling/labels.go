package profiling

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/spanlabels"
)

// A Selection selects the spans that samples name: only local roots, or every span. A local root is
// the first span of a trace in this process. The zero value is [LocalRoots].
type Selection uint8

const (
	// LocalRoots selects the first span of each trace in this process. For a request, this span is
	// the server span. Samples of inner spans name the server span, too.
	//
	// While no profiler selects every span, other spans cost almost nothing. After the end of the
	// local root, code counts for no span or for the active span. A profiler that reads only the
	// text of labels names the active span while another profiler selects every span.
	LocalRoots = Selection(spanlabels.LocalRoots)

	// EverySpan selects the innermost span that was active on the goroutine.
	EverySpan = Selection(spanlabels.EverySpan)
)

// WrapTracerProvider returns a tracer provider for spans that add profiler labels to goroutines.
// Each span labels the goroutine that starts the span. Samples of a labelled goroutine name the
// span. The provider tp creates the spans:
//
//	provider := sdktrace.NewTracerProvider(…)
//	otel.SetTracerProvider(profiling.WrapTracerProvider(provider))
//
// perfline.Start calls WrapTracerProvider when a provider of the SDK creates the spans. Spans of
// bridge.TracerProvider label goroutines without WrapTracerProvider.
//
// WrapTracerProvider registers a span processor with tp. tp must be the provider of the SDK, or
// implement the SDK's methods for span processors. Spans of another provider label no goroutine.
// Call [Do] for the work of such spans.
//
//   - A sampled span that starts while a profiler runs labels the calling goroutine. Without a
//     profiler, a span only reads one flag at the start and one flag at the end.
//   - While all profilers select [LocalRoots], a local root labels the goroutine that starts the
//     local root. Another span labels only a goroutine that does not work for the trace yet. This
//     label contains the name and the id of the local root.
//   - All spans of tp label goroutines, including spans of tracers that tp returns directly.
//   - The tracers of the returned provider add the label to the returned contexts. marks.Start,
//     bridgehttp and bridgegrpc do the same. pprof.Do under such a context adds labels to the
//     label. pprof.Do under another context replaces the label until pprof.Do returns.
//   - The tracers return the spans of tp without wrappers.
//   - At most 16 384 open spans label goroutines. If more spans are open, older spans lose the
//     label.
//   - The Shutdown of tp ends the labels. The tracers still create spans after Shutdown.
//   - While an exporter to Pyroscope runs, the selected spans carry the attribute
//     pyroscope.profile.id. See [HoldProfileIDs].
//
// New goroutines inherit the labels. Label an older goroutine, as in a pool of workers, with [Do].
//
// Call otel.SetTracerProvider before you wrap the result of otel.GetTracerProvider. Before the
// first call of otel.SetTracerProvider, otel.GetTracerProvider returns a provider that only
// forwards to the program's first provider. If the wrapper of this provider becomes the first
// provider, the wrapper creates no spans. The wrapper reports this error to otel.Handle. The
// wrapper creates spans again after the program sets another provider. These spans label no
// goroutine.
//
// The provider and the tracers may be used concurrently.
func WrapTracerProvider(tp trace.TracerProvider) trace.TracerProvider {
	return spanlabels.WrapTracerProvider(tp)
}

// Do runs f with the profiler labels of the active span of ctx. While f runs, samples of the
// calling goroutine name this span. The span may have ended before the call. Use Do for a
// long-lived goroutine that works for several spans in sequence:
//
//	for job := range jobs {
//		profiling.Do(job.ctx, job.run)
//	}
//
// A goroutine that starts while the span is active does not need Do. The context of f also carries
// the labels for pprof.Do.
//
// Do calls f without labels in these cases:
//
//   - ctx contains no span.
//   - The span is not sampled.
//   - The span belongs to another process.
//   - No profiler runs.
func Do(ctx context.Context, f func(context.Context)) { spanlabels.Do(ctx, f) }

// HoldLabels enables profiler labels of new spans until the caller calls the returned function
// release. Each new span of the selection labels the goroutine that starts the span. The labels are
// span_id, span_name and trace_id. Profiles of runtime/pprof contain the labels, too. Call
// HoldLabels for a profiler of another library. A [Profiler] calls HoldLabels automatically.
// HoldLabels and release may be called concurrently. Further calls of release do nothing.
func HoldLabels(spans Selection) (release func()) {
	return spanlabels.Hold(spanlabels.Selection(spans))
}

// HoldProfileIDs adds the attribute pyroscope.profile.id to the selected spans. The attribute is
// added until the caller calls the returned function release. A Pyroscope server shows the samples
// of a span with this attribute. Package pyroscope calls HoldProfileIDs automatically.
// HoldProfileIDs and release may be called concurrently. Further calls of release do nothing.
//
// Only spans that start while spans label goroutines carry the attribute. If no [Profiler] runs,
// also call [HoldLabels].
func HoldProfileIDs(spans Selection) (release func()) {
	return spanlabels.HoldProfileIDs(spanlabels.Selection(spans))
}
