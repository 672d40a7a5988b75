package live

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/perfline/perfline/live/internal/view"
	"github.com/perfline/perfline/profiling/sessions"
	"github.com/perfline/perfline/waits"
)

// writeFile answers with the file of the format in the path. subject and name are for people: "a
// session" and "session-7".
func writeFile[T any](h *handler, w http.ResponseWriter, r *http.Request, all []view.Format[T],
	of T, subject, name string) {
	id := r.PathValue("format")
	i := slices.IndexFunc(all, func(f view.Format[T]) bool { return f.ID == id })
	if i < 0 {
		refuse(w, http.StatusNotFound, subject+" cannot be had as "+view.Shown(id))
		return
	}
	f := &all[i]
	if err := f.Missing(of); err != nil {
		refuse(w, http.StatusNotFound, err.Error())
		return
	}
	if r.Method != http.MethodHead {
		done, ok := h.working(w, r)
		if !ok {
			return
		}
		defer done()
	}
	attach(w, f.ContentType, name+"."+f.Extension)
	if headOnly(w, r) {
		return
	}
	if f.Write(w, of) != nil {
		panic(http.ErrAbortHandler) // or the client would take half of it for all
	}
}

// attach has a browser save what comes.
func attach(w http.ResponseWriter, contentType, name string) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
}

// sessionFile answers with a file of a session.
func (h *handler) sessionFile(w http.ResponseWriter, r *http.Request) {
	s, err := h.session(r.PathValue("id"))
	if err != nil {
		refuseFor(w, err)
		return
	}
	of := view.RecordedSession{Session: s, Results: h.results(s)}
	writeFile(h, w, r, view.SessionFormats, of, "a session", fmt.Sprintf("session-%d", s.ID()))
}

// requestFile answers with a file of a request.
func (h *handler) requestFile(w http.ResponseWriter, r *http.Request) {
	q, err := h.find(r.PathValue("trace"), r.PathValue("span"))
	if err != nil {
		refuseFor(w, err)
		return
	}
	writeFile(h, w, r, view.RequestFormats, h.sampled(q), "a request", "request-"+
		q.TraceID().String())
}

// results returns what the waits recorder has of the requests in a session.
func (h *handler) results(s *sessions.Session) []*waits.Request {
	if h.waitsRecorder == nil {
		return nil
	}
	var all []*waits.Request
	for _, tl := range s.Timelines() {
		if tl.Lane > 0 || !tl.SpanID.IsValid() {
			continue
		}
		if r, ok := h.waits.Result(tl.TraceID, tl.SpanID); ok {
			all = append(all, r)
		}
	}
	return all
}
