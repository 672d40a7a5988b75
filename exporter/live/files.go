package live

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/perfline/perfline/exporter/viewers"
	"github.com/perfline/perfline/profiling/sessions"
)

var errNoSamples = errors.New("this session took no samples")

// A format is a file that a session can be had as.
type format struct {
	contentType, extension string
	samples                bool // is of these alone
	write                  func(io.Writer, *sessions.Session) error
}

// formats are by the last element of their paths.
var formats = map[string]format{
	"firefox":    {"application/json", "firefox.json", false, viewers.WriteFirefox},
	"speedscope": {"application/json", "speedscope.json", false, viewers.WriteSpeedscope},
	"json": {"application/json", "json", true, func(w io.Writer, s *sessions.Session) error {
		return s.Trace().WriteJSON(w)
	}},
	"pprof": {"application/octet-stream", "pb.gz", true, func(w io.Writer, s *sessions.Session) error {
		return s.Trace().WritePprof(w)
	}},
}

func (h *handler) download(w http.ResponseWriter, r *http.Request) {
	s := h.kept(w, r.PathValue("id"))
	if s == nil {
		return
	}
	name := r.PathValue("format")
	f, ok := formats[name]
	if !ok {
		refuse(w, http.StatusNotFound, "a session cannot be had as "+shown(name))
		return
	}
	if f.samples && s.Trace() == nil {
		refuse(w, http.StatusNotFound, errNoSamples.Error())
		return
	}
	if r.Method != http.MethodHead {
		done, ok := h.working(w, r)
		if !ok {
			return
		}
		defer done()
	}
	attach(w, f.contentType, fmt.Sprintf("session-%d.%s", s.ID(), f.extension))
	if headOnly(w, r) {
		return
	}
	if f.write(w, s) != nil {
		panic(http.ErrAbortHandler) // or the client would take half of it for all
	}
}
