// Package pyroscope (stable) profiles the running program continuously and pushes the profiles to a
// Pyroscope server: CPU, heap, goroutines, mutex contention, blocking and leaked goroutines. CPU
// samples name the span that they ran under.
//
// perfline.Start starts the exporter when PYROSCOPE_SERVER_ADDRESS is set. In a set-up of your own,
// wrap the tracer provider: otherwise samples name no span.
//
//	provider := sdktrace.NewTracerProvider(sdktrace.WithResource(res))
//	otel.SetTracerProvider(profiling.WrapTracerProvider(provider))
//	config := pyroscope.Config{ServerAddress: "http://localhost:4040", Resource: res}
//	exporter, err := pyroscope.Start(ctx, config)
//	if err != nil && !errors.Is(err, profiling.ErrNotAllowed) { // PERFLINE_PROFILING=off
//		return err
//	}
//	…
//	err = provider.Shutdown(stopCtx) // after the servers
//	if exporter != nil {
//		err = errors.Join(err, exporter.Shutdown(stopCtx))
//	}
//
// The exporter shares the CPU profiler with the rest of package profiling: a [profiling.Profiler]
// and [profiling.ServeProfile] get all samples, too. Agents that call runtime/pprof themselves take
// the profiler away: remove them, such as pyroscope-go and otel-profiling-go. A program that
// replaces itself by syscall.Exec must call Shutdown first: signals of the CPU profiler end the
// next program.
//
// The application enables mutex and block profiles with runtime.SetMutexProfileFraction and
// runtime.SetBlockProfileRate. A heap profile is of the last garbage collection; the exporter
// forces none for it.
//
// # Leaked goroutines
//
// A goroutine has leaked if it waits for a channel, a mutex or another primitive of sync that no
// goroutine that can run may reach any more. Go 1.27 has a profile of leaked goroutines; Go 1.26
// has it only in a program built with GOEXPERIMENT=goroutineleakprofile. [Config].LeakInterval or
// PERFLINE_LEAK_INTERVAL enables the profile. Under other releases, nothing is taken, sent or
// logged. While no goroutine has leaked, nothing is sent. The profile misses leaks through global
// variables.
//
// The profile is off by default, because of its effects on the program:
//
//   - THE RUNTIME ENDS A PROGRAM THAT WAKES A GOROUTINE OF THE PROFILE, with "fatal error: bad
//     g->status in ready" (Go 1.27.4). A goroutine that only a weak.Pointer, a pointer in C or an
//     integer can still reach is in the profile, although the program may wake it.
//   - The runtime runs an extra garbage collection of the usual length: 6 ms with a heap of 10 MB,
//     0.2 s with 1 GB, on 2 cores.
//   - This collection stops the world more often: in total 1.4 ms with 10 000 waiting goroutines,
//     and 15 ms with 100 000. A chain of goroutines that wait for each other has a stop for each
//     link: 60 ms with 1000, and three times as long on a busy machine.
//
// Flush and Shutdown take no such profile.
//
// # The server
//
// The exporter calls push.v1.PusherService/Push by the Connect protocol, below the path of the
// server's address. Pyroscope 1.0 and newer supports this. The types of profiles have the names of
// pyroscope-go: process_cpu, memory, goroutines, mutex, block and goroutine_leak.
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
//   - Samples name only spans that OpenTelemetry's sampler kept. If the sampler keeps one trace in
//     a hundred, one sample in a hundred has a span.
//   - span_name is the name of the span at its end, for a request its route. A profile that is
//     pushed before the end has the name at the start. Each name makes a series: names must not
//     contain ids.
//
// # Guarantees
//
//   - The program never waits for the server. Two goroutines take and deliver profiles, and
//     [Config].QueueBytes bounds the pending ones. Profiles are delivered oldest first.
//   - The exporter retries a profile when there is no connection, or after a status of 408, 429,
//     499 or 5xx other than 501. Pauses between attempts grow from 0.3 s to 3 s; the server may ask
//     for longer pauses. The profile stays in the queue until newer profiles need its room.
//   - After five attempts that may have failed because of the profile (429 without Retry-After,
//     499, 5xx), the exporter delivers other profiles first. If the profile fails again after that,
//     it is dropped.
//   - A profile that the server refuses with another status is dropped at once.
//   - Each profile is counted once: delivered, refused, unanswered, dropped or pending. See
//     [profiling.ExporterStats].
//   - The server refuses no profile for its labels: the exporter makes names and values fit.
//   - The time of a profile is by the wall clock, its length by the monotonic clock. A jump of the
//     wall clock applies from the next profile on.
//   - The log has one line when delivery begins to fail, and one when it works again. A profile
//     that is refused for its content (400, 413, 422) has one line an hour for its kind and the
//     reason. The log never has passwords, values of headers, or users in addresses.
//   - After Shutdown no goroutine and no connection is left.
//
// # Limitations
//
//   - The exporter does not retry a profile without an answer in time, since the server may have
//     stored it. A profile may arrive twice if the connection broke, or after 499, 502 and 504,
//     where the server's own answer is not certain. Pyroscope 1.12 keeps one of the two.
//   - Servers refuse profiles that are older than an hour, even from the queue.
//
// # Variables
//
// A field of [Config] wins over its variable. Empty variables count as unset. After a wrong
// application name, list of labels or interval, the exporter logs the variable and uses the
// default. Other wrong variables are errors of [Start].
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
// PERFLINE_PROFILING=off, or any wrong value, forbids all profiling, this too.
package pyroscope
