// Package pyroscope (stable) profiles the running program continuously and pushes the profiles to a
// Pyroscope server. The profiles are of CPU, heap, goroutines, mutex contention, blocking and
// leaked goroutines. CPU samples name the span that they ran under.
//
// perfline.Start does all of it when PYROSCOPE_SERVER_ADDRESS is set. In a set-up of your own, wrap
// the tracer provider: otherwise samples name no span.
//
//	provider := sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithSpanProcessor(processor))
//	otel.SetTracerProvider(profiling.WrapTracerProvider(provider))
//	exporter, err := pyroscope.Start(ctx, pyroscope.Config{ServerAddress: "http://localhost:4040", Resource: res})
//	if err != nil && !errors.Is(err, profiling.ErrNotAllowed) { // PERFLINE_PROFILING=off: go on without profiles
//		return err
//	}
//	…
//	err = errors.Join(provider.ForceFlush(stopCtx), provider.Shutdown(stopCtx)) // after the servers
//	if exporter != nil {
//		err = errors.Join(err, exporter.Shutdown(stopCtx))
//	}
//
// The exporter shares the CPU profiler with the other parts of package profiling: a
// [profiling.Profiler] and [profiling.ServeProfile] get all samples, too. An agent that calls
// runtime/pprof itself takes the profiler away. Remove such agents, which are pyroscope-go and
// otel-profiling-go. A program that replaces itself by syscall.Exec has to call Shutdown before:
// signals of the CPU profiler end the next program.
//
// The application switches mutex and block profiles on with runtime.SetMutexProfileFraction and
// runtime.SetBlockProfileRate. Without that they are not sent. A heap profile is of the last
// garbage collection; the exporter forces none for it.
//
// # Leaked goroutines
//
// A goroutine has leaked if it waits for a channel, a mutex or another primitive of sync that no
// goroutine that can run may reach any more. Go 1.27 has a profile of them, Go 1.26 only if the
// program was built with GOEXPERIMENT=goroutineleakprofile. It is taken if [Config].LeakInterval or
// PERFLINE_LEAK_INTERVAL is set. Without the runtime's profile, nothing is taken, sent or logged.
// Nothing is sent while no goroutine has leaked. A leak through a global variable is not found.
//
// The profile is off by default, because of what it does to the program:
//
//   - THE RUNTIME ENDS A PROGRAM THAT WAKES A GOROUTINE OF THE PROFILE, with "fatal error: bad
//     g->status in ready" (Go 1.27.4). A goroutine that only a weak.Pointer, a pointer in C or an
//     integer can still reach is in the profile, although the program may wake it.
//   - The runtime makes a garbage collection of its own. It takes about as long as others: 6 ms
//     with a heap of 10 MB, 0.2 s with 1 GB, on 2 cores.
//   - It stops the world more often in it. The stops together take 1.4 ms with 10 000 goroutines
//     that wait, and 15 ms with 100 000. Goroutines that wait in a chain, each for the next, have a
//     stop for each link: 60 ms with 1000, and three times as long on a busy machine.
//
// Flush and Shutdown take no such profile.
//
// # The server
//
// The exporter calls push.v1.PusherService/Push by the Connect protocol, below the path of the
// server's address. Pyroscope 1.0 and newer has it. The types of profiles have the same names as
// pyroscope-go's: process_cpu, memory, goroutines, mutex, block and goroutine_leak.
//
// # Labels
//
//   - All profiles have service_name, which is the application's name, and the tags. From the
//     resource they have service_namespace, service_version, service_instance_id and
//     deployment_environment_name.
//   - All profiles have __session_id__, which is new with each start. service.instance.id is new,
//     too, unless OTEL_RESOURCE_ATTRIBUTES or a tag pins it.
//   - CPU samples have span_id, span_name and the labels that the program set with pprof.Do.
//     Goroutines have the same labels without ids.
//   - Only spans that OpenTelemetry's sampler kept are known. If it keeps one trace in a hundred,
//     one sample in a hundred has a span.
//   - span_name is the name of the span at its end, for a request its route. A profile that is
//     pushed before the span ends has the name of the span at its start. Each name makes a series:
//     names must not hold ids.
//
// # Guarantees
//
//   - The program never waits for the server. Two goroutines take and deliver profiles, and
//     [Config].QueueBytes bounds the waiting ones.
//   - Profiles are delivered oldest first.
//   - The exporter sends a profile again if the server cannot take it now: no connection, or a
//     status of 408, 429, 499 or 5xx other than 501. Pauses between attempts grow from 0.3 s to 3
//     s; the server may ask for longer ones. The profile waits until newer ones need its room in
//     the queue.
//   - A profile that the server failed at five times (429 without Retry-After, 499, 5xx) lets the
//     others go first. It is given up if the server fails at it again after it has taken others.
//   - A profile that the server refuses with another status is dropped at once.
//   - Each profile is counted once: sent, refused, unanswered, dropped for want of room, or
//     pending. See [profiling.ExporterStats].
//   - The server refuses no profile for its labels: the exporter makes names and values fit.
//   - The time of a profile is by the wall clock. Its length is by the monotonic clock. A wall
//     clock that jumps counts from the next profile on.
//   - The log has one line when delivery begins to fail, and one when it works again. A profile
//     that is refused for its content (400, 413, 422) has one line an hour for its kind and the
//     reason. The log never has passwords, values of headers, or users in addresses.
//   - After Shutdown no goroutine and no connection is left.
//
// # Limitations
//
//   - A profile without an answer in time is not sent again, since the server may have taken it. A
//     profile may arrive twice if the connection broke, or for 499, 502 and 504, where the server's
//     own answer is not certain. Pyroscope 1.12 keeps one of the two.
//   - Servers refuse profiles that are older than an hour, even if the queue kept them.
//
// # Variables
//
// A field of [Config] wins over its variable. Empty variables count as unset. The exporter logs a
// wrong application name, list of labels or interval, and uses the default. Other wrong variables
// are errors of [Start].
//
//	PYROSCOPE_SERVER_ADDRESS       ServerAddress
//	PYROSCOPE_APPLICATION_NAME     ApplicationName
//	PYROSCOPE_LABELS               Tags, as name=value,name=value
//	PYROSCOPE_BASIC_AUTH_USER      BasicAuthUser
//	PYROSCOPE_BASIC_AUTH_PASSWORD  BasicAuthPassword
//	PYROSCOPE_TENANT_ID            TenantID
//	PYROSCOPE_HTTP_HEADERS         Headers, as a JSON object of strings
//	PYROSCOPE_UPLOAD_INTERVAL      UploadInterval, as 15s
//	PERFLINE_LEAK_INTERVAL         LeakInterval, as 10m, or off
//
// PERFLINE_PROFILING=off, or any wrong value of it, forbids all profiling, this too.
package pyroscope
