package viewers

import (
	"fmt"
	"io"
	"iter"
	"log/slog"
	"time"

	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
)

// The versions of the format that is written. 61 is the newest with a column "prefix" for stacks, which
// Perfetto needs. Its tables are shared by all threads, which Perfetto knows since April 2026. The
// Firefox Profiler upgrades any version.
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
//     "group.key", and the timeline's trace and span; self time if there are events below.
//     A key that a viewer takes for its own, such as "type", has "attr." before it. When a key comes with
//     values of several kinds the later kinds have their name behind it, as in "n (integer)". A type of
//     event shows its first 100 keys.
//   - Samples are the thread's samples, weighed by the time that they stand for. Samples
//     of CPU time give the CPU's load, too. The innermost frame's category is the sample's marker. A sample without a
//     stack has one of "[no stack]".
//   - All times are milliseconds since the session's start, or since the start of what began before it:
//     viewers refuse negative times. The file says when profiling began on that axis.
//   - Texts from outside are cut at 1000 bytes each; invalid UTF-8 becomes U+FFFD.
//
// The same session always makes the same file. Time is proportional to the bytes that are
// written, and to the different stacks. Memory is for the different texts, functions and stacks,
// however many events and samples there are. The error is w's first, which ends the work.
func WriteFirefox(w io.Writer, s *sessions.Session) error { return writeFirefox(w, s) }

func writeFirefox(w io.Writer, s recorded) error {
	f := firefox{jsonStream: newJSONStream(w), s: s, trace: s.Trace(), timelines: s.Timelines()}
	f.stacks.trace, f.stacks.frame = f.trace, f.frame
	f.timed = f.trace != nil && f.trace.Engine != profile.EngineWall
	for _, tl := range f.timelines {
		f.zero = min(f.zero, tl.Interval.Start)
	}
	if f.trace != nil && len(f.trace.Samples) > 0 {
		f.zero = min(f.zero, s.Since(f.trace.Samples[0]))
	}
	// "meta" comes last, since it is known last. Perfetto knows the format by a file that begins with "meta" or "libs".
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
	zero      time.Duration // the file's zero of times, since the session began; not positive

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
func (f *firefox) thread(tl, main sessions.Timeline, markers []column[sessions.Event], samples []column[profile.Sample]) {
	fmt.Fprintf(f, "\n"+`{"name":%s,"processName":%s,"processType":"default","isMainThread":%t,"pid":"%d","tid":%d,`+
		`"processStartupTime":0,"processShutdownTime":null,"registerTime":%s,"unregisterTime":%s,"pausedRanges":[],"showMarkersInTimeline":true,`+
		"\n"+`"markers":{`,
		appendText(nil, tl.Title()), appendText(nil, main.Name), tl.ID == main.ID, main.ID, tl.ID,
		appendMillis(nil, tl.Interval.Start-f.zero), appendMillis(nil, tl.Interval.End-f.zero))
	f.ids = f.ids[:0]
	if tl.TraceID.IsValid() {
		f.ids = fmt.Appendf(f.ids, `,"trace":"%s"`, tl.TraceID)
	}
	if tl.SpanID.IsValid() {
		f.ids = fmt.Appendf(f.ids, `,"span":"%s"`, tl.SpanID)
	}
	writeTable(f.jsonStream, f.markers(tl.ID), markers)
	f.raw("},\n" + `"samples":{"weightType":"tracing-ms",`)
	writeTable(f.jsonStream, f.s.Samples(tl.ID), samples)
	f.raw("}}")
}

// markers are the events of a timeline, except samples.
func (f *firefox) markers(id sessions.TimelineID) iter.Seq[sessions.Event] {
	return func(yield func(sessions.Event) bool) {
		for e := range f.s.All(id) {
			if e.Type != sessions.Samples && !yield(e) {
				return
			}
		}
	}
}

func (f *firefox) markerColumns() []column[sessions.Event] {
	return []column[sessions.Event]{
		integers("name", func(e sessions.Event) int { return addText(&f.texts, e.Name) }),
		times("startTime", func(e sessions.Event) time.Duration { return e.Interval.Start - f.zero }),
		times("endTime", func(e sessions.Event) time.Duration { return e.Interval.End - f.zero }), // also of instants: Perfetto takes no null
		integers("phase", func(e sessions.Event) int { return markerTypes[e.Type].phase }),
		integers("category", func(e sessions.Event) int { return markerTypes[e.Type].category }),
		{"data", f.appendPayload},
	}
}

func (f *firefox) sampleColumns() []column[profile.Sample] {
	columns := []column[profile.Sample]{
		integers("stack", func(s profile.Sample) int { return f.stacks.of(s, markerCategories[s.Marker]) }),
		times("time", func(s profile.Sample) time.Duration { return f.s.Since(s) - f.zero }),
		times("weight", func(s profile.Sample) time.Duration { return s.Weight }),
	}
	if f.timed { // what waits used no CPU, and how much of the rest did is not known
		columns = append(columns, integers("threadCPUDelta", func(s profile.Sample) int { return int(s.Weight) }))
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
