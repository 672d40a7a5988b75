package live

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/perfline/perfline/exporter/viewers"
	"github.com/perfline/perfline/profiling/sessions"
	"github.com/perfline/perfline/profiling/states"
)

var (
	errNoSamples        = errors.New("this session took no samples")
	errNoProcessProfile = errors.New("this session has no such profile of the whole process")
)

// A format is a file that a session can be had as.
type format struct {
	ID   string `json:"format"` // the last element of the path
	Name string `json:"name"`
	Use  string `json:"use"` // what is in it, and what opens it

	contentType, extension string
	samplesOnly            bool // has nothing of a session without samples
	ofProcess              bool // is one of the session's profiles of the process, by its ID
	write                  func(io.Writer, *sessions.Session, []*states.Request) error
}

// formats are in the order in which the page lists them.
var formats = []format{
	{
		"firefox", "Firefox Profiler", "marks, measures, samples, garbage collections and what slow requests waited for on one axis. Load it at profiler.firefox.com, or drop it on ui.perfetto.dev.",
		"application/json", "firefox.json", false, false,
		func(w io.Writer, s *sessions.Session, results []*states.Request) error {
			return viewers.WriteFirefox(w, s, results...)
		},
	},
	{
		"speedscope", "speedscope", "measures, and samples in the order of time, left heavy, sandwich. Drop it on speedscope.app.",
		"application/json", "speedscope.json", false, false,
		func(w io.Writer, s *sessions.Session, _ []*states.Request) error {
			return viewers.WriteSpeedscope(w, s)
		},
	},
	{
		"pprof", "pprof", "for go tool pprof -http=: FILE, with labels of spans.",
		"application/octet-stream", "pb.gz", true, false,
		func(w io.Writer, s *sessions.Session, _ []*states.Request) error { return s.Trace().WritePprof(w) },
	},
	{
		"json", "JSON Self-Profiling", "the ProfilerTrace of the JS Self-Profiling specification: resources, frames, stacks, samples.",
		"application/json", "json", true, false,
		func(w io.Writer, s *sessions.Session, _ []*states.Request) error { return s.Trace().WriteJSON(w) },
	},
	ofProcess(sessions.Allocs, "allocations and the growth of memory in use"),
	ofProcess(sessions.Mutex, "contention of mutexes, as the program's mutex profile fraction samples it"),
	ofProcess(sessions.Block, "waiting for channels, mutexes and the like, as the program's block profile rate samples it"),
}

// ofProcess returns the format of one of a session's profiles of the process.
func ofProcess(name, what string) format {
	return format{
		name, "pprof " + name + " of the whole process", what + ", not by request. For go tool pprof -http=: FILE.",
		"application/octet-stream", name + ".pb.gz", false, true,
		func(w io.Writer, s *sessions.Session, _ []*states.Request) error {
			return s.WriteProcessProfile(w, name)
		},
	}
}

// lacks returns why the format has nothing of the session, or nil if it has something.
func (f *format) lacks(s *sessions.Session) error {
	switch {
	case f.samplesOnly && s.Trace() == nil:
		return errNoSamples
	case f.ofProcess && !slices.Contains(s.ProcessProfiles(), f.ID):
		return errNoProcessProfile
	}
	return nil
}

// formatsOf returns the formats that have something of the session.
func formatsOf(s *sessions.Session) []format {
	return slices.DeleteFunc(slices.Clone(formats), func(f format) bool { return f.lacks(s) != nil })
}

func (h *handler) download(w http.ResponseWriter, r *http.Request) {
	s := h.finishedSession(w, r.PathValue("id"))
	if s == nil {
		return
	}
	name := r.PathValue("format")
	i := slices.IndexFunc(formats, func(f format) bool { return f.ID == name })
	if i < 0 {
		refuse(w, http.StatusNotFound, "a session cannot be had as "+shown(name))
		return
	}
	f := &formats[i]
	if err := f.lacks(s); err != nil {
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
	attach(w, f.contentType, fmt.Sprintf("session-%d.%s", s.ID(), f.extension))
	if headOnly(w, r) {
		return
	}
	if f.write(w, s, h.results(s)) != nil {
		panic(http.ErrAbortHandler) // or the client would take half of it for all
	}
}

// results returns what the flight recorder has of the requests in a session.
func (h *handler) results(s *sessions.Session) []*states.Request {
	if h.flight == nil {
		return nil
	}
	var all []*states.Request
	for _, tl := range s.Timelines() {
		if tl.Lane > 0 || !tl.SpanID.IsValid() {
			continue
		}
		if r, ok := h.flight.Result(tl.TraceID, tl.SpanID); ok {
			all = append(all, r)
		}
	}
	return all
}
