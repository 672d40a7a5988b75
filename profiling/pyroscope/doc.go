// Package pyroscope profiles the running program all the time and pushes what it finds
// to a Pyroscope server: CPU with the span of every sample, heap, goroutines, mutex
// contention and blocking.
//
//	pusher, err := pyroscope.Start(ctx, pyroscope.Config{ServerAddress: "http://localhost:4040", ApplicationName: "shop"})
//	if err != nil {
//		return err
//	}
//	defer pusher.Shutdown(ctx)
//
// CPU profiles are the parts of one session of package profiling, so that others may
// profile meanwhile: sessions on demand and /debug/pprof/profile see as much as the
// server does. Mutex and block profiles are what the application switches on with
// runtime.SetMutexProfileFraction and runtime.SetBlockProfileRate; without, they are not
// sent. Heap profiles are of the last garbage collection; none is forced.
//
// # What it guarantees
//
//   - The program never waits for the server. Two goroutines take profiles and deliver
//     them; what waits is bounded by [Config].QueueSize.
//   - Profiles are delivered oldest first. Those the server cannot take now (no
//     connection, 408, 429, 5xx) are sent again after a pause that doubles from half a
//     second to 30 s, or that the server asks for, until there is no room left for them.
//     One that failed five times lets the others go first, and is given up if they fare
//     better, or if its answers were 422, with which Pyroscope 1.12 limits rates.
//   - Each profile is counted once: sent, refused, unanswered, given up for want of room,
//     or pending; see [Stats].
//   - No label, whatever it holds, makes the server refuse a profile: names and values
//     are made fit for it.
//   - A profile's time is by the wall clock when it was taken, and its length by the
//     monotonic clock: a clock that jumps counts from then on.
//   - Logged is when delivery begins to fail and when it works again, not every failure.
//     Passwords, header values and what an address has before its host are never logged.
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
// A field of [Config] wins over its variable; empty ones count as unset.
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
// PERFLINE_PROFILING=off forbids it, as it does all profiling.
package pyroscope
