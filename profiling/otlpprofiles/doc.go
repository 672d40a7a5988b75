// Package otlpprofiles (may change) profiles the running program continuously and sends the
// profiles to any receiver of OTLP profiles: an OpenTelemetry Collector, or a backend. The profiles
// are those of package pyroscope: CPU, heap, goroutines, mutex contention, blocking and leaked
// goroutines. CPU samples have their time and a link to their span.
//
// The profiles signal is in development: OpenTelemetry may change the format, and this package
// follows. So the exporter is opt-in:
//
//	pl, err := perfline.Start(ctx, perfline.Config{
//		Service:         "shop",
//		ProfileExporter: otlpprofiles.New(otlpprofiles.Config{}), // to OTEL_EXPORTER_OTLP_*
//	})
//
// The format is opentelemetry/proto/profiles/v1development of opentelemetry-proto 1.11. A Collector
// of version 0.165 needs --feature-gates=service.profilesSupport. For a distant receiver, set
// OTEL_EXPORTER_OTLP_PROFILES_COMPRESSION=gzip: it halves the size of profiles.
//
// In a set-up of your own, wrap the tracer provider with [profiling.WrapTracerProvider], and call
// Start and Shutdown of the [profiling.Exporter] that [New] returns. A program that replaces itself
// by syscall.Exec must call Shutdown first: signals of the CPU profiler end the next program.
//
// # Mapping
//
// A request has the profiles of one kind, one for each sample type:
//
//	kind           sample types (unit)                         period type    time
//	cpu            cpu (nanoseconds)                           cpu            since the last one
//	heap           alloc_objects (count), alloc_space (bytes)  space          since the last one
//	               inuse_objects (count), inuse_space (bytes)  space          last collection
//	goroutine      goroutine (count)                           goroutine      a moment
//	mutex, block   contentions (count), delay (nanoseconds)    contentions    since the last one
//	goroutineleak  goroutineleak (count)                       goroutineleak  a moment
//
// Types and units have pprof's names, which the Collector's translation uses. The attribute
// perfline.profile.kind distinguishes kinds with equal types; OpenTelemetry has no such attribute.
// Fields of a profile:
//
//   - Sample.values: the CPU time of each sample, corrected so that the sum is the CPU time of the
//     process; for other kinds a sum. Samples without a value are left out.
//   - Sample.timestamps_unix_nano: the time of each CPU sample. Samples of the engine "window" have
//     a sum without times.
//   - Sample.link_index: trace and span of a CPU sample, see [Config].Spans.
//   - Sample.attribute_indices: span_name, as in Pyroscope; the labels that the program set with
//     pprof.Do, up to 12; bytes, the size of allocations. Goroutines have span_name without a link:
//     they are counted in groups.
//   - Location.lines: function, file and line, without addresses. Inlined functions of the
//     runtime's profiles share a location.
//   - Location.attribute_indices: profile.frame.type go.
//   - Mapping: the program's file name; process.executable.build_id.htlhash, .go and .gnu;
//     pprof.mapping.has_*.
//   - Profile.attribute_indices: perfline.profile.kind; pprof.profile.comment if samples were lost
//     or other code had the CPU profiler.
//   - Profile.profile_id: random. original_payload is left out.
//
// # Guarantees
//
//   - The program never waits for the receiver. Two goroutines take and deliver profiles, and
//     [Config].QueueBytes bounds the pending ones. A full queue drops the oldest profiles.
//   - A request is below 4 MiB. A larger profile is split into several requests.
//   - A dictionary has no duplicates, and only entries that samples need. Text that is not UTF-8 is
//     repaired.
//   - The exporter retries a request if the receiver allows it by the specification of OTLP, until
//     newer profiles need the room.
//   - The counts balance at every read: see [profiling.ExporterStats].
//   - The log has one line when delivery begins to fail, and one when it works again. No line has
//     secrets of the configuration.
//   - When the receiver does not know profiles (UNIMPLEMENTED, 404, or a Sender's answer Unknown),
//     the log has one line. The exporter drops and counts profiles for ten minutes, and then tries
//     again.
//   - After Shutdown no goroutine and no connection is left, unless a Sender ignores its context.
//   - Beside package pyroscope, each receiver gets all profiles. perfline.Start takes each profile
//     once for both.
//
// # Limitations
//
//   - Profiles do not distinguish the time of threads, system calls and garbage collection:
//     OpenTelemetry's conventions have no names for these.
//   - Mutex and block profiles, and leaked goroutines, have the conditions in package pyroscope's
//     comment.
//   - A receiver may get a profile twice, if its answer to the first request was lost.
//
// # Variables
//
// A field of [Config] wins over its variable.
//
//	OTEL_PROFILES_EXPORTER         otlp or none, for perfline.Start: none disables the field
//	OTEL_EXPORTER_OTLP_PROFILES_*  ENDPOINT, PROTOCOL, HEADERS, CERTIFICATE, CLIENT_CERTIFICATE,
//	                               CLIENT_KEY, INSECURE, COMPRESSION, TIMEOUT
//	OTEL_EXPORTER_OTLP_*           the same for all signals
//	PERFLINE_LEAK_INTERVAL         LeakInterval, as 10m, or off
//	PERFLINE_PROFILING             off, or any wrong value, forbids all profiling, this too
//
// OpenTelemetry's specification does not have OTEL_PROFILES_EXPORTER yet. The name follows those of
// other signals.
package otlpprofiles
