// Package live (stable) is a page inside the program. It shows the most recent and the slowest
// requests as waterfalls, what they waited for, and the code that ran in them as flame graphs. It
// also has sessions of the profiler, and perfline's losses. It needs no backend, and loads nothing
// from elsewhere:
//
//	http.ListenAndServe("localhost:8080", live.Handler(pl, live.Config{Next: bridgehttp.Middleware(mux)}))
//
// pl is what perfline.Start returned. Next serves all other paths. The page can also be mounted
// like net/http/pprof, outside of bridgehttp.Middleware, or the page's own requests are among those
// that the page shows:
//
//	root.Handle(live.Prefix, live.Handler(pl, live.Config{}))
//
// # Guarantees
//
//   - Without Config.Authorize it answers only clients on the same machine: see [guard.Local].
//     Pages of other origins can link to it. They cannot read it or make it work.
//   - With Config.Authorize, it serves a summary unless Config.Data is [guard.Everything]. A
//     summary has routes with their figures, the runtime's figures and perfline's counts. It has no
//     trace id, attribute, mark, text of a client, recording, profile or stack. Other paths answer
//     404. Names of routes and of types of entries are in it.
//   - docs/page-json.md has all fields of the data. The path has its version: within v1, only paths
//     and fields are added.
//   - The stream names the instance of the handler, so that a page notices a restart of the
//     program.
//   - The page shows, starts, stops and releases sessions only if the recorder's policy or
//     PERFLINE_PROFILING=remote allows remote sessions. The same holds for arming and disarming the
//     recorder of what slow requests waited for. It shows the results of that recorder to all its
//     clients.
//   - A click looks for leaked goroutines, where the runtime can (Go 1.27) and remote sessions are
//     allowed. It shows their number and stacks, of the modules that the policy shows. It makes a
//     garbage collection, at most every 10 s. Package pyroscope documents the risk.
//   - Text of clients is shortened, and shown as text, never as markup. Invisible characters
//     are shown as codes. The Content-Security-Policy allows only the page's own scripts.
//   - A GET changes nothing, and a HEAD does no work.
//   - The handler makes two flame graphs or files at a time. Further requests wait some
//     seconds, and then get the answer to retry. Work ends when its client leaves. A client
//     that reads nothing for 10 s is disconnected. The data of one request has at most 2 MB.
//   - A handler begins the history of the runtime's figures: one sample every 5 s, also while no
//     page is open, and one a minute while the program sleeps. It ends with the pipeline.
//   - A visible page costs a goroutine and a list of requests twice a second. At most 16
//     pages have a stream. The stream ends when the server shuts down.
//
// # Limitations
//
//   - It keeps nothing but the requests that it listed or opened last, some hundreds, so that
//     their links work: what it shows is what requests.Recent and sessions.Recorder keep.
//   - Its limits are its own: where profiling/service serves the same recorder on another path, ten
//     sessions may begin in a minute by each of them.
package live
