// Package pyroscope profiles the running program all the time and pushes what it finds
// to a Pyroscope server: CPU with the span of every sample, heap, goroutines, mutex
// contention and blocking.
//
// perfline.Start does all of it when PYROSCOPE_SERVER_ADDRESS is set. In a set-up of your
// own, spans have to tell the profiler about themselves, or samples name none:
//
//	provider := sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithSpanProcessor(processor))
//	otel.SetTracerProvider(profiling.NewTracerProvider(provider, spanlabels.LocalRoots))
//	pusher, err := pyroscope.Start(ctx, pyroscope.Config{ServerAddress: "http://localhost:4040", Resource: res})
//	if err != nil && !errors.Is(err, profiling.ErrNotAllowed) { // that is PERFLINE_PROFILING=off: go on without
//		return err
//	}
//	…
//	err = errors.Join(provider.ForceFlush(stopCtx), provider.Shutdown(stopCtx)) // after the servers
//	if pusher != nil {
//		err = errors.Join(err, pusher.Shutdown(stopCtx))
//	}
//
// CPU profiles are the parts of one session of package profiling, so that others may
// profile meanwhile: sessions on demand and profiling.ServeProfile see as much as the
// server does. An agent that calls runtime/pprof itself, as pyroscope-go's, takes the
// profiler away: remove it, and otel-profiling-go.
//
// Mutex and block profiles are what the application switches on with
// runtime.SetMutexProfileFraction and runtime.SetBlockProfileRate; without, they are not
// sent. Heap profiles are of the last garbage collection; none is forced.
//
// # Labels
//
//   - Of all profiles: service_name, which is the application's name; service_namespace,
//     service_version, service_instance_id and deployment_environment_name, as the resource
//     has them; tags; and __session_id__, new with each start, as service.instance.id is
//     unless OTEL_RESOURCE_ATTRIBUTES or a tag pins it.
//   - Of samples of the CPU, and but for the ids of goroutines: span_id, span_name and
//     those that the program set with pprof.Do. Only spans that OpenTelemetry's sampler
//     kept are known: with one trace in a hundred, so has one sample in a hundred a span.
//   - span_name is the name that the span ended with, for a request its route. What is
//     uploaded before the span ends has the name that it began with. Each name makes a
//     series: names must not hold ids.
//
// # What it guarantees
//
//   - The program never waits for the server. Two goroutines take profiles and deliver
//     them; what waits is bounded by [Config].QueueSize.
//   - Profiles are delivered oldest first. A profile that the server cannot take now (no
//     connection, 408, 429, 5xx) is sent again after a pause, which is 0.3 s at first and grows
//     to 3 s, or which the server asks for. It waits until the queue has no room left for it.
//   - A profile that the server failed at five times (5xx) lets the others go first. It is given
//     up if the server fails at it again after it has taken others. A profile that was refused five
//     times for its rate, which Pyroscope 1.12 answers with 422, is given up, too.
//   - A profile that is refused otherwise (other 3xx and 4xx) is dropped at once.
//   - Each profile is counted once: sent, refused, unanswered, given up for want of room,
//     or pending; see [Stats].
//   - No label, whatever it holds, makes the server refuse a profile: names and values
//     are made fit for it.
//   - A profile's time is by the wall clock when it was taken, and its length by the
//     monotonic clock: a clock that jumps counts from then on.
//   - The log has a line when delivery begins to fail, and one when it works again, not one for
//     every failure. A profile that is refused for what it is (400, 413, 422) has a line an hour
//     for its kind and the reason. Passwords, header values and the part of an address before its
//     host are never logged.
//   - After [Pusher.Shutdown] nothing of it runs.
//
// It does not guarantee that a profile arrives once only. One whose answer does not come in
// time is not sent again, since the server may have taken it. One whose connection breaks is,
// and arrives twice in the rare case that the server had taken it before; Pyroscope 1.12 keeps
// one of them. Servers refuse profiles that are older than an hour, whatever the queue could
// hold.
//
// # Variables
//
// A field of [Config] wins over its variable. Empty variables count as unset. A wrong
// application name, list of labels or interval is logged, and its default counts. Other wrong
// variables are errors of [Start].
//
//	PYROSCOPE_SERVER_ADDRESS       ServerAddress
//	PYROSCOPE_APPLICATION_NAME     ApplicationName
//	PYROSCOPE_LABELS               Tags, as name=value,name=value
//	PYROSCOPE_BASIC_AUTH_USER      BasicAuthUser
//	PYROSCOPE_BASIC_AUTH_PASSWORD  BasicAuthPassword
//	PYROSCOPE_TENANT_ID            TenantID
//	PYROSCOPE_HTTP_HEADERS         Headers, as a JSON object of strings
//	PYROSCOPE_UPLOAD_INTERVAL      UploadInterval, as 15s
//
// PERFLINE_PROFILING=off forbids it, as it does all profiling. So does a wrong value.
package pyroscope
