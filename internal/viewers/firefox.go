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

// The versions of the format that is written. 61 is the newest with a column "prefix" for stacks,
// which Perfetto needs. Its tables are shared by all threads, which Perfetto knows since April
// 2026. The Firefox Profiler upgrades any version.
const (
	firefoxProcessed = 61
	firefoxGecko     = 34 // of the same days, for programs that look at it
)

// WriteFirefox writes a session in the Firefox Profiler's processed profile format, version
// 61, which Perfetto opens, too: samples since its version 55, markers since 56.
//
//   - Each timeline is a thread. All timelines of a frame have the pid of its first, which is
//     the main thread: viewers show the parallel work of a request below the request. A
//     timeline's ID is its tid; a lane's name ends in its number, counted from 1.
//   - Each event but Samples is a marker by its name: types that take time are intervals, Mark and
//     Server are instants. The payload has the event's detail under its keys, groups as
//     "group.key", and the timeline's trace and span; self time if there are events below. A key
//     that a viewer takes for its own, such as "type", has "attr." before it. When a key comes with
//     values of several kinds the later kinds have their name behind it, as in "n (integer)". A
//     type of event shows its first 100 keys.
//   - Samples are the thread's samples, weighed by the time that they stand for. Samples of CPU
//     time give the CPU's load, too. The innermost frame's category is the sample's marker. A
//     sample without a stack has one of "[no stack]".
//   - results are what execution traces have of requests in the session. Below the timelines of
//     such a request, each of its goroutines is a thread of the request's process. Its markers are
//     the states of the goroutine by their kinds. The payload has the function and the stack. It
//     names the function that ended the wait, or used the processor. The request has a marker named
//     by the sentence for the cause of its duration. Samples of the request that contradict the
//     states are left out: see waiting.Agrees.
//   - All times are milliseconds since the session's start, or since the start of what began before
//     it: viewers refuse negative times. The file says when profiling began on that axis.
//   - Texts from outside are cut at 1000 bytes each; invalid UTF-8 becomes U+FFFD.
//
// The same session always makes the same file. Time is proportional to the bytes that are
// written, and to the different stacks. Memory is for the different texts, functions and stacks,
// however many events and samples there are. The error is w's first, which ends the work.
func WriteFirefox(w io.Writer, s *sessions.Session, results ...*waits.Request) error {
	return writeFirefox(w, s, results...)
}

func writeFirefox(w io.Writer, s recorded, results ...*waits.Request) error {
	f := firefox{jsonStream: newJSONStream(w), s: s, trace: s.Trace(), timelines: s.Timelines(),
		traced: newTraced(results)}
	f.stacks.trace, f.stacks.frame = f.trace, f.frame
	f.timed = f.trace != nil && f.trace.Engine != profile.EngineWall
	for _, tl := range f.timelines {
		f.zero = min(f.zero, tl.Interval.Start)
		f.lastTID = max(f.lastTID, tl.ID)
	}
	if f.trace != nil && len(f.trace.Samples) > 0 {
		f.zero = min(f.zero, s.Since(f.trace.Samples[0]))
	}
	// "meta" comes last, since it is known last. Perfetto knows the format by a file that begins
	// with "meta" or "libs".
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
		if r := f.traced.of(main); r != nil && last {
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

// firefox is a file while it is written.
type firefox struct {
	jsonStream
	s         recorded
	trace     *profile.Trace // nil without samples
	timed     bool           // samples are of CPU time
	timelines []sessions.Timeline
	traced    traced
	lastTID   sessions.TimelineID // of the threads
	zero      time.Duration       // the file's zero of times, since the session began; not positive

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

// markers are the events of a timeline, except samples. The sentence comes before the events of the
// request itself.
func (f *firefox) markers(tl, main sessions.Timeline) iter.Seq[marker] {
	return func(yield func(marker) bool) {
		if r := f.traced.of(tl); r != nil && tl.ID == main.ID {
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
		// also of instants: Perfetto takes no null
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
		integers("stack", func(s profile.Sample) int {
			return f.stacks.of(s,
				markerCategories[s.Marker])
		}),
		times("time", func(s profile.Sample) time.Duration { return f.s.Since(s) - f.zero }),
		times("weight", func(s profile.Sample) time.Duration { return s.Weight }),
	}
	if f.timed { // what waits used no CPU, and how much of the rest did is not known
		columns = append(columns,
			integers("threadCPUDelta", func(s profile.Sample) int { return int(s.Weight) }))
	}
	return columns
}

// frame is the index of a function's frame.
func (f *firefox) frame(c profile.Call, category int) int {
	frame := firefoxFrame{line: c.Line, category: category}
	c.Line = 0
	frame.function = f.functions.add(c)
	return f.frames.add(frame)
}
