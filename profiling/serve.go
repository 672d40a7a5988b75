package profiling

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/perfline/perfline/internal/permission"
	"github.com/perfline/perfline/observer"
)

// serving limits the profiles that ServeProfile takes at a time. A profile may need 200 MB.
var serving = make(chan struct{}, 2)

// ServeProfile serves /debug/pprof/profile while other profilers may run. The handler of
// net/http/pprof fails while another profiler runs. Mount ServeProfile instead of that handler.
// Allow only clients that may read the program's code:
//
//	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
//	profile := guard.Guard{}.Handler(http.HandlerFunc(profiling.ServeProfile))
//	mux.Handle("GET /debug/pprof/profile", profile)
//
// The import of net/http/pprof registers a handler with http.DefaultServeMux. Therefore use another
// mux for ServeProfile. Mount ServeProfile outside the tracing middleware. Otherwise the middleware
// creates a span as long as the profile.
//
// The response is a CPU profile for go tool pprof. The query parameter seconds is the length of the
// profile in seconds, from 1 to 3600. The default is 30. The profile ends earlier after four
// million samples, or when the client disconnects. The sample interval is 10 ms of CPU time. The
// weights of samples are not corrected, as in runtime/pprof. The samples carry the labels of the
// local root span. For a request, this span is the server span.
//
// The profile contains functions of all modules. [Policy] does not apply. A profile may use 200 MB,
// so at most two profiles run at a time.
//
// The status codes of errors are:
//
//   - 400 for a wrong parameter.
//   - 403 if PERFLINE_PROFILING is off, or if a page of another site caused the request.
//   - 405 for another method than GET.
//   - 409 while two other profiles run, or if other code used the CPU profiler all the time.
//   - 500 for any other failure.
//
// Other code may use the CPU profiler for a part of the time. The profile contains no samples of
// this part. A comment of the profile then contains the length of this part. Print the comments
// with go tool pprof -comments.
func ServeProfile(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		serveError(w, http.StatusMethodNotAllowed,
			fmt.Sprintf("method %.40q: must be GET", r.Method))
		return
	}
	// A page that opens the address in a window navigates, which guards allow: links should work.
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		serveError(w, http.StatusForbidden, "a page of another site may not start a profile")
		return
	}
	length := 30 * time.Second
	if v := r.URL.Query().Get("seconds"); v != "" { // a form would be read from the body
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > 3600 {
			serveError(w, http.StatusBadRequest,
				fmt.Sprintf("seconds=%.40q: must be a whole number between 1 and 3600", v))
			return
		}
		length = time.Duration(n) * time.Second
	}
	if err := permission.Check(); err != nil {
		serveError(w, http.StatusForbidden, err.Error())
		return
	}
	select {
	case serving <- struct{}{}:
		defer func() { <-serving }()
	default:
		w.Header().Set("Retry-After", "30")
		serveError(w, http.StatusConflict,
			fmt.Sprintf("%d profiles are being taken, which is the most at a time: try again later",
				cap(serving)))
		return
	}
	// The profile's start and length are real time, whatever clock the request's timeline has.
	p, err := Start(observer.NewContext(r.Context(), observer.ProcessTimeline()), Options{
		MaxBufferSize: 1 << 22, // 200 MB, or 10 minutes of 64 cores
	})
	if err != nil {
		serveError(w, http.StatusInternalServerError, err.Error())
		return
	}
	full := make(chan struct{})
	p.OnSampleBufferFull(func() { close(full) })
	extendDeadline(w, r, length)
	done := time.NewTimer(length)
	defer done.Stop()
	select {
	case <-done.C:
	case <-full:
	case <-r.Context().Done():
	}
	t, err := p.Stop()
	if r.Context().Err() != nil {
		return
	}
	if errors.Is(err, ErrBusy) {
		serveError(w, http.StatusConflict, err.Error())
		return
	}
	var body bytes.Buffer
	if err == nil {
		err = t.WritePprof(&body)
	}
	if err != nil {
		serveError(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="profile"`)
	_, _ = w.Write(body.Bytes()) // an error means that the client went away
}

// extendDeadline extends the server's WriteTimeout by the length of the profile. net/http/pprof
// extends it in the same way: without that, the response would come too late.
func extendDeadline(w http.ResponseWriter, r *http.Request, length time.Duration) {
	if s, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && s.WriteTimeout > 0 {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.WriteTimeout + length))
	}
}

// serveError answers with an error that go tool pprof shows.
func serveError(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Go-Pprof", "1")
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, text)
}
