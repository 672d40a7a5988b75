// Package live is a page that shows what the program does now, for those who have no
// backend or none at hand: the most recent requests and the slowest as waterfalls, the code
// that ran in them as flame graphs, sessions of the profiler, and what perfline lost. It is
// mounted as net/http/pprof is:
//
//	mux.Handle(live.Prefix, live.Handler(pl, live.Config{}))
//
// where pl is what perfline.Start returned, outside of bridgehttp.Middleware, or its own
// requests are among those it shows. Everything it needs is in the program; nothing is
// loaded from elsewhere.
//
// # What it guarantees
//
//   - Without Config.Authorize it answers to clients on the same machine only: see [guard.Local].
//     Pages of other origins can link to it, and neither read it nor do anything with it, nor even
//     have it work.
//   - Sessions are neither shown nor started, stopped or released unless the recorder's
//     policy or PERFLINE_PROFILING=remote allows those from outside.
//   - Text from outside is cut, and shown as text: it is never markup, and what is invisible
//     in it is shown as codes. The browser is told to run nothing but the page's own scripts
//     (Content-Security-Policy).
//   - A GET changes nothing, and a HEAD does no work.
//   - Two flame graphs or files are made at a time; others wait some seconds, and are told then to come
//     again. What nobody waits for is given up, and a client that takes nothing for 10 s is dropped. What
//     is told of a request is 2 MB at most.
//   - A page that is open costs a goroutine and a list of requests twice a second, when it is
//     visible; there are 16 such at most. The stream ends when the server shuts down.
//
// # What it does not
//
//   - It keeps nothing but the requests that it listed or opened last, some hundreds, so that
//     their links work: what it shows is what requests.Recent and sessions.Recorder keep.
//   - Its limits are its own: where profiling/service serves the same recorder on another path, ten
//     sessions may begin in a minute by each of them.
package live
