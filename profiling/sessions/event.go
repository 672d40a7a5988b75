package sessions

import (
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// An EventType says what an event is (Scope Profiler, EventType). Generic and Process are the
// specification's, with its numbers; the others are Go's.
type EventType uint8

// The event types.
const (
	Generic EventType = 1 // all types, in answers of ReduceAll
	// user and kernel time of the operating system's process, in answers of ReduceAll
	Process EventType = 2
	Request EventType = 3 // an inbound request; its name is the method and the route
	// an outbound request, or a query; its name is the method and the host, or the entry's
	Call EventType = 4
	// Measure is a measure, or a span of other instrumentation. A frame shows up to 64 overlapping
	// measures between marks. Further ones are moments at their start, with "duration" first in the
	// detail.
	Measure EventType = 5
	Mark    EventType = 6 // a moment, of no length
	// Server is a Server-Timing metric of a call's response: a moment at the call's start. Its time
	// in the other process is in the detail, under "duration".
	Server EventType = 7
	GC     EventType = 8 // a garbage collection stopped the program
	// Samples is a group of consecutive samples of a function in an event, with the function's
	// name. Time is an estimate, see the package's comment. Groups of samples that were taken at
	// once, by the wall clock, may overlap.
	Samples EventType = 9
)

var eventTypes = [...]string{
	Generic: "GENERIC", Process: "PROCESS", Request: "REQUEST", Call: "CALL", Measure: "MEASURE",
	Mark: "MARK", Server: "SERVER", GC: "GC", Samples: "SAMPLES",
}

// String is the type's name in the manner of the specification, such as "REQUEST".
func (t EventType) String() string {
	if t < Generic || t > Samples {
		return fmt.Sprintf("EventType(%d)", uint8(t))
	}
	return eventTypes[t]
}

// A Mode says how an answer sums up the events of the timeline (Scope Profiler, Mode).
type Mode uint8

// The modes.
const (
	All                Mode = 1 // every event, with its name and detail; the default
	ReduceUniqueTypes  Mode = 2 // a virtual event for each type
	ReduceUniqueEvents Mode = 3 // a virtual event for each type and name
	// ReduceAll is one virtual event of type Generic for all events. Where the system tells, an
	// event of type Process follows: the CPU time that the process used in that interval. With
	// Query.Types it follows only if Process is among them; with no other type it is the only
	// event.
	ReduceAll Mode = 4
)

// A SessionID identifies a session of a recorder. Like all ids here it is never zero (Scope
// Profiler).
type SessionID uint32

// A TimelineID identifies a timeline of its session.
type TimelineID uint32

// A FrameID identifies a request, the process (1) or the garbage collector (2), in its session.
type FrameID uint32

// An EventID identifies an event of its timeline.
type EventID uint32

// An Interval lasts from Start to End, since the session began.
type Interval struct{ Start, End time.Duration }

// An Event is how long something took (Scope Profiler, Event). An event that a Mode makes of
// several is virtual. It has the sums of their Time, Overhead and Hits, and the hull of their
// Intervals. It has no ID and no Aggregated times.
type Event struct {
	Type     EventType
	Name     string        // type-specific: in modes All and ReduceUniqueEvents
	Time     time.Duration // self time, without the events below and without Overhead
	Overhead time.Duration // of profiling, an estimate from counts, see the package's comment
	Hits     uint32        // 1, or the number of events of a virtual one
	Interval Interval

	ID         EventID // 0 if virtual
	ParentID   EventID // 0 at the top level
	ChildCount uint32  // immediate children

	AggregatedTime     time.Duration // of this event and all below
	AggregatedOverhead time.Duration

	SpanID trace.SpanID // of the event's own span, zero without one; in mode All only

	// Detail has the entry's attributes, in mode All only. Strings over 1024 bytes are cut, except
	// in lists. record.Freeze documents the kinds of values. The slice and the lists in it are
	// shared: do not change them.
	Detail []slog.Attr
}

// A Query asks for events of a timeline (Scope Profiler, GetEventsArg).
type Query struct {
	Timeline TimelineID
	Mode     Mode // 0 means All

	// Event asks for the events below it instead of the whole timeline. It is not in the answer.
	Event EventID
	// MaxDepth is how many levels the answer has: 1 is the children of the root only, 0 means all.
	MaxDepth uint32
	// Types are the types in the answer; empty means all. Events below an event of another type are
	// in the answer, and keep their ParentID.
	Types []EventType
	// From and To leave out events that do not overlap the time between; nil is no limit. An event
	// that ends at From or begins at To does not overlap, but a moment at From does.
	From, To *time.Duration

	// Limit is the most events in the answer: 0 means all.
	Limit int
	// After, in mode All, asks for the events that follow that one. It is the ID of the last event
	// of the page before.
	After EventID
}
