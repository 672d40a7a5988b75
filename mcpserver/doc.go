// Package mcpserver (may change) gives coding agents the facts of the live page by the Model
// Context Protocol: routes with their figures, requests with their causes, comparisons, profiles,
// counts and the runtime. It serves streamable HTTP. Mount it beside the page:
//
//	root := http.NewServeMux()
//	root.Handle(live.Prefix+"mcp", mcpserver.Handler(pl, mcpserver.Config{}))
//	root.Handle("/", live.Handler(pl, live.Config{Next: bridgehttp.Middleware(mux)}))
//
// where pl is what perfline.Start returned. An agent gets the URL
// http://localhost:8080/debug/perfline/mcp. The package is a module of its own, because it needs
// the protocol's SDK: go get github.com/perfline/perfline/mcpserver.
//
// # Tools
//
//	list_routes       routes with rate, failed requests, p50, p95, p99
//	list_requests     requests in memory, by route, status, duration, attribute and text
//	get_request       one request: spans, marks, waits, and the cause of its duration in a sentence
//	get_span          all attributes and marks of a span
//	compare_requests  a slow request beside a usual one, by span, state and function
//	profile_route     a recording of some seconds, and the functions that use the CPU, with file and line
//	get_counts        perfline's counts and losses
//	get_runtime       CPU, memory, garbage collection and scheduler latency of the last minutes
//	get_recorder      the state of the flight recorder, which finds the causes
//	arm_recorder      arms it for some seconds
//
// # Guarantees
//
//   - Without Config.Authorize, it answers only clients on the same machine: see [guard.Local].
//     With Authorize, it has only the tools of [guard.Summary] unless Config.Data is
//     [guard.Everything].
//   - profile_route and arm_recorder need the permission for remote sessions: profiling.Policy, or
//     PERFLINE_PROFILING=remote. All other tools only read. arm_recorder never shortens the time
//     for which the recorder is armed.
//   - Text from the program and its clients is between ‹ and ›, shortened, with codes for
//     characters that are invisible or look like these two. All other text is perfline's own.
//     Suggestions of further calls contain identifiers and no text from outside.
//   - An answer has at most 16 KiB. Lists have pages. An error names the value and the rule, and a
//     call that helps.
//   - At most 8 calls are in progress at a time, and each takes a minute at most. A call ends when
//     its client leaves and when the server shuts down. A batch of calls is refused.
//   - A panic in a tool is logged, and is an error for its caller.
//   - Without calls, nothing of it runs.
//
// # Limitations
//
//   - It shows what requests.Recent and the other parts keep in memory. The requests that answers
//     named last stay, at most 256 and 4 MiB.
//   - A model may still follow text that it was told not to follow. Give an agent no more rights
//     than its task needs.
package mcpserver
