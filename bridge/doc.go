// Package bridge (stable) makes OpenTelemetry's events and spans of a timeline's marks and
// measures, and puts the spans of other instrumentation onto the timeline of their request.
//
// A [TracerProvider] makes all spans itself, as the SDK's provider does, for less:
//
//	provider := bridge.NewTracerProvider(bridge.TracerProviderConfig{Exporters: []bridge.Output{spans}})
//	otel.SetTracerProvider(provider)
//
// A [Processor] joins a timeline with another provider. Register it beside the processor that
// exports:
//
//	provider := sdktrace.NewTracerProvider(
//		sdktrace.WithBatcher(exporter),
//		sdktrace.WithSpanProcessor(bridge.NewProcessor(bridge.ProcessorConfig{})))
//
// Package bridgehttp gives HTTP requests their spans and timelines, and package bridgegrpc gives
// them to gRPC calls. Programs without HTTP or gRPC do not import these.
//
// # The mapping
//
//	timeline                            OpenTelemetry
//	--------                            -------------
//	mark under a local span             event of that span: Name, Timestamp, Attributes; or a log record: see below
//	mark under no span or a remote one  log record, if a LogOutput is set. Otherwise it stays on the timeline,
//	                                    counted as MarksWithoutSpan
//	Time…End, Measure under a span      child span, kind internal, start and end as measured
//	Start…End under a span              child span that other spans and marks can be under
//	measure under no span               root span, if the sampler wants it
//	measure under a remote span         child span, if the sampler wants it
//	measure of an allowed name          that, and a value of a histogram: see [MeasureHistogram]
//	measure that failed (Timing.Fail)   status Error with the error's text, and an event "exception"
//	anything under an unsampled span    nothing but the histogram, or the same as under a sampled one if the request
//	                                    is kept: see [KeepPolicy]
//	entry of another type               nothing (requests are spans already)
//	detail                              attributes, as below
//	name                                event name, span name
//
// With a [LogOutput], marks can be log records. OpenTelemetry calls a log record with an EventName
// an event, and is to replace span events with it. The [MarkForm] decides about marks that can be
// both:
//
//	mark                                SpanEvents    LogRecords    SpanEventsAndLogRecords
//	----                                ----------    ----------    -----------------------
//	under a sampled local span          event         log record    event and log record
//	  over the span's limit of events   lost          log record    log record
//	  of a span that never ends         lost          log record    log record
//	under no span                       log record    log record    log record
//	under a sampled remote span         log record    log record    log record
//	after its sampled span's end        log record    log record    log record
//	under an unsampled span             nothing       nothing       nothing
//	under a span recorded, not sampled  event         event         event
//	under a request that is kept        event for the recorders; as under a sampled span if
//	                                    KeepPolicy.Export exports it
//
//	log record         mark
//	----------         ----
//	EventName          name
//	Time, ObservedTime time
//	Attributes         detail, as below, within OTEL_LOGRECORD_ATTRIBUTE_*
//	TraceID, SpanID    of the span that it was made under, if any, with the span's flags
//	Severity, Body     none
//	Scope              [ScopeName]
//
//	slog kind      attribute
//	---------      ---------
//	Bool           bool
//	Int64          int64
//	Uint64         int64; above MaxInt64, its decimal text
//	Float64        float64
//	String         string
//	Duration       int64, nanoseconds (as in OpenTelemetry's slog bridge)
//	Time           int64, nanoseconds since the Unix epoch (likewise)
//	Group          its attributes, keys joined with dots: "req.method"
//	Any            []string, []bool, []int64, []float64: a slice attribute;
//	               []byte: bytes
//
// There are no other kinds: the timeline makes text of the rest when an entry is recorded, as
// package observer says. An attribute without a key is left out. Of two with the same key, the last
// value counts, at the place of the first. Text that is not UTF-8 has U+FFFD in its place: OTLP
// cannot carry it.
//
//	OpenTelemetry                       timeline
//	-------------                       --------
//	span of other instrumentation       entry of the timeline of the request that it was started
//	                                    under, when it ends: kind client or producer a resource,
//	                                    with initiatorType "db", "grpc" (rpc.system), "messaging",
//	                                    "fetch" or "other"; any other kind a measure
//	local root, or span under no        nothing
//	request's timeline
//
// The detail of such an entry has the span's attributes, span_id and scope. Spans of this module
// are not entries again. With the SDK's provider, it needs the [Processor].
//
// # When it happens
//
// Under a span of a [TracerProvider], marks and measures wait in the journal of the span's local
// root, and become events and spans when that is encoded, unless processors are registered or the
// sampler decides about each child. Otherwise, and under spans of every other provider, a mark
// calls AddEvent, and a measure starts and ends a span of that provider. Both happen at once, on
// the goroutine that records: samplers and processors see each call, and a processor that blocks or
// panics does so there.
//
// Limits of spans (OTEL_SPAN_*, OTEL_EVENT_*) hold for marks and measures as for what AddEvent and
// Start make. Marks share their span's limit of events with its own events: the newest stay.
//
// Marks that are log records wait in the same journal. They reach the [LogOutput] with the next
// part of their unit, also if their span stays open: within 5 s, or at ForceFlush. A mark under no
// span or a remote one, or after the end of its root, becomes a log record at once. Marks under a
// span of another provider, and of a [TracerProvider] with processors, do not wait either.
//
// With a [KeepPolicy], the journal of a request that the sampler dropped has its marks, measures
// and spans as well, until the policy decides at its end. Then they are forgotten, or encoded for
// the recorders.
//
// # Profiles
//
// Spans label the goroutines that work for them while a profiler runs. Spans of a [TracerProvider]
// do it by themselves, also the spans of marks.Start. Spans of the SDK's provider need
// profiling.WrapTracerProvider. Contexts of marks.Start and of the servers of bridgehttp and
// bridgegrpc carry the labels, so that pprof.Do adds to them.
//
// # Guarantees
//
//   - Every mark made under a recorded span before its End is an event of that span, whichever
//     goroutine makes it, and each measure is one span. [Stats] counts losses by cause.
//   - A mark or a measure never gets into the data of another request, however long its context is
//     kept.
//   - ForceFlush and Shutdown hand over what was recorded before. Marks of spans that have not
//     ended stay with their spans.
//   - A mark that becomes a log record is exactly one, whatever becomes of its span. Its record and
//     its event have the same name, time and attributes.
//   - With the form LogRecords, exporters get spans without marks, and recorders get the same spans
//     with them. Events by AddEvent and RecordError stay.
//   - The counts of routes, which perfline.Start shows, have each local root once, at its end. They
//     have sampled roots, roots that are only recorded, and, with a [KeepPolicy], roots that the
//     sampler dropped.
//
// # Limitations
//
//   - The counts of routes lack the requests that the sampler dropped if KeepPolicy.Off is set or
//     there is no policy, or if the policy does not see them (RequestStats.Untracked). With the
//     SDK's provider, they have only the spans that are recorded.
//   - A mark made after its span's End is not added to it, but counted in MarksAfterEnd if it is no
//     log record.
//   - With the form LogRecords, a span whose marks do not wait has no events of them. Its
//     processors and recorders miss them. It is a span of another provider, or of a
//     [TracerProvider] with processors or with a sampler that decides about each child. The form
//     SpanEventsAndLogRecords helps.
//   - With the form LogRecords, spans are encoded twice if there are exporters and recorders.
//   - A span of the SDK may end while a mark is added to it. The SDK does not report that. The span
//     lacks the mark, and MarkEvents counts it.
//   - When the units have used up their memory, a mark becomes a log record only, also with the
//     form SpanEventsAndLogRecords. Its span counts it as dropped.
//   - Marks that wait are lost with a crash of the process, as spans in the SDK's batch processor
//     are. They wait up to 5 s after the end of their span, and 100 ms after the end of the local
//     root.
//   - The marks of a span that is still open take at most half of its journal, 256 KiB. The oldest
//     ones are then dropped, and counted in MarksOverLimit.
//   - Marks of spans that never end are dropped at Shutdown, or when too many wait, and counted in
//     MarksOfOpenSpans.
package bridge
