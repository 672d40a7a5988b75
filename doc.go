// Package perfline (stable) traces the requests of a Go service. perfline sends the marks and
// measures of the code as OpenTelemetry span events and spans, over OTLP. A profiler shows the code
// that ran for each span. A recorder names the waits of slow requests. A page inside the program
// shows all these data.
//
// [Start] replaces the set-up of OpenTelemetry's SDK: tracer provider, batch processor, exporter,
// resource, propagators. A program with a provider of its own passes the provider in [Config], or
// registers bridge.NewProcessor without this package. bridgehttp and bridgegrpc replace otelhttp
// and otelgrpc. Other instrumentation stays.
//
// For a request with 3 marks and 2 measures and a handler that works, perfline takes
// 32 % of the CPU time that OpenTelemetry's SDK adds at full load,
// and 36 % at 1000 requests a second. The file docs/lab/benchmarks.md has the measurements.
//
//	pl, err := perfline.Start(ctx, perfline.Config{Service: "shop"})
//	if err != nil {
//		return err
//	}
//	srv := &http.Server{Addr: "localhost:8080"} // the page is at /debug/perfline/
//	srv.Handler = live.Handler(pl, live.Config{Next: bridgehttp.Middleware(mux)})
//	go srv.ListenAndServe()
//	<-ctx.Done() // of signal.NotifyContext: without Shutdown, the last spans are lost
//	return errors.Join(srv.Shutdown(stopCtx), pl.Shutdown(context.Background()))
//
// In the service, or in a library:
//
//	marks.Mark(ctx, "cache.miss", slog.String("key", key))
//	defer marks.Time(ctx, "render").End()
//
// # Why was it slow
//
// Slow and failed requests stay in memory, even if the sampler drops them: see [Pipeline.Recent].
// With [Config].Waits, a recorder of package waits/flight reads the runtime's execution trace after
// a slow request, and names the cause in a sentence:
//
//	25 ms of 26 ms, in span POST: waited for the network in (*handler).pay
//
// # Guarantees
//
//   - Without an endpoint, by variable or by [Config], perfline opens no connections. The most
//     recent requests stay in memory all the same.
//   - Requests are unaffected when a backend is slow or down. perfline counts losses, and
//     [Pipeline.Shutdown] returns the losses.
//
// # Limitations
//
//   - [Start] sets OpenTelemetry's global tracer provider, propagators and error handler, and the
//     meter provider if metrics are exported. Call Start in a main package, not in a library.
package perfline
