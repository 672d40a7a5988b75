package live

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/perfline/perfline/live/internal/view"
	"github.com/perfline/perfline/profiling/sessions"
	"github.com/perfline/perfline/waits"
)

// writeFile answers with a file of content, in the format that the path names. subject is for
// errors, such as "a session", and name for the file, such as "session-7".
func writeFile[T any](
	h *handler, w http.ResponseWriter, r *http.Request, formats []view.Format[T], content T,
	subject, name string,
) {
	id := r.PathValue("format")
	i := slices.IndexFunc(formats, func(f view.Format[T]) bool { return f.ID == id })
	if i < 0 {
		refuse(w, http.StatusNotFound, subject+" cannot be had as "+view.Shown(id))
		return
	}
	f := &formats[i]
	if err := f.Missing(content); err != nil {
		refuse(w, http.StatusNotFound, err.Error())
		return
	}
	if r.Method != http.MethodHead {
		done, ok := h.startWork(w, r)
		if !ok {
			return
		}
		defer done()
	}
	w.Header().Set("Content-Type", f.ContentType)
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+"."+f.Extension+`"`)
	if headOnly(w, r) {
		return
	}
	if f.Write(w, content) != nil {
		panic(http.ErrAbortHandler) // the client must not take a part for the whole file
	}
}

func (h *handler) sessionFile(w http.ResponseWriter, r *http.Request) {
	s, err := h.session(r.PathValue("id"))
	if err != nil {
		refuseFor(w, err)
		return
	}
	recorded := view.RecordedSession{Session: s, Results: h.results(s)}
	name := fmt.Sprintf("session-%d", s.ID())
	writeFile(h, w, r, view.SessionFormats, recorded, "a session", name)
}

func (h *handler) requestFile(w http.ResponseWriter, r *http.Request) {
	q, err := h.find(r.PathValue("trace"), r.PathValue("span"))
	if err != nil {
		refuseFor(w, err)
		return
	}
	name := "request-" + q.TraceID().String()
	writeFile(h, w, r, view.RequestFormats, h.sampled(q), "a request", name)
}

// results returns the waits recorder's results for the requests in a session.
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
