// Package service (may change) serves sessions to clients outside the program: Scope Profiler 1.0
// over gRPC, gRPC-Web and Connect. Connect is JSON over HTTP, for everything that has no client
// library.
//
//	recorder := sessions.NewRecorder(sessions.Config{Policy: profiling.Policy{Remote: true}})
//	defer recorder.Close()
//	mux.Handle(service.NewHandler(recorder, service.Config{}))
//
// Without a client:
//
//	P=http://localhost:8080/perfline.profiler.v1.ProfilerService
//	curl $P/StartProfiler -H 'Content-Type: application/json' -d '{"startMode": "START_MODE_IMMEDIATE"}'
//	curl $P/StopProfiler  -H 'Content-Type: application/json' -d '{"sessionID": 1}'
//	curl $P/GetEvents     -H 'Content-Type: application/json' -d '{"sessionID": 1, "timelineID": 1}'
//
// Package profilerv1connect has a client for Go. proto/perfline/profiler/v1/profiler.proto is the
// schema for other languages, and documents every message. gRPC needs HTTP/2. Go's server speaks
// HTTP/2 without TLS only if it is set up for that: see the example. The other protocols work over
// HTTP/1.1.
//
// # Scope Profiler
//
//	Scope Profiler 1.0                  here
//	StartProfiler                       StartProfiler; START_MODE_URL waits for a request to route
//	StopProfiler                        StopProfiler, with the first 1000 timelines.
//	GetEvents                           GetEvents in pages; StreamEvents for all of them.
//	ReleaseSession                      ReleaseSession
//	-                                   GetSession: the next timelines, or the session of an abandoned stop.
//	-                                   ListSessions, WatchSession: the states of sessions.
//	windowID                            1, the program.
//	frameID                             a request, the process, the garbage collector.
//	EventType                           GENERIC and PROCESS. The others are a server's.
//	type-specific data (Event 11 to 16) name and detail.
//	BAD_REQUEST                         an error detail, see below.
//	required field                      0 is refused where it has no meaning
//
// Messages, fields and numbers are Scope's, in JSON too (sessionID, eventList). The names of
// enumerators begin with the enumeration's name, as is usual in Protocol Buffers.
//
// # Errors
//
//	the recorder's error      code                  Scope's status
//	sessions.ErrInvalid       INVALID_ARGUMENT      BAD_REQUEST
//	sessions.ErrNotFound      NOT_FOUND             BAD_REQUEST
//	sessions.ErrInProgress    FAILED_PRECONDITION   BAD_REQUEST
//	sessions.ErrState         FAILED_PRECONDITION   BAD_REQUEST
//	sessions.ErrFull          RESOURCE_EXHAUSTED    BAD_REQUEST
//	sessions.ErrClosed        UNAVAILABLE           -
//	profiling.ErrNotAllowed   PERMISSION_DENIED     -
//
// Scope's status is the reason of a google.rpc.ErrorInfo of the domain "perfline.profiler.v1", in
// the details of the error.
//
// # Access
//
// Both of these must allow a call. That holds for reading and releasing, too:
//
//   - The recorder's policy. It refuses all clients outside the program unless
//     sessions.Config.Policy or PERFLINE_PROFILING=remote allows them.
//   - [Config].Authorize. Without it [guard.Local] allows clients on the same machine only.
//
// Pages of other origins than the service's own and [Config].TrustedOrigins may not call in any
// case.
//
// # Guarantees
//
//   - gRPC, gRPC-Web and Connect give equal answers and errors.
//   - A message to a client has about 2 MB at most, whatever the program's names and attributes
//     are. A message from a client has 64 kB at most. Strings are cut at 1 kB, and are UTF-8.
//   - The work for a client ends when the client disconnects, or reads nothing for
//     [Config].SendTimeout. The session goes on until sessions.Config.MaxLength.
//   - The starts per minute and the concurrent streams are limited, see [Config]. A refusal says
//     when to try again. Another handler of the same recorder, such as the live page's, has its own
//     limits.
//   - Two queries at a time read whole timelines, for virtual events or a stream. Others wait until
//     it is their turn or their client disconnects. A stream has 50 000 virtual events at most.
//   - Streams end with UNAVAILABLE when their server shuts down.
//   - JSON with a field or a name that the schema lacks is refused.
//
// # Limitations
//
//   - The service does not encrypt, and sets no timeouts for reading: the server does both.
//   - The service does not tell clients apart. Each client sees, stops and releases all sessions,
//     the program's own included.
package service
