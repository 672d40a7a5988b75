// Package spanlabels labels goroutines with spans through the labels of Go's profilers, which every
// sample carries. The code that makes spans labels them:
//
//	label := spanlabels.Set(ctx, span.SpanContext(), name, root)
//	ctx = spanlabels.NewContext(ctx, label)
//	work(ctx)
//	label.End(name)
//
// A profiler calls [Hold] while it samples, and [Resolve] for the span of each sample. The package
// imports no profiler, so programs that import the package do not link one. [Do] labels a goroutine
// that no span started, as in a pool of workers.
//
// # Guarantees
//
//   - While no profiler wants labels, [Set] returns nil after a look at a counter, and allocates
//     nothing. The methods of a nil [Span] do nothing.
//   - While a profiler wants every span, a span labels its goroutine with span_id, span_name and
//     trace_id, in one allocation, or three beside labels of the program. Profiles of runtime/pprof
//     have these labels, too.
//   - While local roots are enough ([LocalRoots]), other spans label only goroutines that do not
//     work for the trace yet, with the local root's name and id.
//   - The program's labels of runtime/pprof stay beside a span's, unless they have the same keys.
//     The end of the span restores them, by the same pointer.
//   - New goroutines inherit the labels. Under a context of [NewContext], pprof.Do and
//     pprof.WithLabels add to the span's labels.
//   - [Span.End] does not change the labels of other goroutines. A span may end on any goroutine,
//     in any order, more than once or never. A goroutine keeps a bounded number of spans.
//   - [Resolve] returns the span for a sample's label pointer. A goroutine that keeps the labels of
//     an ended span counts for an open span around it, or for none. Labels of other code never
//     count as a span's, even with the same text.
//   - All functions and methods may be called concurrently. None of them blocks.
//
// # Limitations
//
//   - A span that began before the first call of Hold labels nothing.
//   - Names are cut at 128 bytes, and invalid UTF-8 in names is replaced.
//   - With the build tag perfline_portable, and under a release of Go with an unknown layout of
//     labels, runtime/pprof sets the labels. Then they stand beside the labels of their context,
//     not the goroutine's.
//   - In that case, and on processors other than amd64 and arm64, goroutines are indistinguishable.
//     A goroutine that outlives its span keeps the span's labels. The end of a span does not
//     restore labels that other code removed.
//   - Text alone ([FromText]) does not tell whether the span has ended, nor which code set the
//     labels.
package spanlabels
