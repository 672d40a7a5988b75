// Package live (stable) serves a diagnostic page from inside the program. The page shows the newest
// and the slowest requests as waterfalls, the causes of their durations, and flame graphs of their
// code. It also shows the profiler's sessions and perfline's losses. The page needs no backend and
// loads nothing from other servers:
//
//	root := live.Handler(pl, live.Config{Next: bridgehttp.Middleware(mux)})
//	http.ListenAndServe("localhost:8080", root)
//
// pl is the result of perfline.Start. Next serves all other paths. The page can also be mounted on
// a mux, like net/http/pprof. Mount the page outside of bridgehttp.Middleware: otherwise the page
// lists its own requests.
//
//	root.Handle(live.Prefix, live.Handler(pl, live.Config{}))
//
// # Guarantees
//
//   - Without Config.Authorize, the page answers only clients on the same machine: see
//     [guard.Local]. Foreign web pages may link to the page, but cannot read or control it.
//   - With Config.Authorize, the page serves a summary unless Config.Data is [guard.Everything].
//     A summary includes the figures of routes, the runtime's figures, perfline's counts, and the
//     names of routes and of types of entries. A summary also names the process: host.name and
//     service.instance.id. A summary includes no trace id, other attribute, mark, text of a client,
//     session, profile or stack: their paths answer 404.
//   - docs/page-json.md and docs/page.schema.json describe all fields of the data. The version is
//     in the paths. Within v1, paths and fields are only added.
//   - The stream and a header of each answer name the handler's instance and the process, so that a
//     page notices a restart of the program, and another process behind a load balancer.
//   - The page shows the findings of perfline.Check, at most ten seconds old.
//   - The page shows, starts, stops and releases sessions, and arms and disarms the waits recorder,
//     only if the policy of sessions or PERFLINE_PROFILING=remote allows remote sessions. All
//     clients of the page see the waits recorder's results.
//   - A click finds leaked goroutines, with Go 1.27 and if remote sessions are allowed. The page
//     shows their number, and their stacks in modules that the policy shows. Each search collects
//     garbage; searches are at least 10 s apart. Package pyroscope documents the risk.
//   - With perfline.Config.BlackBox, the page shows how earlier processes of the program ended, the
//     Go runtime's text, and the open requests. Functions of modules that the policy hides are left
//     out. A summary includes only the kind, the process id, the time, and the number of requests.
//   - Text of clients is shortened, and shown as text instead of markup, with codes for invisible
//     characters. The Content-Security-Policy allows only the page's own scripts.
//   - A GET changes nothing. A HEAD does no work.
//   - The handler builds two flame graphs or files at a time. Further requests wait for 3 s, and
//     then get status 503. Work stops when its client leaves. A client that reads nothing for 10 s
//     is disconnected. The data of one request has at most 2 MB.
//   - A handler samples the runtime every 5 s, also while no page is open, and once a minute while
//     the program sleeps. Sampling ends with the pipeline.
//   - A visible page costs a goroutine, and a list of requests twice a second. At most 16 pages
//     have a stream. The streams end when the server shuts down.
//
// # Limitations
//
//   - The page shows what requests.Recent and sessions.Recorder keep in memory. The page itself
//     keeps some hundred requests that it listed or opened last, so that their links work.
//   - Limits apply to one handler: if profiling/service serves the same recorder on another path,
//     each of the two handlers starts up to ten sessions a minute.
package live
