// Package exporter sends spans over OTLP and counts what became of each. The OTEL_*
// variables or a [Config] say where to.
//
//	target, err := exporter.New(ctx, exporter.Config{})   // OTEL_EXPORTER_OTLP_* variables
//	if err == nil {
//		delivery := exporter.NewDelivery(target, exporter.DeliveryConfig{})
//		processor := bridge.NewProcessor(delivery)
//		…
//	}
//
// Package requests keeps requests in memory, viewers writes files, and live is the page.
// Programs that import this package alone link none of them, and no profiler.
//
// # What it guarantees
//
//   - [Delivery] never blocks and holds a bounded number of spans; those that do
//     not fit and those the backend did not take are counted by cause, and a
//     backend that goes away and comes back is two log lines, however many
//     batches fail in between.
//
// # What it does not
//
//   - It keeps nothing on disk: spans that were not delivered when the process
//     ends are lost, and counted.
//   - A backend that acknowledges spans and loses them is not noticed.
package exporter
