// Package bridge carries a timeline's marks and measures to OpenTelemetry, off
// the request's path.
//
//	provider := sdktrace.NewTracerProvider(
//		sdktrace.WithSpanProcessor(bridge.NewProcessor(sdktrace.NewBatchSpanProcessor(exporter))))
//	http.ListenAndServe(addr, bridge.Middleware(mux))
//
// # The mapping
//
//	timeline                            OpenTelemetry
//	--------                            -------------
//	mark under a span                   event of that span: Name, Timestamp, Attributes
//	mark under no span                  stays on the timeline, counted as Unattached
//	Time…End, Measure under a span      child span, kind internal, start and end as measured
//	Start…End under a span              child span that other spans and marks can be under
//	measure under no span               root span, if the sampler wants it
//	anything under an unsampled span    nothing
//	entry of another type               nothing (they are spans of their instrumentation)
//	detail                              attributes, as below
//	name                                event name, span name
//
//	slog kind      attribute
//	---------      ---------
//	Bool           bool
//	Int64          int64
//	Uint64         int64; above MaxInt64, its decimal text
//	Float64        float64
//	String         string
//	Duration       int64, nanoseconds (as OpenTelemetry's slog bridge has it)
//	Time           int64, nanoseconds since the Unix epoch (likewise)
//	Group          its attributes, keys joined with dots: "req.method"
//	LogValuer      what it resolves to, on the bridge's goroutine
//	Any            []string, []int, []int64, []float64, []bool: a slice attribute;
//	               error and fmt.Stringer: their text; otherwise as fmt's %+v
//
// An attribute without a key is left out; of two with the same key the last
// one counts. Span limits (OTEL_SPAN_*, OTEL_EVENT_*) apply to what the bridge
// makes as they do to what the SDK makes.
//
// # What it guarantees
//
//   - Every mark made on a sampled span before its End becomes an event of that
//     span, from whatever goroutine, and each measure one span, as long as the
//     bounded queues hold. What is lost is counted by cause in [Stats].
//   - The request's path pays for recording the entry and nothing else. Spans
//     reach the next processor some ten milliseconds after their end.
//   - ForceFlush hands over all that was recorded before it was called.
//
// # What it does not
//
//   - A mark made after its span's End is not added to it, but counted as Late.
//   - A sampler or another span processor beside ours does not see measures; it
//     sees spans. Where that matters, [Sync] is the way out.
//   - Marks on a span of a provider that has no [Processor] are Unattached.
package bridge
