// Package bridgelog (may change) connects OpenTelemetry's log SDK to perfline. Programs that do not
// import bridgelog do not link the log SDK.
//
// [NewLoggerProvider] delivers the log records of every logging library with an OpenTelemetry
// bridge through the pipeline. For log/slog, contrib's otelslog is the bridge:
//
//	provider := bridgelog.NewLoggerProvider(pl, nil)
//	records := otelslog.NewHandler("shop", otelslog.WithLoggerProvider(provider))
//	handler := slog.NewMultiHandler(bridge.NewHandler(lines), records)
//	slog.SetDefault(slog.New(marks.NewHandler(handler, nil)))
//
// docs/logs.md shows the records that arrive.
//
// [NewEventBridge] makes span events from log events, like the specification's "Event to span event
// bridge", which is in development. The event bridge works with any exporter. Register the event
// bridge beside the processor that exports, which may be a [NewProcessor]:
//
//	provider := sdklog.NewLoggerProvider(
//		sdklog.WithProcessor(bridgelog.NewEventBridge()),
//		sdklog.WithProcessor(sdklog.NewBatchProcessor(exporter)))
//
// # The event bridge's rules
//
// A log event is a log record with an event name. The names of the tests include the numbers.
//
//	rule of the specification                    behaviour
//	-------------------------                    ---------
//	1  the record has a non-empty event name     a record without a name does nothing
//	2  it has a valid trace id and span id       a record without both does nothing
//	3  the context has a current span that is    no span, a remote, unsampled or ended span:
//	   recording                                 nothing
//	4  the record's ids are the current span's   other ids do nothing, even if such a span is open
//	5  if a condition is not met, do nothing     no error, no count, the record stays as it is
//	6  add exactly one span event                one call of AddEvent, on the emitting goroutine
//	7  its name is the record's event name       unchanged
//	8  its time is the record's Timestamp, or    with neither, the span takes the time of the call
//	   else its ObservedTimestamp
//	9  all attributes are copied                 each with its kind, in the same order, within
//	                                             the span's limits for events
//	10 the record goes on through the pipeline   later processors see the same record
//	11 there are no parameters                   NewEventBridge has no arguments
//
// Body, severity and instrumentation scope stay with the log record, because span events cannot
// store them.
//
// # Guarantees
//
//   - The event bridge is stateless, works with spans of every provider, and retains no span or
//     record after the call.
//   - A delivered record is encoded once, on the goroutine that emits the record. Emitting never
//     waits for the receiver: exporter.LogDelivery counts each record as delivered, failed, dropped
//     or pending.
//   - All functions and methods may be called concurrently.
//
// # Limitations
//
//   - A span of a request that the sampler dropped and bridge.KeepPolicy keeps is not recording:
//     rule 3. Marks under the span become span events, log events do not.
//   - A slog record becomes two span events if marks.NewHandler makes a mark from the record and a
//     slog bridge adds an event name. Contrib's otelslog v0.21 adds no event names, so the event
//     bridge never bridges its records.
//   - A warning of slog arrives twice if marks.NewHandler makes a mark from the warning and marks
//     are log records. In the mark, the text is the EventName, and in the other record, the body.
//   - The SDK's limits for attributes (OTEL_LOGRECORD_*) apply to log records.
package bridgelog
