package live

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/viewers"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
	"github.com/perfline/perfline/waits"
)

var (
	errNoSamples        = errors.New("this session took no samples")
	errNoRequestSamples = errors.New(
		"no session has samples of this request: record one while it is served")
	errNoProcessProfile = errors.New("this session has no such profile of the whole process")
)

// A format is a file that a session or a request is offered as.
type format[T any] struct {
	ID   string `json:"format"` // the last element of the path
	Name string `json:"name"`
	Use  string `json:"use"` // what is in it, and what opens it

	contentType, extension string
	lacks                  func(T) error // why the file would be empty; nil if it never is
	write                  func(io.Writer, T) error
}

// A recordedSession is a session with the flight recorder's results for its requests.
type recordedSession struct {
	*sessions.Session
	results []*waits.Request
}

// A sampledRequest is a request with the session's trace that has samples of it, or nil.
type sampledRequest struct {
	requests.Request
	trace *profile.Trace
}

// newSampledRequest takes what [handler.sampled] returns.
func newSampledRequest(q requests.Request, s *sessions.Session,
	hottest map[trace.SpanID]*requests.SpanProfile) sampledRequest {
	if len(hottest) == 0 { // also if all samples contradict the execution trace
		return sampledRequest{Request: q}
	}
	return sampledRequest{q, s.Trace()}
}

const (
	jsonFile   = "application/json"
	binaryFile = "application/octet-stream"
)

// sessionFormats are in the order in which the page lists them.
var sessionFormats = []format[recordedSession]{
	{
		"firefox", "Firefox Profiler",
		"marks, measures, samples, garbage collections and what slow requests waited for on one axis. Load it at profiler.firefox.com, or drop it on ui.perfetto.dev.",
		jsonFile, "firefox.json", nil,
		func(w io.Writer, s recordedSession) error {
			return viewers.WriteFirefox(w, s.Session,
				s.results...)
		},
	},
	{
		"speedscope", "speedscope",
		"measures, and samples in the order of time, left heavy, sandwich. Drop it on speedscope.app.",
		jsonFile, "speedscope.json", nil,
		func(w io.Writer, s recordedSession) error { return viewers.WriteSpeedscope(w, s.Session) },
	},
	{
		"pprof", "pprof", "for go tool pprof -http=: FILE, with labels of spans.",
		binaryFile, "pb.gz", withoutSamples,
		func(w io.Writer, s recordedSession) error { return s.Trace().WritePprof(w) },
	},
	{
		"json", "JSON Self-Profiling",
		"the ProfilerTrace of the JS Self-Profiling specification: resources, frames, stacks, samples.",
		jsonFile, "json", withoutSamples,
		func(w io.Writer, s recordedSession) error { return s.Trace().WriteJSON(w) },
	},
	ofProcess("allocs", "allocations and the growth of memory in use"),
	ofProcess("mutex", "contention of mutexes, as the program's mutex profile fraction samples it"),
	ofProcess("block", "waiting for channels, mutexes and the like, as the program's block profile rate samples it"),
}

// requestFormats are in the order in which the page lists them.
var requestFormats = []format[sampledRequest]{
	{
		"svg", "SVG", "the waterfall as a picture, for documents and chats.",
		"image/svg+xml", "svg", nil,
		func(w io.Writer, q sampledRequest) error { return requests.WriteSVG(w, q.Request) },
	},
	{
		"firefox", "Firefox Profiler",
		"spans, marks, states and samples on one axis. Load it at profiler.firefox.com.",
		jsonFile, "firefox.json", nil,
		func(w io.Writer, q sampledRequest) error {
			return viewers.WriteRequestFirefox(w, q.Request,
				q.trace)
		},
	},
	{
		"perfetto", "Perfetto",
		"spans, marks, states and samples by thread. Drop it on ui.perfetto.dev.",
		jsonFile, "perfetto.json", nil,
		func(w io.Writer, q sampledRequest) error {
			return viewers.WriteRequestPerfetto(w,
				q.Request, q.trace)
		},
	},
	{
		"speedscope", "speedscope",
		"spans and samples, left heavy, sandwich. Drop it on speedscope.app.",
		jsonFile, "speedscope.json", nil,
		func(w io.Writer, q sampledRequest) error {
			return viewers.WriteRequestSpeedscope(w, q.Request, q.trace)
		},
	},
	{
		"pprof", "pprof", "its samples, for go tool pprof -http=: FILE.",
		binaryFile, "pb.gz", func(q sampledRequest) error {
			if q.trace == nil {
				return errNoRequestSamples
			}
			return nil
		},
		func(w io.Writer, q sampledRequest) error {
			return requests.Profile(q.Request,
				q.trace).WritePprof(w)
		},
	},
	{
		"otlp", "OTLP JSON",
		"its spans, for “Upload” in Jaeger, and for a Collector's receivers of OTLP in JSON.",
		jsonFile, "otlp.json", nil,
		func(w io.Writer, q sampledRequest) error { return viewers.WriteRequestOTLP(w, q.Request) },
	},
}

func withoutSamples(s recordedSession) error {
	if s.Trace() == nil {
		return errNoSamples
	}
	return nil
}

// ofProcess returns the format of one of a session's profiles of the process.
func ofProcess(name, what string) format[recordedSession] {
	return format[recordedSession]{
		name, "pprof " + name + " of the whole process", what +
			", not by request. For go tool pprof -http=: FILE.",
		binaryFile, name + ".pb.gz", func(s recordedSession) error {
			if !slices.Contains(s.ProcessProfiles(), name) {
				return errNoProcessProfile
			}
			return nil
		},
		func(w io.Writer, s recordedSession) error { return s.WriteProcessProfile(w, name) },
	}
}

// missing returns why the file would be empty, or nil.
func (f *format[T]) missing(of T) error {
	if f.lacks == nil {
		return nil
	}
	return f.lacks(of)
}

// offered returns the formats that are not empty.
func offered[T any](all []format[T], of T) []format[T] {
	return slices.DeleteFunc(slices.Clone(all),
		func(f format[T]) bool { return f.missing(of) != nil })
}

// writeFile answers with the file of the format in the path. subject and name are for people: "a
// session" and "session-7".
func writeFile[T any](h *handler, w http.ResponseWriter, r *http.Request, all []format[T], of T,
	subject, name string) {
	id := r.PathValue("format")
	i := slices.IndexFunc(all, func(f format[T]) bool { return f.ID == id })
	if i < 0 {
		refuse(w, http.StatusNotFound, subject+" cannot be had as "+shown(id))
		return
	}
	f := &all[i]
	if err := f.missing(of); err != nil {
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
	attach(w, f.contentType, name+"."+f.extension)
	if headOnly(w, r) {
		return
	}
	if f.write(w, of) != nil {
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
	s := h.finishedSession(w, r.PathValue("id"))
	if s == nil {
		return
	}
	writeFile(h, w, r, sessionFormats, recordedSession{s, h.results(s)}, "a session",
		fmt.Sprintf("session-%d", s.ID()))
}

// requestFile answers with a file of a request.
func (h *handler) requestFile(w http.ResponseWriter, r *http.Request) {
	q, ok := h.find(r.PathValue("trace"), r.PathValue("span"))
	if !ok {
		refuseRequest(w)
		return
	}
	s, hottest := h.sampled(q)
	writeFile(h, w, r, requestFormats, newSampledRequest(q, s, hottest), "a request", "request-"+
		q.TraceID().String())
}

// results returns what the flight recorder has of the requests in a session.
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
