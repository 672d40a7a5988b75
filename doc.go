// Package perfline (stable) is the web's Performance Timeline for Go services: marks and
// measures that cost two or three readings of the clock where they are made, and
// arrive as OpenTelemetry span events and spans.
//
//	pl, err := perfline.Start(ctx, perfline.Config{Service: "shop"})
//	if err != nil {
//		return err
//	}
//	defer pl.Shutdown(context.Background())
//	return http.ListenAndServe(":8080", bridgehttp.Middleware(mux))
//
// and, anywhere below, in the service or in a library:
//
//	marks.Mark(ctx, "cache.miss", slog.String("key", key))
//	defer marks.Time(ctx, "render").End()
//
// This package only puts the others together: observer (the timeline), marks
// (User Timing), bridge (spans of OpenTelemetry) and exporter (what leaves
// the process). A program that has an OpenTelemetry set-up already gives its provider
// to [Config], or needs bridge.NewProcessor and not this package.
//
// # Guarantees
//
//   - Without an endpoint, by variable or by [Config], it connects nowhere. The most recent
//     requests are in memory all the same: see [Pipeline.Recent]. Package live
//     shows them in a browser.
//   - Requests are unaffected when a backend is slow or down. Losses are counted, and
//     [Pipeline.Shutdown] returns them.
//
// # Costs
//
// perfline adds to a request 39 % of the CPU time that OpenTelemetry's SDK adds at full load, and
// 65 % at 1000 requests a second. The request passes the middleware, makes 3 marks and 2 measures,
// and has a handler that works. The file docs/lab/benchmarks.md has the measurements and their
// commands.
//
// # Limitations
//
//   - It sets OpenTelemetry's global tracer provider, propagators and error handler, the meter
//     provider if metrics are exported, and is therefore for main packages, not for libraries.
package perfline
