// Package bridge carries a timeline's marks and measures to OpenTelemetry, off
// the request's path. It puts the spans of any other instrumentation on the
// request's timeline.
//
//	provider := sdktrace.NewTracerProvider(
//		sdktrace.WithSpanProcessor(bridge.NewProcessor(sdktrace.NewBatchSpanProcessor(exporter))))
//
// A [TracerProvider] makes spans itself, as the SDK's provider does, for less: see [NewTracerProvider]. It does not carry a
// timeline; [Sync] does that for it.
//
// Package bridgehttp gives HTTP requests their spans and timelines, package bridgegrpc
// gives them to gRPC calls. Programs without HTTP or gRPC do not import these.
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
//	entry of another type               nothing (requests are spans already)
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
//	Any            []string, []bool, []int64, []float64: a slice attribute;
//	               []byte: bytes
//
// There are no other kinds: [observer.Freeze] makes text of the rest when an entry is
// recorded.
//
// Text that is not UTF-8 has U+FFFD where it is not: OTLP cannot carry it.
//
//	OpenTelemetry                       timeline
//	-------------                       --------
//	span of other instrumentation       entry of the request's timeline it was started under,
//	                                    when it ends: kind client or producer a resource, with
//	                                    initiatorType "db", "grpc" (rpc.system), "messaging",
//	                                    "fetch" or "other"; any other kind a measure
//	span under no request's timeline    nothing
//
// Entries made of spans are on the timeline only: their span is sent once. Their
// detail is one attribute without a key, beside initiatorType, that resolves to the
// span's attributes, span_id and scope ([log/slog.Value.Resolve]): they are
// converted for those who look. Spans of this module are not entries again. It needs a [Processor]: with [Sync], other
// instrumentation's spans do not come by.
//
// An attribute without a key is left out; of two with the same key the last
// one counts. Span limits (OTEL_SPAN_*, OTEL_EVENT_*) apply to what the bridge
// makes as they do to what the SDK makes.
//
// # Profiles
//
// Spans tell profilers which goroutine works for them, through labels of package spanlabels. Spans of the bridge itself
// do it by themselves: measures begun with marks.Start, and all spans of a [TracerProvider]. Spans of the SDK's
// provider need profiling.NewTracerProvider. Contexts of marks.Start and of the servers of bridgehttp and bridgegrpc
// carry the labels, so that pprof.Do adds to them. With [WithProfileIDs], measures begun with marks.Start carry the
// attribute pyroscope.profile.id.
//
// # What it guarantees
//
//   - Every mark made on a sampled span before its End becomes an event of that
//     span, from whatever goroutine, and each measure one span, as long as the
//     bounded queues hold. What is lost is counted by cause in [Stats].
//   - The request's path pays for recording the entry and nothing else. Spans
//     reach the next processor up to two passes of the timeline's collector after their
//     end, a tenth of a second.
//   - ForceFlush hands over all that was recorded before it was called.
//
// # What it does not
//
//   - A mark made after its span's End is not added to it, but counted as Late.
//   - A sampler or another span processor beside ours does not see measures; it
//     sees spans. Where that matters, [Sync] is the way out.
//   - Marks on a span of a provider that has no [Processor] are Unattached.
package bridge
