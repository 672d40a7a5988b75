// Package exporter (stable) sends spans and log records over OTLP. In programs with OpenTelemetry's
// SDK, it replaces the batch span processor together with otlptracegrpc or otlptracehttp:
//
//	spans, err := exporter.NewDelivery(exporter.Config{}) // see OTEL_EXPORTER_OTLP_*, OTEL_BSP_*
//	if err != nil {
//		return err
//	}
//	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
//	…
//	err = provider.Shutdown(ctx) // sends the waiting spans
//
// The package works without the rest of perfline. Programs that import only this package link no
// profiler, no live page and no store of requests.
//
// # Guarantees
//
//   - The end of a span never waits for a receiver and never fails. With the SDK's provider, the
//     goroutine that ends a span encodes the span, outside any lock.
//   - The memory of encoded spans is reused after delivery or loss. In a steady state, a span of up
//     to 1 KiB costs no allocation.
//   - The queue is bounded in items and in bytes, including the request that is being sent. Items
//     beyond a bound are dropped and counted.
//   - The counts balance at every read: Accepted = Delivered + Failed + Dropped + Pending.
//   - One goroutine sends, one request at a time. An idle delivery wakes no goroutine.
//   - Config.Logger gets one line with the reason when delivery starts failing, and one line with
//     the number of lost items when delivery recovers. The limit is five such pairs a minute.
//   - The logger also gets a line when items are dropped at a full queue although delivery works,
//     and when the receiver rejects items or warns. Each of at most eight reasons is logged once an
//     hour.
//   - Log lines contain no secrets of the configuration.
//   - Spans and log records use separate queues, connections, counts and log lines.
//   - A receiver that does not support log records costs one log line and one attempt in 10
//     minutes; see [LogDelivery].
//   - ForceFlush and Shutdown return when their context ends, or after 10 seconds without a
//     deadline.
//   - After Shutdown the counts are final and no goroutine is left, except in a [Sender] that
//     ignores the end of its context for more than a second.
//
// # Limitations
//
//   - Nothing is stored on disk. Items that still wait when the process ends are lost. After a
//     Shutdown they are counted.
//   - A receiver may get an item twice, if its answer to the first request was lost.
//   - The delivery does not notice a receiver that acknowledges items and loses them.
//   - OTLP over HTTP uses protobuf bodies only. The protocol http/json is an error.
package exporter
