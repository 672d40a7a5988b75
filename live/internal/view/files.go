package view

import (
	"errors"
	"io"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/viewers"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
	"github.com/perfline/perfline/waits"
)

var (
	// ErrNoSamples is the reason why a session has no profile.
	ErrNoSamples        = errors.New("this session took no samples")
	errNoRequestSamples = errors.New(
		"no session has samples of this request: record one while it is served")
	errNoProcessProfile = errors.New("this session has no such profile of the whole process")
)

// A Format is a file that a session or a request is offered as.
type Format[T any] struct {
	ID   string `json:"format"` // the last element of the path
	Name string `json:"name"`   // name
	Use  string `json:"use"`    // what is in it, and what opens it

	ContentType string                   `json:"-"`
	Extension   string                   `json:"-"`
	lacks       func(T) error            // why the file would be empty; nil if it never is
	Write       func(io.Writer, T) error `json:"-"`
}

// A RecordedSession is a session with the waits recorder's results for its requests.
type RecordedSession struct {
	*sessions.Session
	Results []*waits.Request
}

// A SampledRequest is a request with the newest session that has samples of it, and what the
// samples say of its spans. Session is nil without such a session. Hottest is empty if the samples
// contradict the execution trace of the request.
type SampledRequest struct {
	requests.Request
	Session *sessions.Session
	Hottest map[trace.SpanID]*requests.SpanProfile
}

// trace returns the trace with the samples, or nil.
func (q *SampledRequest) trace() *profile.Trace {
	if len(q.Hottest) == 0 {
		return nil
	}
	return q.Session.Trace()
}

const (
	jsonFile   = "application/json"
	binaryFile = "application/octet-stream"
)

// SessionFormats are in the order in which the page lists them.
var SessionFormats = []Format[RecordedSession]{
	{
		"firefox", "Firefox Profiler",
		"marks, measures, samples, garbage collections and what slow requests waited for on one axis. Load it at profiler.firefox.com, or drop it on ui.perfetto.dev.",
		jsonFile, "firefox.json", nil,
		func(w io.Writer, s RecordedSession) error {
			return viewers.WriteFirefox(w, s.Session,
				s.Results...)
		},
	},
	{
		"speedscope", "speedscope",
		"measures, and samples in the order of time, left heavy, sandwich. Drop it on speedscope.app.",
		jsonFile, "speedscope.json", nil,
		func(w io.Writer, s RecordedSession) error { return viewers.WriteSpeedscope(w, s.Session) },
	},
	{
		"pprof", "pprof", "for go tool pprof -http=: FILE, with labels of spans.",
		binaryFile, "pb.gz", withoutSamples,
		func(w io.Writer, s RecordedSession) error { return s.Trace().WritePprof(w) },
	},
	{
		"json", "JSON Self-Profiling",
		"the ProfilerTrace of the JS Self-Profiling specification: resources, frames, stacks, samples.",
		jsonFile, "json", withoutSamples,
		func(w io.Writer, s RecordedSession) error { return s.Trace().WriteJSON(w) },
	},
	ofProcess("allocs", "allocations and the growth of memory in use"),
	ofProcess("mutex", "contention of mutexes, as the program's mutex profile fraction samples it"),
	ofProcess("block", "waiting for channels, mutexes and the like, as the program's block profile rate samples it"),
}

// RequestFormats are in the order in which the page lists them.
var RequestFormats = []Format[SampledRequest]{
	{
		"svg", "SVG", "the waterfall as a picture, for documents and chats.",
		"image/svg+xml", "svg", nil,
		func(w io.Writer, q SampledRequest) error { return requests.WriteSVG(w, q.Request) },
	},
	{
		"firefox", "Firefox Profiler",
		"spans, marks, waits and samples on one axis. Load it at profiler.firefox.com.",
		jsonFile, "firefox.json", nil,
		func(w io.Writer, q SampledRequest) error {
			return viewers.WriteRequestFirefox(w, q.Request,
				q.trace())
		},
	},
	{
		"perfetto", "Perfetto",
		"spans, marks, waits and samples by thread. Drop it on ui.perfetto.dev.",
		jsonFile, "perfetto.json", nil,
		func(w io.Writer, q SampledRequest) error {
			return viewers.WriteRequestPerfetto(w, q.Request, q.trace())
		},
	},
	{
		"speedscope", "speedscope",
		"spans and samples, left heavy, sandwich. Drop it on speedscope.app.",
		jsonFile, "speedscope.json", nil,
		func(w io.Writer, q SampledRequest) error {
			return viewers.WriteRequestSpeedscope(w, q.Request, q.trace())
		},
	},
	{
		"pprof", "pprof", "its samples, for go tool pprof -http=: FILE.",
		binaryFile, "pb.gz", func(q SampledRequest) error {
			if q.trace() == nil {
				return errNoRequestSamples
			}
			return nil
		},
		func(w io.Writer, q SampledRequest) error {
			return requests.Profile(q.Request,
				q.trace()).WritePprof(w)
		},
	},
	{
		"otlp", "OTLP JSON",
		"its spans, for “Upload” in Jaeger, and for a Collector's receivers of OTLP in JSON.",
		jsonFile, "otlp.json", nil,
		func(w io.Writer, q SampledRequest) error { return viewers.WriteRequestOTLP(w, q.Request) },
	},
}

func withoutSamples(s RecordedSession) error {
	if s.Trace() == nil {
		return ErrNoSamples
	}
	return nil
}

// ofProcess returns the format of one of a session's profiles of the process.
func ofProcess(name, what string) Format[RecordedSession] {
	return Format[RecordedSession]{
		name, "pprof " + name + " of the whole process", what +
			", not by request. For go tool pprof -http=: FILE.",
		binaryFile, name + ".pb.gz", func(s RecordedSession) error {
			if !slices.Contains(s.ProcessProfiles(), name) {
				return errNoProcessProfile
			}
			return nil
		},
		func(w io.Writer, s RecordedSession) error { return s.WriteProcessProfile(w, name) },
	}
}

// Missing returns why the file would be empty, or nil.
func (f *Format[T]) Missing(of T) error {
	if f.lacks == nil {
		return nil
	}
	return f.lacks(of)
}

// offered returns the formats that are not empty.
func offered[T any](all []Format[T], of T) []Format[T] {
	return slices.DeleteFunc(slices.Clone(all),
		func(f Format[T]) bool { return f.Missing(of) != nil })
}
