// Package exporter is what leaves the process: spans over OTLP, by the OTEL_*
// variables or a [Config], with a count of what arrived and what did not;
// beside or without a backend, the most recent requests in memory, to be
// printed as waterfalls; and sessions as files for the Firefox Profiler, Perfetto and
// speedscope.
//
//	target, err := exporter.New(ctx, exporter.Config{})   // OTEL_EXPORTER_OTLP_* variables
//	if err == nil {
//		delivery := exporter.NewDelivery(target, exporter.DeliveryConfig{})
//		processor := bridge.NewProcessor(delivery)
//		…
//	}
//
// # What it guarantees
//
//   - [Delivery] never blocks and holds a bounded number of spans; those that do
//     not fit and those the backend did not take are counted by cause, and a
//     backend that goes away and comes back is two log lines, however many
//     batches fail in between.
//   - [Recent] keeps a bounded number of requests and spans.
//   - [WriteFirefox] and [WriteSpeedscope] write while they go: what they keep does not depend on how
//     many events and samples a session has.
//
// # What it does not
//
//   - It keeps nothing on disk: spans that were not delivered when the process
//     ends are lost, and counted.
//   - A backend that acknowledges spans and loses them is not noticed.
package exporter
