package viewers

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
	"github.com/perfline/perfline/waits"
)

// WriteRequestPerfetto writes one request in the trace event format of Chrome. ui.perfetto.dev and
// Chrome's performance panel open the file.
//
//   - The request is a process. The threads are the threads of spans in [WriteRequestFirefox]. A
//     span is a complete event, and a mark is an instant on the span's thread. Attributes are
//     arguments.
//   - If q.Waits is not nil, each goroutine is a further thread, and each state is a complete
//     event. The arguments of a state contain the names of the function and of the function that
//     ended a wait. The argument "cause" of the request contains a sentence about the cause of the
//     request's duration.
//   - The samples of t are V8's profile events on the thread of the span. A sample shows a moment,
//     because the format cannot express weights. If t is nil, the file contains no samples.
//   - Times are microseconds since the earliest start, usually the request's start. The field
//     otherData contains the absolute time of the first moment, and the note on hidden functions.
//
// [WriteFirefox] documents the rules for texts, memory and errors.
func WriteRequestPerfetto(w io.Writer, q requests.Request, t *profile.Trace) error {
	return writePerfetto(w, newRequestRecording(q, t), q.Waits)
}

func writePerfetto(w io.Writer, s recording, of *waits.Request) error {
	f := perfetto{jsonStream: newJSONStream(w), s: s, zero: earliest(s)}
	f.stacks.trace, f.stacks.frame = s.Trace(),
		func(c profile.Call, _ int) int { c.Line = 0; return f.frames.add(c) }
	timelines := s.Timelines()
	about := object{"start": s.Started().Add(f.zero).UTC().Format(time.RFC3339Nano)}
	if note := hiddenNote(s.Trace()); note != "" {
		about["hidden"] = note
	}
	f.open(object{"displayTimeUnit": "ns", "otherData": about})
	f.raw(`,"traceEvents":[`)
	f.name("process_name", 0, timelines[0].Name)
	for _, tl := range timelines {
		f.name("thread_name", tl.ID, tl.Title())
		f.order(tl.ID)
		f.events(tl, of)
		f.samples(tl)
	}
	if of != nil {
		f.goroutines(of, sessions.TimelineID(len(timelines)))
	}
	f.raw("\n]}\n")
	return f.Flush()
}

// perfetto is the state of writing a file.
type perfetto struct {
	jsonStream
	s      recording
	zero   time.Duration // see earliest
	comma  bool          // before the next event
	frames table[profile.Call]
	stacks stackTable
}

// event writes an event. Arguments come last, because older importers search the other members
// first, and fail on some escapes in keys.
func (f *perfetto) event(phase, name, category string, thread sessions.TimelineID, members,
	args []byte) {
	b := f.AvailableBuffer()
	if f.comma {
		b = append(b, ',')
	}
	f.comma = true
	b = append(append(append(b, "\n"+`{"ph":"`...), phase...), `","pid":1,"tid":`...)
	b = append(strconv.AppendUint(b, uint64(thread), 10), `,"name":`...)
	b = appendText(b, name)
	if category != "" {
		b = append(append(append(b, `,"cat":"`...), category...), '"')
	}
	b = append(b, members...)
	b = append(append(append(b, `,"args":{`...), args...), "}}"...)
	f.write(b)
}

// name names a process or a thread.
func (f *perfetto) name(kind string, thread sessions.TimelineID, name string) {
	f.event("M", kind, "", thread, nil, appendText([]byte(`"name":`), name))
}

// order keeps the threads in the order of their ids.
func (f *perfetto) order(thread sessions.TimelineID) {
	f.event("M", "thread_sort_index", "", thread, nil, fmt.Appendf(nil, `"sort_index":%d`, thread))
}

// micros appends a time in microseconds.
func micros(b []byte, d time.Duration) []byte {
	return strconv.AppendFloat(b, float64(d)/1e3, 'f', -1, 64)
}

// at returns the members for a time since the request began.
func (f *perfetto) at(start time.Duration) []byte {
	return micros([]byte(`,"ts":`), start-f.zero)
}

// lasts returns the members for an interval.
func (f *perfetto) lasts(start, end time.Duration) []byte {
	return micros(append(f.at(start), `,"dur":`...), max(0, end-start))
}

// events writes the spans and marks of a timeline.
func (f *perfetto) events(tl sessions.Timeline, of *waits.Request) {
	for e := range f.s.All(tl.ID) {
		if f.failed() {
			return
		}
		if e.Type == sessions.Samples {
			continue
		}
		var args []byte
		if e.SpanID.IsValid() {
			args = fmt.Appendf(args, `"trace":"%s","span":"%s",`, tl.TraceID, e.SpanID)
		}
		if e.Type == sessions.Request && of != nil {
			if sentence := of.Sentence(); sentence != "" {
				args = append(appendText(append(args, `"cause":`...), sentence), ',')
			}
		}
		for _, a := range appendFlat(nil, "", e.Detail) {
			args = append(appendText(args, a.Key), ':')
			args, _ = appendValue(args, a.Value)
			args = append(args, ',')
		}
		args = trimComma(args)
		category := strings.ToLower(e.Type.String())
		if e.Type == sessions.Mark {
			f.event("i", e.Name, category, tl.ID, append(f.at(e.Interval.Start), `,"s":"t"`...),
				args)
			continue
		}
		f.event("X", e.Name, category, tl.ID, f.lasts(e.Interval.Start, e.Interval.End), args)
	}
}

// goroutines writes a thread for each goroutine, after the thread last.
func (f *perfetto) goroutines(of *waits.Request, last sessions.TimelineID) {
	for n := range of.Goroutines {
		g := &of.Goroutines[n]
		thread := last + sessions.TimelineID(n+1)
		f.name("thread_name", thread, goroutineName(g))
		f.order(thread)
		for i := range g.Intervals {
			interval := &g.Intervals[i]
			if f.failed() {
				return
			}
			if interval.Kind != waits.Gap {
				f.event("X", interval.Kind.String(), waiting.ClassOf(interval.Kind).String(),
					thread, f.lasts(interval.Start, interval.End), stateArgs(interval))
			}
		}
	}
}

func stateArgs(i *waits.Interval) []byte {
	var args []byte
	add := func(key, value string) {
		if value != "" {
			args = append(appendText(append(append(append(args, '"'), key...), `":`...), value),
				',')
		}
	}
	if i.SpanID.IsValid() {
		add("span", i.SpanID.String())
	}
	add("in", text.Function(waiting.Function(i)))
	if by := i.By; by != nil {
		key := "ended by"
		if i.Kind == waits.Runnable {
			key = "processor used by"
		}
		add(key, partyName(by))
		add("of the request", by.Request)
	}
	var lines []string
	for _, frame := range i.Stack {
		lines = append(lines, fmt.Sprintf("%s %s:%d", frame.Function, frame.File, frame.Line))
	}
	add("stack", strings.Join(lines, "\n"))
	return trimComma(args)
}

// samples writes the samples of a timeline as a profile of V8: nodes of a tree of calls, the node
// of each sample, and the time between samples.
func (f *perfetto) samples(tl sessions.Timeline) {
	if tl.Samples == 0 {
		return
	}
	id := fmt.Sprintf(`,"id":"0x%x"`, tl.ID)
	f.event("P", "Profile", "disabled-by-default-v8.cpu_profiler", tl.ID,
		append(f.at(f.zero), id...), []byte(`"data":{"startTime":0}`))
	var nodes, samples, deltas []byte
	written := map[int]bool{}
	var node func(at int)
	node = func(at int) {
		if at < 0 || written[at] {
			return
		}
		written[at] = true
		s := f.stacks.list[at]
		node(s.parent)
		c := f.frames.list[s.frame]
		nodes = appendText(fmt.Appendf(nodes, `{"id":%d,"callFrame":{"functionName":`, at+1),
			c.Name)
		nodes = appendText(append(nodes, `,"url":`...), c.File)
		nodes = fmt.Appendf(nodes, `,"scriptId":0,"lineNumber":%d}`, c.StartLine)
		if s.parent >= 0 {
			nodes = fmt.Appendf(nodes, `,"parent":%d`, s.parent+1)
		}
		nodes = append(nodes, "},"...)
	}
	var last int64
	for sample := range f.s.Samples(tl.ID) {
		at := f.stacks.of(sample, categoryGo)
		node(at)
		samples = append(strconv.AppendInt(samples, int64(at+1), 10), ',')
		now := int64((f.s.Since(sample) - f.zero) / time.Microsecond)
		deltas = append(strconv.AppendInt(deltas, now-last, 10), ',')
		last = now
	}
	args := slices.Concat([]byte(`"data":{"cpuProfile":{"nodes":[`), trimComma(nodes),
		[]byte(`],"samples":[`), trimComma(samples), []byte(`]},"timeDeltas":[`), trimComma(deltas),
		[]byte("]}"))
	f.event("P", "ProfileChunk", "disabled-by-default-v8.cpu_profiler", tl.ID,
		append(f.at(f.zero), id...), args)
}
