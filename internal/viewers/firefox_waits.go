package viewers

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
	"github.com/perfline/perfline/waits"
)

// Types of markers of execution traces.
const (
	stateMarker = "State"
	causeMarker = "Cause"
)

// stateFields are the fields of states.
var stateFields = []field{
	{"trace", "trace id", "string"}, {"span", "span id", "string"},
	{"in", "in", formatText}, {"by", "ended by", formatText},
	{"had", "processor used by", formatText},
	{"request", "of the request", formatText}, {"byTrace", "of the trace", "string"},
}

// stateCategories are the categories of states.
var stateCategories = [waiting.Classes]int{
	waiting.ClassUnknown: categoryOther, waiting.ClassRunning: categoryGo,
	waiting.ClassRunnable: categoryRunnable,
	waiting.ClassWaiting:  categoryWaiting, waiting.ClassSyscall: categorySyscall,
	waiting.ClassCollector: categoryGC,
}

// waitResults holds the waits of requests.
type waitResults map[local.ID]*waits.Request

func newWaitResults(results []*waits.Request) waitResults {
	all := waitResults{}
	for _, r := range results {
		if r != nil {
			all[local.ID{Trace: r.TraceID, Span: r.RootID}] = r
		}
	}
	return all
}

// of returns the result of a timeline's request, or nil.
func (t waitResults) of(tl sessions.Timeline) *waits.Request {
	if !tl.SpanID.IsValid() {
		return nil
	}
	return t[local.ID{Trace: tl.TraceID, Span: tl.SpanID}]
}

// samples yields the samples of a timeline that do not contradict the states of its request. main
// is the timeline with the request itself.
func (f *firefox) samples(tl, main sessions.Timeline) iter.Seq[profile.Sample] {
	r := f.results.of(tl)
	if r == nil || f.trace == nil {
		return f.s.Samples(tl.ID)
	}
	skew := requests.SampleSkew(f.trace)
	every := func(trace.SpanID) bool { return true }
	return func(yield func(profile.Sample) bool) {
		for s := range f.s.Samples(tl.ID) {
			at := f.s.Since(s) - main.Interval.Start
			if waiting.Agrees(r, at, skew, s.Marker == profile.Idle, every) && !yield(s) {
				return
			}
		}
	}
}

// A threadHead describes a thread before its markers.
type threadHead struct {
	name, process string
	main          bool
	pid, tid      sessions.TimelineID
	start, end    time.Duration // since the session began
}

func (f *firefox) head(h threadHead) {
	fmt.Fprintf(f, "\n"+
		`{"name":%s,"processName":%s,"processType":"default","isMainThread":%t,"pid":"%d","tid":%d,`+
		`"processStartupTime":0,"processShutdownTime":null,"registerTime":%s,"unregisterTime":%s,"pausedRanges":[],"showMarkersInTimeline":true,`+
		"\n"+`"markers":{`,
		appendText(nil, h.name), appendText(nil, h.process), h.main, h.pid, h.tid,
		appendMillis(nil, h.start-f.zero), appendMillis(nil, h.end-f.zero))
}

// goroutines writes a thread for each goroutine that worked for a request. main is the timeline
// with the request itself.
func (f *firefox) goroutines(r *waits.Request, main sessions.Timeline) {
	ids := fmt.Sprintf(`,"trace":"%s"`, r.TraceID)
	start := main.Interval.Start - f.zero // in the file
	columns := []column[waits.Interval]{
		integers("name", func(i waits.Interval) int { return addText(&f.texts, i.Kind.String()) }),
		times("startTime", func(i waits.Interval) time.Duration { return start + i.Start }),
		times("endTime", func(i waits.Interval) time.Duration { return start + i.End }),
		constant[waits.Interval]("phase", fmt.Sprint(phaseInterval)),
		integers("category",
			func(i waits.Interval) int { return stateCategories[waiting.ClassOf(i.Kind)] }),
		{"data", func(b []byte, i waits.Interval) []byte {
			return f.appendState(b, ids, start, &i)
		}},
	}
	for n := range r.Goroutines {
		if f.failed() {
			return
		}
		g := &r.Goroutines[n]
		f.lastTID++
		f.raw(",")
		f.head(threadHead{name: goroutineName(g), process: main.Name, pid: main.ID, tid: f.lastTID,
			start: main.Interval.Start, end: main.Interval.End})
		writeTable(f.jsonStream, slices.Values(g.Intervals), columns)
		f.raw("},\n" + `"samples":{"weightType":"tracing-ms",`)
		writeTable(f.jsonStream, slices.Values([]profile.Sample(nil)), f.sampleColumns())
		f.raw("}}")
	}
}

func goroutineName(g *waits.Goroutine) string {
	name := fmt.Sprintf("goroutine %d", g.ID)
	if g.Function != "" {
		name += " " + text.Function(g.Function)
	}
	return name
}

// partyName names the function of a party, or its goroutine.
func partyName(p *waits.Party) string {
	if p.Function != "" {
		return text.Function(p.Function)
	}
	return fmt.Sprintf("goroutine %d", p.Goroutine)
}

// appendState appends the payload of a state. start is the request's start in the file.
func (f *firefox) appendState(b []byte, ids string, start time.Duration, i *waits.Interval) []byte {
	b = append(append(append(b, `{"type":"`...), stateMarker...), '"')
	b = append(b, ids...)
	if i.SpanID.IsValid() {
		b = fmt.Appendf(b, `,"span":"%s"`, i.SpanID)
	}
	if in := waiting.Function(i); in != "" {
		b = appendText(append(b, `,"in":`...), text.Function(in))
	}
	if by := i.By; by != nil {
		key := "by"
		if i.Kind == waits.Runnable {
			key = "had"
		}
		b = appendText(fmt.Appendf(b, `,"%s":`, key), partyName(by))
		if by.RootID.IsValid() {
			b = appendText(append(b, `,"request":`...), by.Request)
			b = fmt.Appendf(b, `,"byTrace":"%s"`, by.TraceID)
		}
	}
	if stack := f.stackOf(i.Stack); stack >= 0 {
		b = fmt.Appendf(b, `,"cause":{"time":%s,"stack":%d}`, appendMillis(nil, start+i.Start),
			stack)
	}
	return append(b, '}')
}

// stackOf returns the index of a stack, or -1.
func (f *firefox) stackOf(frames []waits.Frame) int {
	at := -1
	for _, frame := range slices.Backward(frames) {
		at = f.stacks.add(stack{at,
			f.frame(profile.Call{Name: frame.Function, File: frame.File, Line: frame.Line},
				categoryGo)})
	}
	return at
}

// stateSchema describes the types of markers of execution traces.
func stateSchema() []object {
	return []object{
		{"name": stateMarker, "display": markerDisplay, "tooltipLabel": "{marker.name}",
			"chartLabel": "{marker.data.in}", "isStackBased": true, "fields": stateFields},
		{"name": causeMarker, "display": markerDisplay, "tooltipLabel": causeMarker,
			"isStackBased": true, "fields": commonFields[:2]},
	}
}
