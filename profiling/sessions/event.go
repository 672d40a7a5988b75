package sessions

import (
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// An EventType is the type of an event (Scope Profiler, EventType). Generic and Process are types
// of the specification, with its numbers. The other types are additions for Go.
type EventType uint8

// The event types.
const (
	Generic EventType = 1 // all types, in answers of ReduceAll
	Process EventType = 2 // user and kernel CPU time of the process, in answers of ReduceAll
	Request EventType = 3 // an inbound request, named by method and route
	Call    EventType = 4 // an outbound request or query, named by method and host, or by entry
	// Measure is a measure, or a span of other instrumentation. A frame shows up to 64 overlapping
	// measures between marks. Further measures are moments, with "duration" first in the detail.
	Measure EventType = 5
	Mark    EventType = 6 // a moment
	// Server is a Server-Timing metric of a call's response: a moment at the call's start.
	// "duration" in the detail is the time in the other process.
	Server EventType = 7
	GC     EventType = 8 // a garbage collection stopped the program
	// Samples is a group of consecutive samples of a function in an event, with the function's
	// name. Time is an estimate: see the package's comment. Groups of Wall samples may overlap.
	Samples EventType = 9
)

var eventTypes = [...]string{
	Generic: "GENERIC", Process: "PROCESS", Request: "REQUEST", Call: "CALL", Measure: "MEASURE",
	Mark: "MARK", Server: "SERVER", GC: "GC", Samples: "SAMPLES",
}

// String returns the type's name in the specification's manner, such as "REQUEST".
func (t EventType) String() string {
	if t < Generic || t > Samples {
		return fmt.Sprintf("EventType(%d)", uint8(t))
	}
	return eventTypes[t]
}

// A Mode selects how an answer sums up events (Scope Profiler, Mode).
type Mode uint8

// The modes.
const (
	All                Mode = 1 // every event, with its name and detail; the default
	ReduceUniqueTypes  Mode = 2 // a virtual event for each type
	ReduceUniqueEvents Mode = 3 // a virtual event for each type and name
	// ReduceAll is one virtual event of type Generic for all events. An event of type Process
	// follows on systems that measure CPU time: the CPU time that the process used in the interval.
	// With Query.Types, Process must be among the types. Without other types, the answer is that
	// event.
	ReduceAll Mode = 4
)

// A SessionID identifies a session of a recorder. Ids are never zero (Scope Profiler).
type SessionID uint32

// A TimelineID identifies a timeline of its session.
type TimelineID uint32

// An EventID identifies an event of its timeline.
type EventID uint32

// An Interval lasts from Start to End, since the session began.
type Interval struct{ Start, End time.Duration }

// An Event is the duration of one thing (Scope Profiler, Event). A Mode combines events into a
// virtual event, which has the sums of their Time, Overhead and Hits, and the hull of their
// Intervals. A virtual event has no ID and no Aggregated times.
type Event struct {
	Type     EventType
	Name     string        // in modes All and ReduceUniqueEvents
	Time     time.Duration // self time, without the events below and without Overhead
	Overhead time.Duration // of profiling: an estimate from counts, see the package's comment
	Hits     uint32        // 1, or the number of events of a virtual one
	Interval Interval

	ID         EventID // 0 if virtual
	ParentID   EventID // 0 at the top level
	ChildCount uint32  // immediate children

	AggregatedTime     time.Duration // of this event and all events below
	AggregatedOverhead time.Duration

	SpanID trace.SpanID // of the event itself, zero without a span; in mode All only

	// Detail holds the entry's attributes, in mode All only. Strings over 1024 bytes are cut,
	// except in lists. record.Freeze documents the kinds of values. Do not change slice and lists.
	Detail []slog.Attr
}

// A Query asks for events of a timeline (Scope Profiler, GetEventsArg).
type Query struct {
	Timeline TimelineID
	Mode     Mode // 0 means All

	// Event selects the events below this event; 0 selects the whole timeline.
	Event EventID
	// MaxDepth is the number of levels: 1 means the children of the root only, 0 means all.
	MaxDepth uint32
	// Types are the types in the answer; empty means all. Events below an event of another type
	// stay in the answer, and keep their ParentID.
	Types []EventType
	// From and To select the events that overlap the interval between them; nil means no limit. An
	// event that ends at From or begins at To does not overlap, but a moment at From does.
	From, To *time.Duration

	Limit int // most events in the answer; 0 means all
	// After, in mode All, selects the events after this one: the last ID of the previous page.
	After EventID
}
