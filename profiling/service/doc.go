// Package service (may change) serves sessions to clients outside the program: Scope Profiler 1.0
// over gRPC, gRPC-Web and Connect. Connect is JSON over HTTP, without a client library.
//
//	recorder := sessions.NewRecorder(sessions.Config{Policy: profiling.Policy{Remote: true}})
//	defer recorder.Close()
//	mux.Handle(service.NewHandler(recorder, service.Config{}))
//
// From a shell:
//
//	P=http://localhost:8080/perfline.profiler.v1.ProfilerService
//	J='Content-Type: application/json'
//	curl $P/StartProfiler -H "$J" -d '{"startMode": "START_MODE_IMMEDIATE"}'
//	curl $P/StopProfiler  -H "$J" -d '{"sessionID": 1}'
//	curl $P/GetEvents     -H "$J" -d '{"sessionID": 1, "timelineID": 1}'
//
// Package profilerv1connect is a client for Go. proto/perfline/profiler/v1/profiler.proto is the
// schema for other languages, and documents every message. gRPC needs HTTP/2. Go's server speaks
// HTTP/2 without TLS only with the setting of the example. The other protocols work over HTTP/1.1.
//
// # Scope Profiler
//
//	Scope Profiler 1.0                  here
//	StartProfiler                       StartProfiler; START_MODE_URL waits for a request to route
//	StopProfiler                        StopProfiler, with the first 1000 timelines.
//	GetEvents                           GetEvents in pages; StreamEvents for all pages.
//	ReleaseSession                      ReleaseSession
//	-                                   GetSession: more timelines; an abandoned stop's session.
//	-                                   ListSessions, WatchSession: the states of sessions.
//	windowID                            1, the program.
//	frameID                             a request, the process, the garbage collector.
//	EventType                           GENERIC and PROCESS, and types of a server.
//	type-specific data (Event 11 to 16) name and detail.
//	BAD_REQUEST                         an error detail, see below.
//	required field                      0 is refused where 0 has no meaning
//
// Messages, fields and numbers are the Scope Profiler's, in JSON too (sessionID, eventList). The
// names of enumerators begin with the enumeration's name, as is usual in Protocol Buffers.
//
// # Errors
//
//	the recorder's error      code                  Scope Profiler's status
//	sessions.ErrInvalid       INVALID_ARGUMENT      BAD_REQUEST
//	sessions.ErrNotFound      NOT_FOUND             BAD_REQUEST
//	sessions.ErrInProgress    FAILED_PRECONDITION   BAD_REQUEST
//	sessions.ErrState         FAILED_PRECONDITION   BAD_REQUEST
//	sessions.ErrFull          RESOURCE_EXHAUSTED    BAD_REQUEST
//	sessions.ErrClosed        UNAVAILABLE           -
//	profiling.ErrNotAllowed   PERMISSION_DENIED     -
//
// The error's details carry the Scope Profiler's status as the reason of a google.rpc.ErrorInfo.
// The domain of the ErrorInfo is "perfline.profiler.v1".
//
// # Access
//
// The policy and the guard must both allow a call. Reading and releasing need permission, too:
//
//   - The recorder's policy refuses all clients outside the program unless sessions.Config.Policy
//     or PERFLINE_PROFILING=remote allows remote clients.
//   - [Config].Authorize guards the handler. The default, [guard.Local], allows local clients only.
//
// Pages may call only from the service's own origin and from [Config].TrustedOrigins.
//
// # Guarantees
//
//   - gRPC, gRPC-Web and Connect give equal answers and errors.
//   - A message to a client has about 2 MB at most, for any names and attributes of the program. A
//     message from a client has 64 kB at most. Strings are UTF-8, and are cut at 1 kB.
//   - The work for a client ends when the client disconnects, or reads nothing for 30
//     seconds. The session goes on until sessions.Config.MaxLength.
//   - Ten sessions a minute may start, and 16 streams may run at a time. A refusal says
//     when to try again. Each handler of a recorder has its own limits.
//   - Two queries at a time read whole timelines, for virtual events or a stream. Further queries
//     wait, until their client disconnects. A stream sends up to 50 000 virtual events.
//   - Streams end with UNAVAILABLE when their server shuts down.
//   - JSON with a field or a name that the schema lacks is refused.
//
// # Limitations
//
//   - The service does not encrypt, and sets no timeouts for reading: the server does both.
//   - The service does not tell clients apart: each may stop and release all sessions of the
//     program.
package service
