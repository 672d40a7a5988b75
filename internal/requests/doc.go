// Package requests keeps the newest and the slowest requests of the process in memory, and
// shows each as a waterfall. It needs no backend.
//
//	recent := requests.NewRecent(requests.Config{})
//	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recent))
//	…
//	for _, s := range recent.Slowest() {
//		err = requests.WriteWaterfall(os.Stdout, s.Request(), nil)
//	}
//
// A [Request] is a local root span with all spans below it. [Recent] returns it in encoded form, as
// a [Snapshot]. [Samples] has the samples of a profile that belong to it. [Request].Waits has what
// its goroutines did, if a recorder of execution traces knows it: then waterfalls show why the
// request took its time. [Search] finds requests by a [Query]: route, status, duration, time,
// attributes and names.
//
// # Guarantees
//
//   - [Recent] starts no goroutine. Its lock is held for work in memory only, never for a writer.
//   - Spans are in memory as OTLP bytes, without a pointer for each. They are decoded when a
//     request is read, outside the lock. Package otlpenc lists what such a span lacks.
//   - A request that ends in one hand-over is not copied: the newest requests retain the bytes of
//     their writer. A request that stays longer than these gets a copy.
//   - A reader sees each span that ended before the call, if who hands spans over late registers
//     with [Recent.OnRead].
//   - The bytes, and the numbers of requests, of spans of a trace, and of traces without a request
//     are bounded by [Config]. [Stats] counts what exceeded them.
//   - Spans may end in any order. A span that ends after its request still joins it.
//   - A [Request] or [Snapshot] does not change after Recent returned it.
//   - Samples never contradict the states of an execution trace: [Samples] leaves out those that
//     do.
//   - Waterfalls print names and values from outside with control characters as codes.
//
// # Limitations
//
//   - Config.MaxBytes does not count some hundred bytes for each trace, buffers of 252 KiB at
//     most that wait for the next traces, and what else is in the blocks that the newest requests
//     retain: see there. It counts resources and scopes, which spans share, as 256 bytes for each
//     change of the tracer within a trace.
//   - Times are wall-clock times, as in OTLP. After the system's clock is set, samples of
//     a profile whose origin is older are apart from the spans by as much.
//   - Requests are not on disk: they are gone when the process ends.
//   - Recent sees the spans that the sampler records, and no others.
package requests
