package sessions

import (
	"iter"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/profiling/profile"
)

// A Session is what was recorded between a start and a stop (Scope Profiler, Session). It does not
// change. It stays valid when its Recorder releases it.
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

// A timeline is a Timeline and its events.
type timeline struct {
	Timeline
	nodes   []node
	samples []int32 // indexes in the session's trace
}

// A Timeline is a tree of events (Scope Profiler, Timeline): of a request, of concurrent work of a
// request, of the process, or of the garbage collector.
type Timeline struct {
	ID      TimelineID
	FrameID FrameID // timelines with the same one belong to one request
	Name    string  // of the request, as "GET /products/{id}", else "process" or "gc"
	Lane    int     // from 0, among the timelines of its frame; lane 0 has the request itself
	// BetweenMarks is set if the events are measures between two marks, which were on no call
	// stack.
	BetweenMarks bool

	TraceID trace.TraceID // of the request, zero without a sampled span
	SpanID  trace.SpanID

	Interval           Interval // of all its events
	Events             int      // number of events
	Samples            int      // number of samples in them
	ChildCount         uint32   // events at the top level
	AggregatedTime     time.Duration
	AggregatedOverhead time.Duration
}

// Title returns a name that tells the timelines of a frame apart, as "POST /orders", "POST /orders
// · 2" or "POST /orders · between marks".
func (t Timeline) Title() string {
	switch {
	case t.BetweenMarks:
		return t.Name + " · between marks"
	case t.Lane > 0:
		return t.Name + " · " + strconv.Itoa(t.Lane+1)
	}
	return t.Name
}

// Stats counts what a session recorded and lost.
type Stats struct {
	Events  uint64 // in all timelines, groups of samples included
	Entries uint64 // of the program's timeline
	Dropped uint64 // entries over Config.MaxEvents
	// entries that did not reach the session: the recorder was behind, or the timeline's buffers were full
	Lost        uint64
	Samples     uint64
	Profiling   profile.Stats // of the sampler
	SamplesFull bool          // the sampler stopped before the session did, at Config.MaxSamples
	// EntryCost is how long the recorder worked on an entry, on average: what an entry adds to
	// Overhead.
	EntryCost time.Duration
	// ProcessFailed is how many profiles of the process could not be taken, or had more than 16
	// MiB. The log has the reason.
	ProcessFailed uint64
}

// ID returns the id that Recorder.Start gave.
func (s *Session) ID() SessionID { return s.id }

// Started returns when the session began, the zero of its times.
func (s *Session) Started() time.Time { return s.started }

// Length returns how long the session recorded.
func (s *Session) Length() time.Duration { return s.length }

// Stats returns the counts.
func (s *Session) Stats() Stats { return s.stats }

// Trace returns the samples, or nil without a sampler. Timestamps are since the trace's own Origin,
// see [Session.Since]. The trace is shared: change a copy.
func (s *Session) Trace() *profile.Trace { return s.trace }

// Timelines returns all timelines that have events, first of the process, then of the garbage
// collector, then of requests by start. A frame's lanes follow each other. The timelines have the
// ids 1, 2, 3 and so on, in this order. The slice is the caller's.
func (s *Session) Timelines() []Timeline {
	all := make([]Timeline, len(s.timelines))
	for i := range s.timelines {
		all[i] = s.timelines[i].Timeline
	}
	return all
}

// Timeline returns the timeline of an id. ok is false for an unknown id.
func (s *Session) Timeline(id TimelineID) (tl Timeline, ok bool) {
	t := s.timeline(id)
	if t == nil {
		return Timeline{}, false
	}
	return t.Timeline, true
}

// All yields all events of a timeline, as mode All has them, and none for an unknown id.
func (s *Session) All(id TimelineID) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		t := s.timeline(id)
		if t == nil {
			return
		}
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
		t := s.timeline(id)
		if t == nil {
			return
		}
		for _, i := range t.samples {
			if !yield(s.trace.Samples[i]) {
				return
			}
		}
	}
}

// Since returns when a sample of Trace was taken, since the session began.
func (s *Session) Since(sample profile.Sample) time.Duration { return sample.Timestamp + s.offset }

func (s *Session) timeline(id TimelineID) *timeline {
	if id == 0 || uint64(id) > uint64(len(s.timelines)) {
		return nil
	}
	return &s.timelines[id-1]
}

// event returns the event of a node.
func (t *timeline) event(i int) Event {
	n := &t.nodes[i]
	return Event{
		Type: n.typ, Name: n.name, Time: n.self, Overhead: n.overhead, Hits: 1,
		Interval: Interval{Start: n.start, End: n.end},
		ID:       EventID(i + 1), ParentID: EventID(n.parent + 1), ChildCount: n.children,
		AggregatedTime: n.total, AggregatedOverhead: n.totalOver,
		SpanID: n.span, Detail: n.detail,
	}
}

// sum adds up what the timeline has of its events at the top level.
func (t *timeline) sum() {
	for i := 0; i < len(t.nodes); i += int(t.nodes[i].size) {
		n := &t.nodes[i]
		if i == 0 {
			t.Interval = Interval{Start: n.start, End: n.end}
		}
		t.Interval.End = max(t.Interval.End, n.end)
		t.ChildCount++
		t.AggregatedTime += n.total
		t.AggregatedOverhead += n.totalOver
	}
}
