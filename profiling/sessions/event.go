package sessions

import (
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// An EventType says what an event is (Scope Profiler, EventType). Generic and Process are
// the specification's, with its numbers; the others are Go's.
type EventType uint8

// The event types.
const (
	Generic EventType = 1 // of all types, in answers of ReduceAll
	Process EventType = 2 // user and kernel time of the operating system's process, in answers of ReduceAll
	Request EventType = 3 // an inbound request; its name is the method and the route
	Call    EventType = 4 // an outbound request, or a query; its name is the method or what it is about
	// Measure is a measure, or a span of other instrumentation. Of measures between two marks
	// a frame shows 64 side by side: further ones that overlap these are moments at their start, with how long
	// they took in the detail, first, under "duration".
	Measure EventType = 5
	Mark    EventType = 6 // a moment, of no length
	// Server is a Server-Timing metric that a call's response had: a moment at the call's start. How
	// long it took in the other process is in the detail, under "duration".
	Server EventType = 7
	GC     EventType = 8 // the program stood still for a collection of garbage
	// Samples is a group of consecutive samples of the same function in the same event,
	// by the function's name. Each sample stands for the time since the one before it, or
	// for the session's interval if that was longer ago, as far as no other event was there: an estimate.
	// Those that were taken at once, by the wall clock of several goroutines, share that time by their weight:
	// Time is what the group has of it, and its interval may overlap other groups'.
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

// A Mode says how events are processed before they are given (Scope Profiler, Mode).
type Mode uint8

// The modes.
const (
	All                Mode = 1 // every event, with its name and detail; the default
	ReduceUniqueTypes  Mode = 2 // a virtual event for each type
	ReduceUniqueEvents Mode = 3 // a virtual event for each type and name
	// ReduceAll is one virtual event of type Generic over everything and, where the system tells, one
	// of type Process: the CPU time that the process used in that interval. Query.Types leaves that out
	// unless Process is among them; with no other type it is the answer's only event.
	ReduceAll Mode = 4
)

var modes = [...]string{
	All: "ALL", ReduceUniqueTypes: "REDUCE_UNIQUE_TYPES", ReduceUniqueEvents: "REDUCE_UNIQUE_EVENTS", ReduceAll: "REDUCE_ALL",
}

// String is the mode's name in the specification, such as "REDUCE_ALL".
func (m Mode) String() string {
	if m < All || m > ReduceAll {
		return fmt.Sprintf("Mode(%d)", uint8(m))
	}
	return modes[m]
}

// A SessionID means a session of a recorder. Like all ids here it is never zero (Scope
// Profiler).
type SessionID uint32

// A TimelineID means a timeline of its session.
type TimelineID uint32

// A FrameID means a request, the process (1) or the garbage collector (2), in its session.
type FrameID uint32

// An EventID means an event of its timeline.
type EventID uint32

// An Interval is from Start to End, since the session began.
type Interval struct{ Start, End time.Duration }

// An Event is how long something took (Scope Profiler, Event). One that a Mode made of
// several is virtual: it has no ID and no Aggregated, their Time, Overhead and Hits summed, and
// their hull as Interval.
type Event struct {
	Type     EventType
	Name     string        // type-specific: in modes All and ReduceUniqueEvents
	Time     time.Duration // in itself, without the events below and without Overhead
	Overhead time.Duration // time that passed because of profiling
	Hits     uint32        // 1, or how many events a virtual one is made of
	Interval Interval      // from when it first began to when it last ended

	ID         EventID // 0 if virtual
	ParentID   EventID // 0 at the top level
	ChildCount uint32  // immediate children

	AggregatedTime     time.Duration // of this event and all below
	AggregatedOverhead time.Duration

	SpanID trace.SpanID // the span that it is, zero if it is none; in mode All only

	// Detail is what else is known: the attributes of a mark, say. In mode All only. Strings over
	// 1024 bytes are cut, except in lists. observer.Freeze documents the kinds of values. The slice
	// and the lists in it are shared: do not change them.
	Detail []slog.Attr
}

// A Query asks for events of a timeline (Scope Profiler, GetEventsArg).
type Query struct {
	Timeline TimelineID
	Mode     Mode // 0 means All

	// Event asks for what is below it instead of the whole timeline; it is not itself in the answer.
	Event EventID
	// MaxDepth is how many levels are given: 1 is the children of the root only. 0 means all: who
	// decodes a request in which 0 was said says BadRequestError.
	MaxDepth uint32
	// Types are the types given; empty means all. Those below an event that is left out are
	// given all the same, and keep their ParentID.
	Types []EventType
	// From and To leave out events that do not overlap the time between; nil is without
	// limit. One that ends at From or begins at To does not overlap, but a moment at From does.
	From, To *time.Duration

	// Limit is how many events are given at most: 0 means all.
	Limit int
	// After, with mode All, gives those that come after that event, in the answer's order; it is the
	// last event's ID of the page before.
	After EventID
}

// Events are an answer (Scope Profiler, Events).
type Events struct {
	Interval *Interval // smallest that covers those of List; nil if that is empty
	List     []Event   // by start of their intervals; virtual ones by descending time, then by type and name; Process comes last
	More     bool      // there are events after these, see Query.Limit
}
