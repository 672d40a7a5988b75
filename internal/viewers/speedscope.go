package viewers

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
)

// WriteSpeedscope writes a session in speedscope's file format.
//
//   - The first profile contains all samples in order of time. The weight of a sample is the time
//     that the sample represents.
//   - Each further profile contains the events of one timeline. Speedscope's view "Time Order"
//     shows the waits and calls of a request. The views "Left Heavy" and "Sandwich" sum up the
//     measures. Events of type Samples show the code that ran during each measure, as an estimate.
//     The profile's name contains the trace id and the start.
//
// The file omits marks and details, because speedscope cannot show marks and details. If an event
// outlives the enclosing event, WriteSpeedscope cuts the event at the end of the enclosing event.
// Sessions contain no such events.
//
// The format repeats the whole stack for each sample: 1e6 samples of 500 functions occupy 2 GB.
// Times are nanoseconds since the session's start. [WriteFirefox] documents the rules for texts,
// running time, memory and errors.
func WriteSpeedscope(w io.Writer, s *sessions.Session) error { return writeSpeedscope(w, s) }

func writeSpeedscope(w io.Writer, s recording) error {
	f := speedscope{jsonStream: newJSONStream(w), s: s,
		frames: table[speedscopeFrame]{list: []speedscopeFrame{}}}
	f.stacks.trace, f.stacks.frame = s.Trace(), f.frame
	name := strings.ToLower(subject(s)) + " of " +
		s.Started().UTC().Format("2006-01-02 15:04:05.000Z")
	if note := hiddenNote(s.Trace()); note != "" {
		name += ". " + note
	}
	f.open(object{
		"$schema": "https://www.speedscope.app/file-format-schema.json", "exporter": "perfline",
		"activeProfileIndex": 0, "name": name,
	})
	f.raw(`,"profiles":[`)
	separator := ""
	if t := s.Trace(); t != nil && len(t.Samples) > 0 {
		f.samples(t)
		separator = ","
	}
	for _, tl := range s.Timelines() {
		if f.failed() {
			return f.Flush()
		}
		f.raw(separator)
		f.timeline(tl)
		separator = ","
	}
	if separator == "" { // speedscope fails over a file without a profile
		f.timeline(sessions.Timeline{Name: "nothing was recorded"})
	}
	// The profiles determine the frames.
	f.raw("],\n" + `"shared":`)
	f.open(object{"frames": f.frames.list})
	f.raw("}}\n")
	return f.Flush()
}

// speedscope is the state of writing a file.
type speedscope struct {
	jsonStream
	s        recording
	frames   table[speedscopeFrame]
	stacks   stackTable
	unclosed []openEvent // of one timeline
	events   int         // written so far, of one timeline
}

// A speedscopeFrame is a function, or an event with a name only.
type speedscopeFrame struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// samples writes the profile of all samples.
func (f *speedscope) samples(t *profile.Trace) {
	var total time.Duration
	for _, s := range t.Samples {
		total += s.Weight
	}
	kind := "CPU time"
	if t.Engine == profile.EngineWall {
		kind = "wall-clock time"
	}
	f.profile("sampled", "samples of "+kind, 0, total)
	f.raw(`,"samples":`)
	writeList(f.jsonStream, slices.Values(t.Samples), func(b []byte, s profile.Sample) []byte {
		return append(f.appendFrames(append(b, '['), f.stacks.of(s, categoryGo)), ']')
	})
	f.raw(`,"weights":`)
	writeList(f.jsonStream, slices.Values(t.Samples), func(b []byte, s profile.Sample) []byte {
		return strconv.AppendInt(b, int64(s.Weight), 10)
	})
	f.raw("}")
}

// appendFrames appends the frames of a stack, outermost first.
func (f *speedscope) appendFrames(b []byte, at int) []byte {
	s := f.stacks.list[at]
	if s.parent >= 0 {
		b = append(f.appendFrames(b, s.parent), ',')
	}
	return strconv.AppendInt(b, int64(s.frame), 10)
}

// profile begins a profile.
func (f *speedscope) profile(kind, name string, start, end time.Duration) {
	fmt.Fprintf(f, "\n"+`{"type":"%s","name":%s,"unit":"nanoseconds","startValue":%d,"endValue":%d`,
		kind, appendText(nil, name), start, end)
}

// frame returns the index of a function. Speedscope distinguishes no lines or categories within a
// function.
func (f *speedscope) frame(c profile.Call, _ int) int {
	return f.frames.add(speedscopeFrame{cut(c.Name), cut(c.File), c.StartLine})
}

// An openEvent is an event without its closing event.
type openEvent struct {
	frame int
	end   time.Duration
}

// timeline writes the profile of a timeline's events. Each event opens and closes within the event
// around it.
func (f *speedscope) timeline(tl sessions.Timeline) {
	start, end := tl.Interval.Start, max(tl.Interval.Start, tl.Interval.End)
	f.profile("evented", title(tl), start, end)
	f.raw(`,"events":[`)
	// The first open event is the timeline itself, which gets no event.
	f.unclosed, f.events = append(f.unclosed[:0], openEvent{end: end}), 0
	at := start
	for e := range f.s.All(tl.ID) {
		if f.failed() {
			return
		}
		at = max(at, e.Interval.Start)
		f.closeUntil(at)
		within := min(e.Interval.End, f.unclosed[len(f.unclosed)-1].end)
		if within <= at {
			continue
		}
		frame := f.frame(profile.Call{Name: e.Name}, categoryGo)
		f.event('O', at, frame)
		f.unclosed = append(f.unclosed, openEvent{frame, within})
	}
	f.closeUntil(end)
	f.raw("]}")
}

// closeUntil closes the events that end at a time or before, innermost first.
func (f *speedscope) closeUntil(at time.Duration) {
	for len(f.unclosed) > 1 && f.unclosed[len(f.unclosed)-1].end <= at {
		last := f.unclosed[len(f.unclosed)-1]
		f.unclosed = f.unclosed[:len(f.unclosed)-1]
		f.event('C', last.end, last.frame)
	}
}

func (f *speedscope) event(kind byte, at time.Duration, frame int) {
	b := f.AvailableBuffer()
	if f.events++; f.events > 1 {
		b = append(b, ',')
	}
	b = append(append(append(b, `{"type":"`...), kind), `","at":`...)
	b = strconv.AppendInt(b, int64(at), 10)
	b = strconv.AppendInt(append(b, `,"frame":`...), int64(frame), 10)
	f.write(append(b, '}'))
}

func title(tl sessions.Timeline) string {
	name := cut(tl.Title())
	if tl.TraceID.IsValid() {
		name += " " + tl.TraceID.String()
	}
	return fmt.Sprintf("%s (at %s)", name, text.Duration(tl.Interval.Start))
}
