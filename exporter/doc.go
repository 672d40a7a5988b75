// Package exporter (stable) sends spans and log records over OTLP. In programs with OpenTelemetry's
// SDK it replaces the batch span processor together with otlptracegrpc or otlptracehttp:
//
//	spans, err := exporter.NewDelivery(exporter.Config{}) // OTEL_EXPORTER_OTLP_* and OTEL_BSP_* say where and how
//	if err != nil {
//		return err
//	}
//	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
//	…
//	err = provider.Shutdown(ctx) // sends the spans that wait
//
// It needs nothing else of perfline. Package requests keeps requests in memory, viewers writes
// files, and live is the page: programs that import this package alone link none of them, and no
// profiler.
//
// # Guarantees
//
//   - The end of a span never waits for a receiver and never fails. With the SDK's provider, the
//     goroutine that ends a span encodes it, outside any lock.
//   - The memory of encoded spans is used again once they are delivered or lost. In a steady state,
//     a span of up to 1 KiB costs no allocation.
//   - The queue is bounded in spans and in bytes, with the request that is being sent. Spans that
//     find it full are dropped and counted.
//   - The counts balance at every read: Accepted = Delivered + Failed + Dropped + Pending.
//   - One goroutine sends, one request at a time. An idle delivery wakes nothing up.
//   - The log has one line when delivery begins to fail, with the reason, and one when it works
//     again, with the number of lost spans. There are five such pairs a minute at most.
//   - The log also has a line when spans find the queue full although delivery works, when the
//     receiver turns spans down, and when it warns. Each reason has one line an hour, of eight
//     reasons at most.
//   - No line names secrets of the configuration.
//   - All of this holds for log records, too. They have a queue, a connection, counts and log lines
//     of their own.
//   - A receiver that does not know log records costs one line and one attempt in 10 minutes; see
//     [LogDelivery].
//   - ForceFlush and Shutdown return when their context ends, or after 10 seconds without a
//     deadline.
//   - After Shutdown the counts are final and no goroutine is left. Shutdown waits a second at most
//     for a [Sender] that ignores the end of its context, and leaves it behind then.
//
// # Limitations
//
//   - Nothing is stored on disk. Items that wait when the process ends are lost; after a Shutdown
//     they are counted.
//   - A receiver may get an item twice, if its answer to the first request was lost.
//   - A receiver that acknowledges items and loses them is not noticed.
//   - OTLP over HTTP has protobuf bodies only. The protocol http/json is an error.
package exporter
