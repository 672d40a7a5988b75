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
	// ErrNoSamples reports that a session has no profile.
	ErrNoSamples        = errors.New("this session took no samples")
	errNoRequestSamples = errors.New(
		"no session has samples of this request: record one while it is served")
	errNoProcessProfile = errors.New("this session has no such profile of the whole process")
)

// A Format is a file format of a session or a request.
type Format[T any] struct {
	ID   string `json:"format"` // last element of the path
	Name string `json:"name"`   // name of the format
	Use  string `json:"use"`    // content of the file, and programs that open the file

	ContentType string                   `json:"-"`
	Extension   string                   `json:"-"`
	missing     func(T) error            // returns an error if the file would be empty; may be nil
	Write       func(io.Writer, T) error `json:"-"`
}

// A RecordedSession is a session with the waits recorder's results for the requests of the session.
type RecordedSession struct {
	*sessions.Session
	Results []*waits.Request
}

// A SampledRequest is a request with the newest session that sampled the request.
//
//   - Session is nil if no session sampled the request.
//   - Hottest contains the profile of each span. Hottest is empty if the samples contradict the
//     request's execution trace.
type SampledRequest struct {
	requests.Request
	Session *sessions.Session
	Hottest map[trace.SpanID]*requests.SpanProfile
}

// trace returns the samples, or nil.
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

// SessionFormats lists the formats of a session in the page's order.
var SessionFormats = []Format[RecordedSession]{
	{"firefox", "Firefox Profiler",
		"marks, measures, samples, garbage collections and what slow requests waited for on one axis. Load it at profiler.firefox.com, or drop it on ui.perfetto.dev.",
		jsonFile, "firefox.json", nil,
		func(w io.Writer, s RecordedSession) error {
			return viewers.WriteFirefox(w, s.Session, s.Results...)
		}},
	{"speedscope", "speedscope",
		"measures, and samples in the order of time, left heavy, sandwich. Drop it on speedscope.app.",
		jsonFile, "speedscope.json", nil,
		func(w io.Writer, s RecordedSession) error {
			return viewers.WriteSpeedscope(w, s.Session)
		}},
	{"pprof", "pprof", "for go tool pprof -http=: FILE, with labels of spans.",
		binaryFile, "pb.gz", withoutSamples,
		func(w io.Writer, s RecordedSession) error { return s.Trace().WritePprof(w) }},
	{"json", "JSON Self-Profiling",
		"the ProfilerTrace of the JS Self-Profiling specification: resources, frames, stacks, samples.",
		jsonFile, "json", withoutSamples,
		func(w io.Writer, s RecordedSession) error { return s.Trace().WriteJSON(w) }},
	processFormat("allocs", "allocations and the growth of memory in use"),
	processFormat("mutex",
		"contention of mutexes, as the program's mutex profile fraction samples it"),
	processFormat("block",
		"waiting for channels, mutexes and the like, as the program's block profile rate samples it"),
}

// RequestFormats lists the formats of a request in the page's order.
var RequestFormats = []Format[SampledRequest]{
	{"svg", "SVG", "the waterfall as a picture, for documents and chats.",
		"image/svg+xml", "svg", nil,
		func(w io.Writer, q SampledRequest) error { return requests.WriteSVG(w, q.Request) }},
	{"firefox", "Firefox Profiler",
		"spans, marks, waits and samples on one axis. Load it at profiler.firefox.com.",
		jsonFile, "firefox.json", nil,
		func(w io.Writer, q SampledRequest) error {
			return viewers.WriteRequestFirefox(w, q.Request, q.trace())
		}},
	{"perfetto", "Perfetto",
		"spans, marks, waits and samples by thread. Drop it on ui.perfetto.dev.",
		jsonFile, "perfetto.json", nil,
		func(w io.Writer, q SampledRequest) error {
			return viewers.WriteRequestPerfetto(w, q.Request, q.trace())
		}},
	{"speedscope", "speedscope",
		"spans and samples, left heavy, sandwich. Drop it on speedscope.app.",
		jsonFile, "speedscope.json", nil,
		func(w io.Writer, q SampledRequest) error {
			return viewers.WriteRequestSpeedscope(w, q.Request, q.trace())
		}},
	{"pprof", "pprof", "its samples, for go tool pprof -http=: FILE.",
		binaryFile, "pb.gz", func(q SampledRequest) error {
			if q.trace() == nil {
				return errNoRequestSamples
			}
			return nil
		},
		func(w io.Writer, q SampledRequest) error {
			return requests.Profile(q.Request, q.trace()).WritePprof(w)
		}},
	{"otlp", "OTLP JSON",
		"its spans, for “Upload” in Jaeger, and for a Collector's receivers of OTLP in JSON.",
		jsonFile, "otlp.json", nil,
		func(w io.Writer, q SampledRequest) error {
			return viewers.WriteRequestOTLP(w, q.Request)
		}},
}

func withoutSamples(s RecordedSession) error {
	if s.Trace() == nil {
		return ErrNoSamples
	}
	return nil
}

// processFormat returns the format of a session's profile of the whole process.
func processFormat(name, content string) Format[RecordedSession] {
	return Format[RecordedSession]{
		name, "pprof " + name + " of the whole process",
		content + ", not by request. For go tool pprof -http=: FILE.",
		binaryFile, name + ".pb.gz", func(s RecordedSession) error {
			if !slices.Contains(s.ProcessProfiles(), name) {
				return errNoProcessProfile
			}
			return nil
		},
		func(w io.Writer, s RecordedSession) error { return s.WriteProcessProfile(w, name) },
	}
}

// Missing returns an error if the file of the session or request would be empty.
func (f *Format[T]) Missing(of T) error {
	if f.missing == nil {
		return nil
	}
	return f.missing(of)
}

// available returns the formats whose file would have content.
func available[T any](all []Format[T], of T) []Format[T] {
	empty := func(f Format[T]) bool { return f.Missing(of) != nil }
	return slices.DeleteFunc(slices.Clone(all), empty)
}
