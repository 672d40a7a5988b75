// Package perfline (stable) traces the requests of a Go service. The code records marks and
// measures, which leave as OpenTelemetry span events and spans, over OTLP. A profiler shows which
// code ran for which span. A slow request says what it waited for. A page inside the program shows
// all of it.
//
// [Start] replaces the set-up of OpenTelemetry's SDK: tracer provider, batch processor, exporter,
// resource, propagators. A program that keeps its own provider gives the provider to [Config], or
// needs bridge.NewProcessor and not this package. bridgehttp and bridgegrpc replace otelhttp and
// otelgrpc. Other instrumentation stays.
//
// For a request with 3 marks and 2 measures and a handler that works, perfline takes
// 39 % of the CPU time that OpenTelemetry's SDK adds at full load,
// and 65 % at 1000 requests a second. The file docs/lab/benchmarks.md has the measurements.
//
//	pl, err := perfline.Start(ctx, perfline.Config{Service: "shop"})
//	if err != nil {
//		return err
//	}
//	defer pl.Shutdown(context.Background())
//	root := live.Handler(pl, live.Config{Next: bridgehttp.Middleware(mux)})
//	return http.ListenAndServe("localhost:8080", root) // the page is at /debug/perfline/
//
// In the service, or in a library:
//
//	marks.Mark(ctx, "cache.miss", slog.String("key", key))
//	defer marks.Time(ctx, "render").End()
//
// # Why was it slow
//
// Slow and failed requests stay in memory, also requests that the sampler drops: see
// [Pipeline.Recent]. With [Config].Waits, a recorder of package waits/flight reads the runtime's
// execution trace after a slow request, and names the cause in a sentence:
//
//	25 ms of 26 ms: waited for the network in POST, called by (*handler).pay
//
// # Guarantees
//
//   - Without an endpoint, by variable or by [Config], perfline connects nowhere. The most recent
//     requests are in memory all the same.
//   - Requests are unaffected when a backend is slow or down. Losses are counted, and
//     [Pipeline.Shutdown] returns the losses.
//
// # Limitations
//
//   - [Start] sets OpenTelemetry's global tracer provider, propagators and error handler, and the
//     meter provider if metrics are exported. It is therefore for main packages, not for libraries.
package perfline
