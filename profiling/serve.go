package profiling

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/spanlabels"
)

// ServeProfile is /debug/pprof/profile beside other sessions: net/http/pprof's own
// fails while anything samples. Mount it in its place, where only those come who may
// see the program's code:
//
//	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
//	mux.HandleFunc("GET /debug/pprof/profile", profiling.ServeProfile)
//
// http.DefaultServeMux has net/http/pprof's from its import on: use another mux. Around
// ServeProfile a middleware would make a span as long as the profile.
//
// It answers with a CPU profile for go tool pprof, of as many seconds as the parameter
// of that name says, 1 to 3600, else of 30, or until it has four million samples; they are
// 10 ms of CPU time apart, and carry the labels of the local root span they ran for, of a
// request its server span. It stops when the client goes away. What it answers
// instead of a profile: 400 when the parameter is wrong, 403 when PERFLINE_PROFILING is
// off, 409 when other code had the CPU profiler all the time. When it had it for a part of the
// time, the profile's comments say for how long (go tool pprof -comments).
func ServeProfile(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	length := 30 * time.Second
	if v := r.FormValue("seconds"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > 3600 {
			serveError(w, http.StatusBadRequest, fmt.Sprintf("seconds=%.40q: must be a whole number between 1 and 3600", v))
			return
		}
		length = time.Duration(n) * time.Second
	}
	if _, err := environment(); err != nil {
		serveError(w, http.StatusForbidden, err.Error())
		return
	}
	full := make(chan struct{})
	// The profile's start and length are real time, whatever clock the request's timeline has.
	p, err := Start(observer.NewContext(r.Context(), observer.Default()), Options{
		SampleInterval:     10 * time.Millisecond,
		MaxBufferSize:      1 << 22, // 200 MB, or 10 minutes of 64 cores
		OnSampleBufferFull: func(*Profiler) { close(full) },
		Scope:              spanlabels.LocalRoots, // which costs spans the least
	})
	if err != nil {
		serveError(w, http.StatusInternalServerError, err.Error())
		return
	}
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
	_, _ = w.Write(body.Bytes()) // the client went away: nobody to tell
}

// extendDeadline gives a profile its time beside the server's WriteTimeout.
func extendDeadline(w http.ResponseWriter, r *http.Request, length time.Duration) {
	if s, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && s.WriteTimeout > 0 {
		// A ResponseWriter that cannot may be too slow, as without us.
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
