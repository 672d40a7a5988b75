package sessions

import (
	"iter"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/profiling/profile"
)

// A Session contains the events and samples of a program between a start and a stop (Scope
// Profiler, Session). A Session is immutable. A Session stays valid after the recorder has removed
// the session.
type Session struct {
	id              SessionID
	started         time.Time
	length          time.Duration
	trace           *profile.Trace
	offset          time.Duration // from started to the origin of trace
	cpu             []reading
	timelines       []timeline // by id
	processProfiles []processProfile
	stats           Stats
	entryCost       time.Duration // the recorder's average work for an entry
}

// A timeline is a Timeline with its events.
type timeline struct {
	Timeline
	nodes   []node
	samples []int32 // indexes in the session's trace
}

// A Timeline is the summary of a tree of events in a session (Scope Profiler, Timeline). The events
// belong to a request, to concurrent work of a request, to the process, or to the garbage
// collector.
type Timeline struct {
	ID TimelineID
	// FrameID identifies a frame within the session: 1 is the process, 2 is the garbage collector,
	// greater numbers are requests. All timelines of a request contain the same FrameID.
	FrameID uint32
	Name    string // name of the request, such as "GET /products/{id}"; or "process" or "gc"
	Lane    int    // index in the frame; lane 0 contains the request itself
	// BetweenMarks reports whether the timeline contains only measures between two marks. Such
	// measures were on no call stack.
	BetweenMarks bool

	TraceID trace.TraceID // trace of the request, zero without a sampled span
	SpanID  trace.SpanID  // root span of the request, or zero

	Interval           Interval      // from the first start to the last end of all events
	Events             int           // number of events
	Samples            int           // number of samples
	ChildCount         uint32        // number of events at the top level
	AggregatedTime     time.Duration // sum of Time of all events
	AggregatedOverhead time.Duration // sum of Overhead of all events
}

// Title returns a title of the timeline for display. Examples are "POST /orders" for lane 0, and
// "POST /orders · 2" for lane 1. If BetweenMarks is true, the title is "POST /orders · between
// marks".
func (t Timeline) Title() string {
	switch {
	case t.BetweenMarks:
		return t.Name + " · between marks"
	case t.Lane > 0:
		return t.Name + " · " + strconv.Itoa(t.Lane+1)
	}
	return t.Name
}

// Stats counts the events, entries and samples of a session, including lost entries.
type Stats struct {
	Events  uint64 // events in all timelines, including groups of samples
	Entries uint64 // entries of the program's timeline
	Dropped uint64 // entries that the session dropped at Config.MaxEvents
	// Lost counts entries that did not reach the session. Possible reasons are a slow recorder and
	// full buffers of the timeline.
	Lost        uint64
	Samples     uint64
	Profiling   profile.Stats // counts of the sampler
	SamplesFull bool          // the sampler stopped before the session, at Config.MaxSamples
	// ProcessFailed counts profiles of the process that failed or exceeded 16 MiB. Config.Logger
	// logs the reason.
	ProcessFailed uint64
}

// ID returns the session's id, which Recorder.Start returned.
func (s *Session) ID() SessionID { return s.id }

// Started returns the wall-clock time at which the session began.
func (s *Session) Started() time.Time { return s.started }

// Length returns the time from the beginning to the end of the session's recording.
func (s *Session) Length() time.Duration { return s.length }

// Stats returns the session's counts of events, entries and samples.
func (s *Session) Stats() Stats { return s.stats }

// Trace returns the session's samples, or nil if the session took no samples. The timestamps of the
// samples are relative to the trace's Origin. [Session.Since] converts such a timestamp to a time
// of the session. Callers must not change the trace.
func (s *Session) Trace() *profile.Trace { return s.trace }

// Timelines returns all timelines that contain events. The ids of the timelines are 1, 2, 3 and so
// on, in the order of the list. The caller may change the slice. The order of the list is:
//
//   - the timelines of the process
//   - the timelines of the garbage collector
//   - the timelines of each request, sorted by the start of the request
func (s *Session) Timelines() []Timeline {
	all := make([]Timeline, len(s.timelines))
	for i := range s.timelines {
		all[i] = s.timelines[i].Timeline
	}
	return all
}

// Timeline returns the timeline with the given id. ok is false for an unknown id.
func (s *Session) Timeline(id TimelineID) (tl Timeline, ok bool) {
	t, ok := s.timeline(id)
	return t.Timeline, ok
}

// All yields all events of the timeline with the given id, sorted by start. For an unknown id, All
// yields no events.
func (s *Session) All(id TimelineID) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		t, _ := s.timeline(id)
		for i := range t.nodes {
			if !yield(t.event(i)) {
				return
			}
		}
	}
}

// Samples yields the samples of the timeline with the given id, sorted by time. Each sample of
// [Session.Trace] belongs to exactly one timeline. Samples without a span belong to the last
// timeline of the process, at the top level.
func (s *Session) Samples(id TimelineID) iter.Seq[profile.Sample] {
	return func(yield func(profile.Sample) bool) {
		t, _ := s.timeline(id)
		for _, i := range t.samples {
			if !yield(s.trace.Samples[i]) {
				return
			}
		}
	}
}

// Since returns the time from the beginning of the session to the given sample. The sample must be
// a sample of [Session.Trace].
func (s *Session) Since(sample profile.Sample) time.Duration { return sample.Timestamp + s.offset }

// timeline returns an empty timeline and false for an unknown id.
func (s *Session) timeline(id TimelineID) (*timeline, bool) {
	if id == 0 || uint64(id) > uint64(len(s.timelines)) {
		return &timeline{}, false
	}
	return &s.timelines[id-1], true
}

func (t *timeline) event(i int) Event {
	n := &t.nodes[i]
	return Event{
		Type: n.typ, Name: n.name, Time: n.self, Overhead: n.overhead, Hits: 1,
		Interval: Interval{Start: n.start, End: n.end},
		ID:       EventID(i + 1), ParentID: EventID(n.parent + 1), ChildCount: n.children,
		AggregatedTime: n.total, AggregatedOverhead: n.totalOverhead,
		SpanID: n.span, Detail: n.detail,
	}
}

// sum sets the totals of the timeline from its events at the top level.
func (t *timeline) sum() {
	for i := 0; i < len(t.nodes); i += int(t.nodes[i].size) {
		n := &t.nodes[i]
		if i == 0 {
			t.Interval = Interval{Start: n.start, End: n.end}
		}
		t.Interval.End = max(t.Interval.End, n.end)
		t.ChildCount++
		t.AggregatedTime += n.total
		t.AggregatedOverhead += n.totalOverhead
	}
}
