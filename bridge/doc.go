// Package bridge (stable) makes OpenTelemetry's events and spans from the marks and measures of a
// timeline, and adds the spans of other instrumentation to the timeline of their request.
//
// A [TracerProvider] replaces the SDK's provider, at a fraction of the cost:
//
//	provider := bridge.NewTracerProvider(bridge.TracerProviderConfig{
//		Exporters: []bridge.Output{delivery}})
//	otel.SetTracerProvider(provider)
//
// A [Processor] attaches a timeline to another provider. Register the Processor beside the
// processor that exports:
//
//	provider := sdktrace.NewTracerProvider(
//		sdktrace.WithBatcher(exporter),
//		sdktrace.WithSpanProcessor(bridge.NewProcessor(bridge.ProcessorConfig{})))
//
// Package bridgehttp makes spans and timelines for HTTP requests, and package bridgegrpc for gRPC
// calls. Programs without HTTP or gRPC do not import these packages.
//
// # The mapping
//
//	timeline                            OpenTelemetry
//	--------                            -------------
//	mark under a local span             event of the span: Name, Timestamp, Attributes; or a log
//	                                    record: see below
//	mark under no span or a remote one  log record if a LogOutput is set. Otherwise the mark stays
//	                                    on the timeline, counted as MarksWithoutSpan
//	Time…End, Measure under a span      child span, kind internal, start and end as measured
//	Start…End under a span              child span that other spans and marks can be under
//	measure under no span               root span, if the sampler samples it
//	measure under a remote span         child span, if the sampler samples it
//	measure that a histogram selects    also a value of the histogram: see [MeasureHistogram]
//	measure that failed (Timing.Fail)   status Error with the error's text, event "exception"
//	entry under an unsampled span       only the histogram's value, or as under a sampled span
//	                                    if the request is kept: see [KeepPolicy]
//	entry under a span of another       as under the innermost span of a TracerProvider above, in
//	package, such as a no-op span       the same trace; with the SDK's provider, as under the span
//	                                    with the same ids, or the server span
//	entry of another type               nothing, because requests already are spans
//	detail                              attributes, as below
//	name                                event name, span name
//
// With a [LogOutput], marks can be log records. OpenTelemetry calls a log record with an EventName
// an event, and plans to replace span events with log records. The [MarkForm] decides about marks
// that can be both:
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
//	                                    KeepPolicy.Export exports the request
//
//	log record         mark
//	----------         ----
//	EventName          name
//	Time, ObservedTime time
//	Attributes         detail, as below, within OTEL_LOGRECORD_ATTRIBUTE_*
//	TraceID, SpanID    of the span above the mark, if any, with the span's flags
//	Severity, Body     none
//	Scope              github.com/perfline/perfline
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
// The timeline converts values of other kinds to text when an entry is recorded, as package
// observer describes. An attribute without a key is left out. If a key is repeated, the last value
// takes the place of the first. U+FFFD replaces bytes that are not UTF-8, because OTLP cannot carry
// these bytes.
//
//	OpenTelemetry                       timeline
//	-------------                       --------
//	span of other instrumentation       entry of its request's timeline, when the span ends: kind
//	                                    client or producer a resource, with initiatorType "db",
//	                                    "grpc" (rpc.system), "messaging", "fetch" or "other"; any
//	                                    other kind a measure
//	local root, or span under no        nothing
//	request's timeline
//
// The detail of such an entry is the span's attributes, span_id and scope. Spans of perfline do not
// become entries again. With the SDK's provider, these entries need the [Processor].
//
// # When marks and measures become events and spans
//
// Under a span of a [TracerProvider], marks and measures wait in the journal of the span's local
// root, and become events and spans when the journal is encoded. In three cases, marks and measures
// do not wait: processors are registered, the sampler decides about each child, or the span is of
// another provider. A mark then calls AddEvent, and a measure starts and ends a span, at once and
// on the goroutine that records. Samplers and processors see each call, and a processor that blocks
// or panics does so there.
//
// The limits of spans (OTEL_SPAN_*, OTEL_EVENT_*) apply to marks and measures as to AddEvent and
// Start. Marks share the span's limit of events with other events: the newest stay.
//
// Marks that become log records wait in the same journal. The [LogOutput] receives these marks with
// the next part of the journal, within 5 s or at ForceFlush, even if the span stays open. A mark
// that does not wait, or that is made under no span, under a remote span or after the end of the
// local root, becomes a log record at once.
//
// With a [KeepPolicy], the journal of a request that the sampler dropped also stores marks,
// measures and spans until the policy decides at the end of the request. The journal is then
// discarded, or encoded for the recorders.
//
// # Profiles
//
// Spans label their goroutines while a profiler runs. Spans of a [TracerProvider] need no set-up
// for this, also the spans of marks.Start. Spans of the SDK's provider need
// profiling.WrapTracerProvider. Contexts of marks.Start and of the servers of bridgehttp and
// bridgegrpc carry the labels, so that pprof.Do adds to the labels.
//
// # Guarantees
//
//   - Every mark under a recorded span before its End is an event of the span, on any goroutine,
//     and each measure is one span. [Stats] counts losses by cause.
//   - A mark or a measure never enters the data of another request, however long a program retains
//     the context.
//   - ForceFlush and Shutdown hand over everything that was recorded before. Marks of open spans
//     stay with their spans.
//   - A mark that becomes a log record becomes exactly one, whatever happens to the span. The
//     record and the event have the same name, time and attributes.
//   - With the form LogRecords, exporters receive spans without marks, and recorders receive the
//     same spans with marks. Events by AddEvent and RecordError stay.
//   - The route counts that perfline.Start shows count each local root once, at its end: sampled
//     roots, roots that are only recorded, and, with a [KeepPolicy], roots that the sampler
//     dropped.
//
// # Limitations
//
//   - The route counts lack requests that the sampler dropped if KeepPolicy.Off is set, if there is
//     no policy, or if the policy does not see the requests ("untracked" of
//     [TracerProvider.RequestCounts]). With the SDK's provider, the route counts have only
//     recorded spans.
//   - A mark after its span's End is not an event of the span. MarksAfterEnd counts such a mark
//     unless the mark is a log record.
//   - With the form LogRecords, processors and recorders get spans without events for marks, unless
//     the marks wait in a journal. The form SpanEventsAndLogRecords avoids this.
//   - With the form LogRecords, spans are encoded twice if there are exporters and recorders.
//   - A span of the SDK may end while a mark is added. The SDK does not report this: the span lacks
//     the mark, and MarkEvents counts the mark.
//   - When the memory of all journals is used up, a mark becomes a log record only, also with the
//     form SpanEventsAndLogRecords. The span counts the mark as dropped.
//   - A crash loses waiting marks, as a crash loses spans in the SDK's batch processor. Marks wait
//     up to 5 s after the end of their span, and up to 100 ms after the end of the local root.
//   - The marks of an open span take at most half of the journal, 256 KiB. The oldest marks are
//     then dropped, and counted in MarksOverLimit.
//   - Marks of spans that never end are dropped at Shutdown, or when too many marks wait, and
//     counted in MarksOfOpenSpans.
package bridge
