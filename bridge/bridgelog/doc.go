// Package bridgelog (may change) connects OpenTelemetry's log SDK with perfline. Programs that do
// not import it do not link the log SDK.
//
// [NewLoggerProvider] sends log records of every logging library that has a bridge, through the
// pipeline's delivery. For log/slog, contrib's otelslog is the bridge:
//
//	records := otelslog.NewHandler("shop", otelslog.WithLoggerProvider(bridgelog.NewLoggerProvider(pl, nil)))
//	slog.SetDefault(slog.New(marks.NewHandler(slog.NewMultiHandler(bridge.NewHandler(lines), records), nil)))
//
// docs/logs.md shows the records that arrive.
//
// [NewEventBridge] makes span events of log events, as the specification's "Event to span event
// bridge" does, which is in development. It works in programs with any exporter. Register it beside
// the processor that exports, which may be one of [NewProcessor]:
//
//	provider := sdklog.NewLoggerProvider(
//		sdklog.WithProcessor(bridgelog.NewEventBridge()),
//		sdklog.WithProcessor(sdklog.NewBatchProcessor(exporter)))
//
// # The bridge's rules
//
// A log event is a log record with an event name. The numbers are also in the names of the tests.
//
//	rule of the specification                               behaviour
//	-------------------------                               ---------
//	1  the record has a non-empty event name                a record without one does nothing
//	2  it has a valid trace id and span id                  a record without both does nothing
//	3  the context has a current span that is recording     no span, a remote, unsampled or ended one: nothing
//	4  the record's ids are the current span's              other ids do nothing, even if such a span is open
//	5  if a condition is not met, do nothing                no error, no count, the record stays as it is
//	6  add exactly one span event                           one call of AddEvent, on the emitting goroutine
//	7  its name is the record's event name                  unchanged
//	8  its time is the record's Timestamp, or else its      with neither, the span takes the time of the call
//	   ObservedTimestamp
//	9  all attributes are copied                            each with its kind, in the same order; the span's limits for
//	                                                        events then apply
//	10 the record goes on through the pipeline              later processors see the same record
//	11 there are no parameters                              NewEventBridge has no arguments
//
// Body, severity and scope stay with the log record: span events have no place for them.
//
// # Guarantees
//
//   - The event bridge has no state. It keeps no span and no record after the call. It works with
//     spans of every provider.
//   - A delivered record is encoded once, on the goroutine that emits it. Emitting never waits for
//     the receiver: exporter.LogDelivery counts each record as delivered, failed, dropped or
//     pending.
//   - All functions and methods may be called concurrently.
//
// # Limitations
//
//   - The span of a request that the sampler dropped and that bridge.KeepPolicy keeps is not
//     recording: rule 3. Marks under it become span events, log events do not.
//   - A slog record becomes two span events if marks.NewHandler makes it a mark and a slog bridge
//     gives it an event name too. Contrib's otelslog v0.21 gives no event names, so its records are
//     never bridged.
//   - A warning of slog arrives twice if marks.NewHandler makes it a mark and marks are log
//     records. The mark has the text as EventName, the other record as body.
//   - Log records have the SDK's limits for attributes (OTEL_LOGRECORD_*).
package bridgelog
