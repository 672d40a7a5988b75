package sessions

import (
	"iter"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/profiling/profile"
)

// A Session is the record of a program between a start and a stop (Scope Profiler, Session). It is
// immutable, and stays valid when its Recorder releases it.
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
}

// A timeline is a Timeline with its events.
type timeline struct {
	Timeline
	nodes   []node
	samples []int32 // indexes in the session's trace
}

// A Timeline is a tree of events (Scope Profiler, Timeline): of a request, of concurrent work of a
// request, of the process, or of the garbage collector.
type Timeline struct {
	ID TimelineID
	// FrameID identifies a request, the process (1) or the garbage collector (2), in its session.
	// All timelines of a request have the same FrameID.
	FrameID uint32
	Name    string // of the request, as "GET /products/{id}", or "process" or "gc"
	Lane    int    // index in the frame; lane 0 contains the request itself
	// BetweenMarks is set for measures between two marks, which were on no call stack.
	BetweenMarks bool

	TraceID trace.TraceID // of the request, zero without a sampled span
	SpanID  trace.SpanID

	Interval           Interval // hull of all events
	Events             int      // number of events
	Samples            int      // number of samples
	ChildCount         uint32   // events at the top level
	AggregatedTime     time.Duration
	AggregatedOverhead time.Duration
}

// Title returns the name, and the lane unless it is lane 0, as "POST /orders", "POST /orders · 2"
// or "POST /orders · between marks".
func (t Timeline) Title() string {
	switch {
	case t.BetweenMarks:
		return t.Name + " · between marks"
	case t.Lane > 0:
		return t.Name + " · " + strconv.Itoa(t.Lane+1)
	}
	return t.Name
}

// Stats counts the recorded and lost events of a session.
type Stats struct {
	Events  uint64 // events in all timelines, including groups of samples
	Entries uint64 // entries of the program's timeline
	Dropped uint64 // entries over Config.MaxEvents
	// Lost is the number of entries that did not reach the session, because the recorder was too
	// slow or the timeline's buffers were full.
	Lost        uint64
	Samples     uint64
	Profiling   profile.Stats // of the sampler
	SamplesFull bool          // the sampler stopped before the session did, at Config.MaxSamples
	// EntryCost is the recorder's average work for an entry, which the entry adds to Overhead.
	EntryCost time.Duration
	// ProcessFailed is the number of failed profiles of the process, or over 16 MiB. Config.Logger
	// has the reason.
	ProcessFailed uint64
}

// ID returns the id that Recorder.Start returned.
func (s *Session) ID() SessionID { return s.id }

// Started returns the beginning of the session: the zero of its times.
func (s *Session) Started() time.Time { return s.started }

// Length returns the length of the recording.
func (s *Session) Length() time.Duration { return s.length }

// Stats returns the counts.
func (s *Session) Stats() Stats { return s.stats }

// Trace returns the samples, or nil without a sampler. Timestamps are since the trace's own Origin:
// see [Session.Since]. The trace is read-only.
func (s *Session) Trace() *profile.Trace { return s.trace }

// Timelines returns all timelines with events: of the process, of the garbage collector, then of
// requests by start. The lanes of a frame are adjacent. The timelines have the ids 1, 2, 3 and so
// on, in this order. The slice is the caller's.
func (s *Session) Timelines() []Timeline {
	all := make([]Timeline, len(s.timelines))
	for i := range s.timelines {
		all[i] = s.timelines[i].Timeline
	}
	return all
}

// Timeline returns the timeline with an id. ok is false for an unknown id.
func (s *Session) Timeline(id TimelineID) (tl Timeline, ok bool) {
	t, ok := s.timeline(id)
	return t.Timeline, ok
}

// All yields all events of a timeline, as mode All does, and none for an unknown id.
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

// Samples yields the samples of a timeline by time. Each sample of Trace is in one timeline.
// Samples without a span are in the last timeline of the process, at the top level.
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

// Since returns the time of a sample of Trace, since the session began.
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
