// Package otlpprofiles (may change) profiles the running program continuously and sends the
// profiles to any receiver of OTLP profiles: an OpenTelemetry Collector, or a backend. The profiles
// are those that package pyroscope pushes: of CPU, heap, goroutines, mutex contention, blocking and
// leaked goroutines. CPU samples have their time and a link to their span.
//
// Profiles are a signal in development: OpenTelemetry may change the format, and this package
// follows it. So it is used on request:
//
//	pl, err := perfline.Start(ctx, perfline.Config{
//		Service:         "shop",
//		ProfileExporter: otlpprofiles.New(otlpprofiles.Config{}), // OTEL_EXPORTER_OTLP_* say where
//	})
//
// The format is opentelemetry/proto/profiles/v1development of opentelemetry-proto 1.11. A Collector
// of version 0.165 takes it with --feature-gates=service.profilesSupport. Set
// OTEL_EXPORTER_OTLP_PROFILES_COMPRESSION=gzip for a receiver that is not near: profiles become
// about half as long.
//
// In a set-up of your own, wrap the tracer provider with [profiling.WrapTracerProvider], and call
// Start and Shutdown of the [profiling.Exporter] that [New] returns. A program that replaces itself
// by syscall.Exec has to call Shutdown before: signals of the CPU profiler end the next program.
//
// # Mapping
//
// A request has the profiles of one kind, one for each sample type:
//
//	kind           sample types (unit)                               period type   of the time
//	cpu            cpu (nanoseconds)                                 cpu           since the last profile
//	heap           alloc_objects (count), alloc_space (bytes)        space         since the last profile
//	               inuse_objects (count), inuse_space (bytes)        space         of a moment, after the last garbage collection
//	goroutine      goroutine (count)                                 goroutine     of a moment
//	mutex, block   contentions (count), delay (nanoseconds)          contentions   since the last profile
//	goroutineleak  goroutineleak (count)                             goroutineleak of a moment
//
// Types and units have the names of pprof, by which the Collector's translation goes. The attribute
// perfline.profile.kind tells kinds with equal types apart. OpenTelemetry has no such attribute.
// Fields of a profile:
//
//	Sample.values                the CPU time of each sample, corrected so that all stand for the time that the process used; of other
//	                             kinds a sum. Samples without a value are left out
//	Sample.timestamps_unix_nano  the time of each CPU sample. Samples of the engine "window" have none, but a sum
//	Sample.link_index            trace and span of a CPU sample. [Config].Spans says which spans
//	Sample.attribute_indices     span_name, as in Pyroscope; the labels that the program set with pprof.Do, up to 12; bytes, the size of
//	                             allocations. Goroutines have span_name without a link: they are counted in groups
//	Location.lines               function, file and line; without addresses. Inlined functions of the runtime's profiles share a location
//	Location.attribute_indices   profile.frame.type go
//	Mapping                      the program's file name; process.executable.build_id.htlhash, .go and .gnu; pprof.mapping.has_*
//	Profile.attribute_indices    perfline.profile.kind; pprof.profile.comment if samples were lost or other code had the CPU profiler
//	Profile.profile_id           random; original_payload is left out
//
// # Guarantees
//
//   - The program never waits for the receiver. Two goroutines take and deliver profiles, and
//     [Config].QueueBytes bounds the waiting ones. The oldest are dropped when newer ones need
//     their room.
//   - A request is below 4 MiB. A larger profile is cut into several with profiles of their own.
//   - A dictionary has no duplicates and nothing that no sample needs. Text that is not UTF-8 is
//     repaired.
//   - A request is sent again if the receiver says that it may, as the specification of OTLP has
//     it, until newer profiles need its room.
//   - The counts balance at every read: see [profiling.ExporterStats].
//   - The log has one line when delivery begins to fail, and one when it works again. No line names
//     secrets of the configuration.
//   - When the receiver does not know profiles (UNIMPLEMENTED, 404, or a Sender's answer Unknown),
//     the log has one line. Profiles are dropped and counted for ten minutes, and then tried again.
//   - After Shutdown no goroutine and no connection is left, unless a Sender ignores its context.
//   - It runs beside package pyroscope: each has all profiles. The CPU is sampled once for both.
//     The runtime's profiles are taken twice.
//
// # Limitations
//
//   - The time of threads, system calls and garbage collection is not told apart: OpenTelemetry's
//     conventions have no names for it.
//   - Mutex and block profiles, and leaked goroutines, need what package pyroscope's comment says.
//   - A receiver may get a profile twice, if its answer to the first request was lost.
//
// # Variables
//
// A field of [Config] wins over its variable.
//
//	OTEL_PROFILES_EXPORTER           otlp or none, for perfline.Start: none switches the field off. OpenTelemetry's specification has no such
//	                                 variable yet. It is named as those of other signals
//	OTEL_EXPORTER_OTLP_PROFILES_*    ENDPOINT, PROTOCOL, HEADERS, CERTIFICATE, CLIENT_CERTIFICATE, CLIENT_KEY, INSECURE, COMPRESSION, TIMEOUT
//	OTEL_EXPORTER_OTLP_*             the same for all signals
//	PERFLINE_LEAK_INTERVAL           LeakInterval, as 10m, or off
//	PERFLINE_PROFILING               off, or any wrong value of it, forbids all profiling, this too
package otlpprofiles
