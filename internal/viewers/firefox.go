package viewers

import (
	"fmt"
	"io"
	"iter"
	"log/slog"
	"time"

	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
	"github.com/perfline/perfline/waits"
)

// The versions of the format. 61 is the newest version with a column "prefix" for stacks, which
// Perfetto needs. All threads share its tables, which Perfetto reads since April 2026. The Firefox
// Profiler upgrades any version.
const (
	firefoxProcessed = 61
	firefoxGecko     = 34 // of the same time, for programs that read this version
)

// WriteFirefox writes a session in the Firefox Profiler's processed profile format, version 61.
// Perfetto shows the samples of the file from version 55 on, and the markers from version 56 on.
//
//   - Timelines: each timeline is a thread. The tid is the timeline's ID. All timelines of a frame,
//     such as a request, are threads of the same process. The pid is the ID of the frame's first
//     timeline, the main thread. Therefore viewers show the parallel work of a request below the
//     request. The names of parallel timelines end in a number, counted from 1.
//   - Events: each event is a marker with the event's name, except for events of type Samples.
//     Events of types Mark and Server are instants, and events of other types are intervals. The
//     payload contains the event's details, and the trace and the span of the timeline. If the
//     event has children, the payload also contains the event's self time. The key of a detail in a
//     group is "group.key".
//   - Keys: WriteFirefox adds the prefix "attr." to a key that viewers reserve, such as "type". A
//     key may appear with values of several kinds. WriteFirefox then adds a suffix for the later
//     kinds, as in "n (integer)". A type of event shows the first 100 keys.
//   - Samples: the weight of a sample is the time that the sample represents. Samples of CPU time
//     also show the CPU's load. The category of the innermost frame is the sample's marker. A
//     sample without a stack shows the frame "[no stack]".
//   - Waits: the parameter results contains the waits of requests in the session, from execution
//     traces. Each goroutine of such a request is a thread of the request's process, below the
//     timelines. Markers show the goroutine's states by kind. The payload contains the function,
//     the stack, and the function that ended the wait or used the processor. One marker states the
//     cause of the request's duration in a sentence. The file omits samples that contradict the
//     states: see waiting.Agrees.
//   - Times are milliseconds since the session's start. If an entry started earlier, times count
//     from the earliest start, because viewers reject negative times. The file contains the start
//     of profiling on the same axis.
//   - Texts from outside are cut at 1000 bytes each. U+FFFD replaces invalid UTF-8.
//
// Equal sessions result in equal files. The running time is proportional to the size of the file
// and to the number of different stacks. The memory is proportional to the different texts,
// functions and stacks, but not to the number of events and samples. WriteFirefox stops at the
// first error of w, and returns the error.
func WriteFirefox(w io.Writer, s *sessions.Session, results ...*waits.Request) error {
	return writeFirefox(w, s, results...)
}

func writeFirefox(w io.Writer, s recording, results ...*waits.Request) error {
	f := firefox{jsonStream: newJSONStream(w), s: s, trace: s.Trace(), timelines: s.Timelines(),
		results: newWaitResults(results)}
	f.stacks.trace, f.stacks.frame = f.trace, f.frame
	f.timed = f.trace != nil && f.trace.Engine != profile.EngineWall
	f.zero = earliest(s)
	for _, tl := range f.timelines {
		f.lastTID = max(f.lastTID, tl.ID)
	}
	// "meta" comes last, because the writer computes it last. Perfetto recognizes the format by a
	// file that begins with "meta" or "libs".
	f.raw(`{"libs":[],"threads":[`)
	markers, samples, main := f.markerColumns(), f.sampleColumns(), sessions.Timeline{}
	for i, tl := range f.timelines {
		if f.failed() {
			return f.Flush()
		}
		if i > 0 {
			f.raw(",")
		}
		if i == 0 || tl.FrameID != main.FrameID {
			main = tl
		}
		f.thread(tl, main, markers, samples)
		last := i+1 == len(f.timelines) || f.timelines[i+1].FrameID != main.FrameID
		if r := f.results.of(main); r != nil && last {
			f.goroutines(r, main)
		}
	}
	f.raw("],\n" + `"shared":{`)
	f.shared()
	f.raw("},\n" + `"meta":`)
	f.open(f.meta())
	f.raw("}}\n")
	return f.Flush()
}

// firefox is the state of writing a file.
type firefox struct {
	jsonStream
	s         recording
	trace     *profile.Trace // nil without samples
	timed     bool           // samples are of CPU time
	timelines []sessions.Timeline
	results   waitResults
	lastTID   sessions.TimelineID // of the threads
	zero      time.Duration       // see earliest

	texts     table[string]
	functions table[profile.Call] // without Line
	frames    table[firefoxFrame]
	stacks    stackTable
	sources   table[string]
	schemas   [len(markerTypes)]schema
	ids       []byte      // members of the payloads of one timeline
	details   []slog.Attr // of one event
	value     []byte      // of one detail
}

type firefoxFrame struct {
	function, line int
	category       int
}

// thread writes a timeline.
func (f *firefox) thread(tl, main sessions.Timeline, markers []column[marker],
	samples []column[profile.Sample]) {
	f.head(threadHead{tl.Title(), main.Name, tl.ID == main.ID, main.ID, tl.ID, tl.Interval.Start,
		tl.Interval.End})
	f.ids = f.ids[:0]
	if tl.TraceID.IsValid() {
		f.ids = fmt.Appendf(f.ids, `,"trace":"%s"`, tl.TraceID)
	}
	if tl.SpanID.IsValid() {
		f.ids = fmt.Appendf(f.ids, `,"span":"%s"`, tl.SpanID)
	}
	writeTable(f.jsonStream, f.markers(tl, main), markers)
	f.raw("},\n" + `"samples":{"weightType":"tracing-ms",`)
	writeTable(f.jsonStream, f.samples(tl, main), samples)
	f.raw("}}")
}

// A marker is an event, or the sentence for the cause of a request's duration.
type marker struct {
	sessions.Event
	sentence string
}

// markers yields the events of a timeline, except samples. The sentence precedes the events of the
// request itself.
func (f *firefox) markers(tl, main sessions.Timeline) iter.Seq[marker] {
	return func(yield func(marker) bool) {
		if r := f.results.of(tl); r != nil && tl.ID == main.ID {
			if sentence := r.Sentence(); sentence != "" &&
				!yield(marker{sessions.Event{Name: sentence, Interval: tl.Interval}, sentence}) {
				return
			}
		}
		for e := range f.s.All(tl.ID) {
			if e.Type != sessions.Samples && !yield(marker{Event: e}) {
				return
			}
		}
	}
}

func (f *firefox) markerColumns() []column[marker] {
	return []column[marker]{
		integers("name", func(e marker) int { return addText(&f.texts, e.Name) }),
		times("startTime", func(e marker) time.Duration { return e.Interval.Start - f.zero }),
		// Instants have an end, too: Perfetto refuses null.
		times("endTime", func(e marker) time.Duration { return e.Interval.End - f.zero }),
		integers("phase", func(e marker) int {
			if e.sentence != "" {
				return phaseInterval
			}
			return markerTypes[e.Type].phase
		}),
		integers("category", func(e marker) int {
			if e.sentence != "" {
				return categoryWaiting
			}
			return markerTypes[e.Type].category
		}),
		{"data", func(b []byte, e marker) []byte {
			if e.sentence != "" {
				return append(append(append(b, `{"type":"`+causeMarker+`"`...), f.ids...), '}')
			}
			return f.appendPayload(b, e.Event)
		}},
	}
}

func (f *firefox) sampleColumns() []column[profile.Sample] {
	columns := []column[profile.Sample]{
		integers("stack",
			func(s profile.Sample) int { return f.stacks.of(s, markerCategories[s.Marker]) }),
		times("time", func(s profile.Sample) time.Duration { return f.s.Since(s) - f.zero }),
		times("weight", func(s profile.Sample) time.Duration { return s.Weight }),
	}
	if f.timed { // other engines do not measure CPU time
		columns = append(columns,
			integers("threadCPUDelta", func(s profile.Sample) int { return int(s.Weight) }))
	}
	return columns
}

// frame returns the index of a function's frame.
func (f *firefox) frame(c profile.Call, category int) int {
	frame := firefoxFrame{line: c.Line, category: category}
	c.Line = 0
	frame.function = f.functions.add(c)
	return f.frames.add(frame)
}
