// Package mcpserver (may change) serves the facts of the live page to coding agents, over the Model
// Context Protocol: routes with their figures, requests with their causes, comparisons, profiles,
// counts and the runtime. The transport is streamable HTTP. Mount the handler beside the page:
//
//	root := http.NewServeMux()
//	root.Handle(live.Prefix+"mcp", mcpserver.Handler(pl, mcpserver.Config{}))
//	root.Handle("/", live.Handler(pl, live.Config{Next: bridgehttp.Middleware(mux)}))
//
// pl is the result of perfline.Start. Agents connect to http://localhost:8080/debug/perfline/mcp.
// The package is a separate module, because it requires the protocol's SDK: run
// go get github.com/perfline/perfline/mcpserver.
//
// # Tools
//
//	list_routes       routes with rate, failed requests, p50, p95, p99; work without a request
//	list_requests     requests in memory, by route, status, duration, attribute and text
//	get_request       spans, marks and waits of a request, and the cause of its duration
//	get_span          all attributes and marks of a span
//	compare_requests  a slow request beside a usual one, by span, state and function
//	profile_route     records for some seconds, and lists the functions that use the CPU
//	get_counts        the findings of perfline.Check, and perfline's counts and losses
//	get_runtime       CPU, memory, garbage collection and scheduler latency of the last minutes
//	get_deaths        how earlier processes ended, and their open requests
//	get_waits_state   the state of the waits recorder, which finds the causes
//	arm_waits         arms the waits recorder for some seconds
//
// # Guarantees
//
//   - Without Config.Authorize, the handler serves only clients on the same machine: see
//     [guard.Local]. With Authorize, the handler has only the tools of [guard.Summary] unless
//     Config.Data is [guard.Everything].
//   - profile_route and arm_waits need the permission for remote sessions: profiling.Policy, or
//     PERFLINE_PROFILING=remote. All other tools only read. arm_waits never shortens the time for
//     which the waits recorder is armed.
//   - Text from the program and its clients is quoted by ‹ and ›, and shortened. Codes replace
//     invisible characters and characters that look like these two. All other text is perfline's
//     own. Suggested calls contain ids and no text from outside.
//   - The first line of an answer names the process: service.instance.id, host.name and the start.
//     Behind a load balancer, each call may reach another process.
//   - An answer has at most 16 KiB. Long lists have pages. An error names the value and the rule,
//     and suggests a call that helps.
//   - At most 8 calls run at a time, for at most a minute each. A call ends when its client leaves
//     and when the server shuts down. A batch of calls is refused.
//   - A panic in a tool is logged. The caller gets an error.
//   - Without calls, the handler does no work.
//
// # Limitations
//
//   - The tools show what requests.Recent and other parts of perfline keep in memory. The handler
//     also keeps the requests that answers named last, at most 256 and 4 MiB.
//   - A model may follow text that it was told not to follow. Give an agent no more rights than its
//     task needs.
package mcpserver
