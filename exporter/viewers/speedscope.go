package viewers

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
)

// WriteSpeedscope writes a session in speedscope's file format.
//
//   - The first profile has all samples in the order of time, weighed by the time that they stand
//     for. It shows where the program spent its time.
//   - Then each timeline is a profile of its events: in speedscope's "Time Order" what a request
//     waited for and called, in "Left Heavy" and "Sandwich" what its measures come to. Samples events are
//     in it, which are the code below each measure, as an estimate. Its name has the trace's id and when it began.
//
// Moments are not in it: speedscope shows nothing that takes no time, and has no place for details. An event
// that ends after the one around it, which events of a session do not, ends with that.
//
// The format repeats the whole stack for each sample: 1e6 samples of 500 functions are a file of 2 GB.
// Texts, time, memory and errors are as in [WriteFirefox]. Times are nanoseconds since the session began.
func WriteSpeedscope(w io.Writer, s *sessions.Session) error { return writeSpeedscope(w, s) }

func writeSpeedscope(w io.Writer, s recorded) error {
	f := speedscope{jsonStream: newJSONStream(w), s: s}
	f.stacks.trace, f.stacks.frame = s.Trace(), f.frame
	f.raw(`{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"perfline","name":`)
	f.text("session of " + s.Started().UTC().Format("2006-01-02 15:04:05.000Z"))
	f.raw(`,"activeProfileIndex":0,"profiles":[`)
	separator := ""
	if t := s.Trace(); t != nil && len(t.Samples) > 0 {
		f.samples(t)
		separator = ","
	}
	for _, tl := range s.Timelines() {
		if f.failed() {
			return f.flush()
		}
		f.raw(separator)
		f.timeline(tl)
		separator = ","
	}
	if separator == "" { // speedscope fails over a file without a profile
		f.timeline(sessions.Timeline{Name: "nothing was recorded"})
	}
	// The frames are known when all profiles are written.
	f.raw("],\n" + `"shared":{"frames":`)
	writeList(f.jsonStream, slices.Values(f.frames.list), appendSpeedscopeFrame)
	f.raw("}}\n")
	return f.flush()
}

// speedscope is a file while it is written.
type speedscope struct {
	jsonStream
	s      recorded
	frames table[profile.Call] // without Line; a frame of an event has a name only
	stacks stackTable
	path   []int       // frames of one sample, innermost first
	open   []openEvent // of one timeline
	events int         // written of one timeline
}

// samples writes the profile of all samples.
func (f *speedscope) samples(t *profile.Trace) {
	var total time.Duration
	for _, s := range t.Samples {
		total += s.Weight
	}
	kind := "CPU time"
	if t.Engine == "wall" {
		kind = "wall-clock time"
	}
	f.raw("\n" + `{"type":"sampled","name":"samples of ` + kind + `","unit":"nanoseconds","startValue":0,"endValue":` + strconv.FormatInt(int64(total), 10))
	f.raw(`,"samples":`)
	writeList(f.jsonStream, slices.Values(t.Samples), func(b []byte, s profile.Sample) []byte {
		f.path = f.path[:0]
		for at := f.stacks.of(s, categoryGo); at >= 0; at = f.stacks.list[at].parent {
			f.path = append(f.path, f.stacks.list[at].frame)
		}
		b = append(b, '[')
		for i, frame := range slices.Backward(f.path) {
			b = strconv.AppendInt(b, int64(frame), 10)
			if i > 0 {
				b = append(b, ',')
			}
		}
		return append(b, ']')
	})
	f.raw(`,"weights":`)
	writeList(f.jsonStream, slices.Values(t.Samples), func(b []byte, s profile.Sample) []byte {
		return strconv.AppendInt(b, int64(s.Weight), 10)
	})
	f.raw("}")
}

// frame is the index of a function, which has one frame: speedscope has no lines or categories
// below that.
func (f *speedscope) frame(c profile.Call, _ int) int {
	c.Name, c.File, c.Line = cut(c.Name), cut(c.File), 0
	return f.frames.add(c)
}

// An openEvent is one that has not ended yet, where the timeline's are written.
type openEvent struct {
	frame int
	end   time.Duration
}

// timeline writes the profile of a timeline's events. Each opens and closes within the one that
// is open when it begins, which is how they are in the session, too.
func (f *speedscope) timeline(tl sessions.Timeline) {
	start, end := tl.Interval.Start, max(tl.Interval.Start, tl.Interval.End)
	f.raw("\n" + `{"type":"evented","name":`)
	f.text(title(tl))
	f.raw(`,"unit":"nanoseconds","startValue":` + strconv.FormatInt(int64(start), 10) + `,"endValue":` + strconv.FormatInt(int64(end), 10))
	f.raw(`,"events":[`)
	f.open, f.events = append(f.open[:0], openEvent{end: end}), 0 // the timeline itself, which is not written
	at := start
	for e := range f.s.All(tl.ID) {
		if f.failed() {
			return
		}
		at = max(at, e.Interval.Start)
		f.closeUntil(at)
		within := min(e.Interval.End, f.open[len(f.open)-1].end)
		if within <= at {
			continue
		}
		frame := f.frame(profile.Call{Name: e.Name}, categoryGo)
		f.event('O', at, frame)
		f.open = append(f.open, openEvent{frame, within})
	}
	f.closeUntil(end)
	f.raw("]}")
}

// closeUntil closes the events that end until then, innermost first.
func (f *speedscope) closeUntil(at time.Duration) {
	for len(f.open) > 1 && f.open[len(f.open)-1].end <= at {
		last := f.open[len(f.open)-1]
		f.open = f.open[:len(f.open)-1]
		f.event('C', last.end, last.frame)
	}
}

func (f *speedscope) event(kind byte, at time.Duration, frame int) {
	b := f.b.AvailableBuffer()
	if f.events++; f.events > 1 {
		b = append(b, ',')
	}
	b = append(append(append(b, `{"type":"`...), kind), `","at":`...)
	b = strconv.AppendInt(append(strconv.AppendInt(b, int64(at), 10), `,"frame":`...), int64(frame), 10)
	f.bytes(append(b, '}'))
}

func title(tl sessions.Timeline) string {
	name := cut(tl.Title())
	if tl.TraceID.IsValid() {
		name += " " + tl.TraceID.String()
	}
	return fmt.Sprintf("%s (at %s)", name, text.Duration(tl.Interval.Start))
}

func appendSpeedscopeFrame(b []byte, c profile.Call) []byte {
	b = appendText(append(b, `{"name":`...), c.Name)
	if c.File != "" {
		b = appendText(append(b, `,"file":`...), c.File)
	}
	if c.StartLine > 0 {
		b = strconv.AppendInt(append(b, `,"line":`...), int64(c.StartLine), 10)
	}
	return append(b, '}')
}
