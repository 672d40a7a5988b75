package sessions

import (
	"iter"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/profile"
)

// A Session is what was recorded between a start and a stop (Scope Profiler, Session).
// It does not change, and lives as long as it is referred to, also when its Recorder has
// released it.
type Session struct {
	id        SessionID
	started   time.Time
	length    time.Duration
	trace     *profile.Trace
	offset    time.Duration // from started to the origin of trace
	cpu       []reading
	timelines []timeline // by id
	stats     Stats
}

// A timeline is a Timeline and its events.
type timeline struct {
	Timeline
	nodes   []node
	samples []int32 // indexes in the session's trace
}

// A Timeline is a tree of events (Scope Profiler, Timeline): of a request, of something that a
// request did at the same time, of the process, or of the garbage collector.
type Timeline struct {
	ID      TimelineID
	FrameID FrameID // timelines with the same one belong to one request
	Name    string  // of the request, as "GET /products/{id}", else "process" or "gc"
	Lane    int     // from 0, among the timelines of its frame; 0 has the request itself
	// BetweenMarks says that its events are measures between two marks, which were on no call stack.
	BetweenMarks bool

	TraceID trace.TraceID // of the request, zero if it had no span that was sampled
	SpanID  trace.SpanID

	Interval           Interval // of all its events
	Events             int      // how many there are
	Samples            int      // how many samples were taken in them
	ChildCount         uint32   // of them at the top level
	AggregatedTime     time.Duration
	AggregatedOverhead time.Duration
}

// Title tells the timelines of a frame apart: it is Name, and what the timeline is beside the
// first, as "POST /orders · 2" or "POST /orders · between marks".
func (t Timeline) Title() string {
	switch {
	case t.BetweenMarks:
		return t.Name + " · between marks"
	case t.Lane > 0:
		return t.Name + " · " + strconv.Itoa(t.Lane+1)
	}
	return t.Name
}

// Stats count what a session met.
type Stats struct {
	Events      uint64 // in all timelines, groups of samples included
	Entries     uint64 // of the timeline that were taken
	Dropped     uint64 // entries over Config.MaxEvents
	Lost        uint64 // entries lost before they came to the session: it was behind, or the timeline's buffers were full
	Samples     uint64
	Profiling   profile.Stats // of the sampler
	SamplesFull bool          // the sampler stopped before the session did, at Config.MaxSamples
}

// A Recording is what a session is made of.
type Recording struct {
	Started time.Time     // must carry a monotonic reading, as time.Now does, if the entries' times do
	Length  time.Duration // must not be negative
	Entries iter.Seq[observer.Entry]
	Trace   *profile.Trace // nil without samples
}

// ID is the session's.
func (s *Session) ID() SessionID { return s.id }

// Started is when it began, the zero of its times.
func (s *Session) Started() time.Time { return s.started }

// Length is how long it recorded.
func (s *Session) Length() time.Duration { return s.length }

// Stats are its counts.
func (s *Session) Stats() Stats { return s.stats }

// Trace has the samples, nil if there were none to be had. Its timestamps are since its own
// Origin, see [Session.Since]. It is shared: change a copy.
func (s *Session) Trace() *profile.Trace { return s.trace }

// Timelines are all timelines that have events: first those of the process, then the garbage
// collector's, then those of requests by their start, each frame's lanes together. The slice
// is the caller's.
func (s *Session) Timelines() []Timeline {
	all := make([]Timeline, len(s.timelines))
	for i := range s.timelines {
		all[i] = s.timelines[i].Timeline
	}
	return all
}

// NumTimelines is how many timelines there are. Their ids are 1 to that.
func (s *Session) NumTimelines() int { return len(s.timelines) }

// Timeline is one of the timelines, in whose order their ids are; ok is false for an unknown id.
func (s *Session) Timeline(id TimelineID) (tl Timeline, ok bool) {
	t := s.timeline(id)
	if t == nil {
		return Timeline{}, false
	}
	return t.Timeline, true
}

// All goes through all events of a timeline, as mode All has them; none for an unknown id.
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

// Samples goes through the samples taken in a timeline's events, in the order of time. Each
// sample of Trace is of one timeline. Those that ran for no request are of the process's last,
// where they have no event above them: it is not known what they were taken in.
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

// Since is when a sample of Trace was taken, since the session began.
func (s *Session) Since(sample profile.Sample) time.Duration { return sample.Timestamp + s.offset }

func (s *Session) timeline(id TimelineID) *timeline {
	if id == 0 || uint64(id) > uint64(len(s.timelines)) {
		return nil
	}
	return &s.timelines[id-1]
}

// event is a node as it is seen from outside.
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

// summarise makes the timeline the root of its events.
func (t *timeline) summarise() {
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
