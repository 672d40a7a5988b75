// Package spanlabels ties spans to goroutines through the labels of Go's profilers, which every
// sample carries. Spans are labelled by the code that makes them:
//
//	label := spanlabels.Set(ctx, span.SpanContext(), name, root)
//	ctx = spanlabels.NewContext(ctx, label)
//	work(ctx)
//	label.End(name)
//
// A profiler calls [Hold] for as long as it samples, and asks [Resolve] for the span of each
// sample. The package knows no profiler, and programs that import it do not link one. A goroutine
// that no span started, as in a pool of workers, is labelled with [Do].
//
// # Guarantees
//
//   - While no profiler wants labels, [Set] returns nil after a look at a counter, and allocates
//     nothing. The methods of a nil [Span] do nothing.
//   - While a profiler wants every span, a span labels the goroutine that begins it with span_id,
//     span_name and trace_id, in one allocation, or three beside labels of the program. Profiles of
//     runtime/pprof have these labels too.
//   - While local roots are enough ([LocalRoots]), other spans label only goroutines that do not
//     work for their trace yet, with the local root's name and id.
//   - Labels that the program has set with runtime/pprof stay beside a span's, unless they have the
//     same keys. When the span has ended they are there again, the same pointer.
//   - Goroutines that are started meanwhile inherit the labels. Under a context of [NewContext],
//     pprof.Do and pprof.WithLabels add to the span's labels.
//   - [Span.End] leaves the labels of other goroutines alone. A span may end on any goroutine, in
//     any order, more than once or never. A goroutine keeps a bounded number of spans.
//   - [Resolve] leads from a sample's label pointer to the span that it ran for. A goroutine that
//     keeps the labels of a span that has ended counts for a span around it that has not, or for
//     none. Labels of other code never count as a span's, even with the same text.
//   - All functions and methods may be called concurrently. None of them blocks.
//
// # Limitations
//
//   - A span that began before the first profiler called Hold labels nothing.
//   - Names are cut at 128 bytes, and invalid UTF-8 in them is replaced.
//   - Spans are labelled through runtime/pprof if a release of Go has labels with another layout in
//     memory, and with the build tag perfline_portable. Then they stand beside the labels of their
//     context, not the goroutine's.
//   - In that case, and on processors other than amd64 and arm64, goroutines cannot be told apart.
//     One that outlives its span keeps the span's labels. The end of a span does not set labels
//     again that other code took away.
//   - Text alone ([FromText]) does not tell whether the span has ended, nor which code set the
//     labels.
package spanlabels
