// Package requests keeps the newest and the slowest requests of the process in memory, and draws
// each as a waterfall. No backend is needed.
//
//	recent := requests.NewRecent(requests.Config{})
//	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recent))
//	…
//	for _, s := range recent.Slowest() {
//		err = requests.WriteWaterfall(os.Stdout, s.Request(), nil)
//	}
//
// A [Request] is a local root span with all spans below it. [Recent] returns requests in encoded
// form, each as a [Snapshot]. [Search] finds requests by a [Query]. [Samples] yields the samples of
// a profile that belong to a request. With [Request].Waits from a recorder of execution traces,
// waterfalls show why the request took its time.
//
// # Guarantees
//
//   - [Recent] starts no goroutine. Its lock guards work in memory only, never a writer.
//   - Spans stay in memory as OTLP bytes, without a pointer for each. Readers decode them outside
//     the lock. Package otlpenc lists what a decoded span lacks.
//   - A request that ends in one hand-over is not copied: the newest requests retain the bytes of
//     their writer. A request that stays longer gets a copy.
//   - A reader sees each span that ended before the call, if a late writer registers with
//     [Recent.OnRead].
//   - [Config] bounds the bytes, and the numbers of requests, of spans of a trace, and of traces
//     without a request. [Stats] counts what exceeded the bounds.
//   - Spans may end in any order. A span that ends after its request still joins it.
//   - A [Request] or [Snapshot] never changes.
//   - Samples never contradict an execution trace: [Samples] omits contradictory samples.
//   - Waterfalls print names and values from outside with control characters as codes.
//
// # Limitations
//
//   - Config.MaxBytes ignores some hundred bytes of each trace, idle buffers of 252 KiB at most,
//     and other spans in the blocks that the newest requests retain. Resources and scopes, which
//     spans share, count 256 bytes for each change of the tracer within a trace.
//   - Times are wall-clock times, as in OTLP. When the system's clock is set, samples of a profile
//     with an older origin shift against the spans by the same amount.
//   - Requests are not on disk. They are lost when the process ends.
//   - Recent sees only spans that the sampler records.
package requests
