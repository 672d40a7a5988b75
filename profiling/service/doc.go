// Package service serves sessions to who is outside the program: Scope Profiler 1.0 over
// gRPC, gRPC-Web and Connect, which is JSON over HTTP to all who have no client.
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
// Package profilerv1connect has a client for Go; proto/perfline/profiler/v1/profiler.proto
// is the schema for other languages, and documents every message. gRPC needs HTTP/2, which Go's
// server speaks without TLS only when told to: see the example. The other protocols are
// content with HTTP/1.1.
//
// # Scope Profiler
//
//	Scope Profiler 1.0                  here
//	StartProfiler                       StartProfiler; START_MODE_URL waits for a request to route
//	StopProfiler                        StopProfiler, with the first 1000 timelines
//	GetEvents                           GetEvents in pages; StreamEvents for all of them
//	ReleaseSession                      ReleaseSession
//	-                                   GetSession: the next timelines, or those of a stop that nobody waited for
//	-                                   ListSessions, WatchSession: how sessions are doing
//	windowID                            1, the program
//	frameID                             a request, the process, the garbage collector
//	EventType                           GENERIC and PROCESS, the others are a server's
//	type-specific data (Event 11 to 16) name and detail
//	BAD_REQUEST                         INVALID_ARGUMENT
//	required field                      0 is refused where it has no meaning
//
// Messages, fields and numbers are Scope's, in JSON too (sessionID, eventList); names of
// enumerators have the enumeration's name before them, as is usual in Protocol Buffers.
//
// # Who may
//
// Both have to agree, for reading and releasing as well as for starting:
//
//   - The recorder's policy, which allows nobody from outside unless sessions.Config.Policy or
//     PERFLINE_PROFILING=remote does.
//   - [Config].Authorize, or without it [Local]: only clients on the same machine come in.
//
// Pages of other origins than the service's own and [Config].TrustedOrigins may not call in any case.
//
// # What it guarantees
//
//   - gRPC, gRPC-Web and Connect give equal answers and errors.
//   - A message to a client is some 2 MB at most, whatever the program's names and attributes are,
//     and one from it 64 kB. Strings are cut at 1 kB, and are UTF-8.
//   - A client that goes away, or takes nothing for [Config].SendTimeout, ends the work that
//     is done for it, but not the session: that ends by itself at sessions.Config.MaxLength.
//   - How many sessions begin in a minute and how many streams there are at a time
//     is limited; see [Config]. What is refused for that says when to come again. Another handler of the
//     same recorder, as that of the live page, has limits of its own.
//   - Two queries at a time go through whole timelines, for virtual events or a stream; others wait,
//     and are given up with who asked. A stream has 50 000 virtual events at most.
//   - Streams end with UNAVAILABLE when their server shuts down.
//   - JSON with a field or a name that is not in the schema is refused, not half understood.
//
// # What it does not
//
//   - It does not encrypt: that is the server's matter, as are its timeouts for reading.
//   - Clients are not told apart: each sees, stops and releases the sessions of all, the
//     program's own included.
package service
