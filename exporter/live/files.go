package live

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/profiling/sessions"
)

var errNoSamples = errors.New("this session took no samples")

// A format is a file that a session can be had as.
type format struct {
	contentType, extension string
	write                  func(io.Writer, *sessions.Session) error
}

// formats are by the last element of their paths.
var formats = map[string]format{
	"firefox":    {"application/json", "firefox.json", exporter.WriteFirefox},
	"speedscope": {"application/json", "speedscope.json", exporter.WriteSpeedscope},
	"json": {"application/json", "json", func(w io.Writer, s *sessions.Session) error {
		if s.Trace() == nil {
			return errNoSamples
		}
		return s.Trace().WriteJSON(w)
	}},
	"pprof": {"application/octet-stream", "pb.gz", func(w io.Writer, s *sessions.Session) error {
		if s.Trace() == nil {
			return errNoSamples
		}
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
	attach(w, f.contentType, fmt.Sprintf("session-%d.%s", s.ID(), f.extension))
	out := &begun{Writer: w}
	switch err := f.write(out, s); {
	case err == nil:
	case out.begun:
		panic(http.ErrAbortHandler) // or the client would take half of it for all
	default:
		w.Header().Del("Content-Disposition")
		refuse(w, http.StatusNotFound, err.Error())
	}
}

// begun knows whether something was written.
type begun struct {
	io.Writer
	begun bool
}

func (b *begun) Write(p []byte) (int, error) {
	b.begun = true
	return b.Writer.Write(p)
}
