package sessions

import (
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// An EventType is the type of an event (Scope Profiler, EventType). The specification defines the
// types Generic and Process, and the numbers of these types. perfline adds the other types for Go.
type EventType uint8

// The event types.
const (
	Generic EventType = 1 // the sum of all events, only in answers of ReduceAll
	Process EventType = 2 // user and kernel CPU time of the process, only in answers of ReduceAll
	Request EventType = 3 // an inbound request, named by method and route
	Call    EventType = 4 // an outbound request or query, named by method and host, or as the entry
	// Measure is a measure, or a span of other instrumentation. A frame shows up to 64 overlapping
	// measures between marks. Further measures become moments. The detail of such a moment begins
	// with "duration".
	Measure EventType = 5
	Mark    EventType = 6 // a moment
	// Server is a Server-Timing metric of a call's response. The event is a moment at the call's
	// start. "duration" in the detail is the time in the other process.
	Server EventType = 7
	GC     EventType = 8 // a garbage collection stopped the program
	// Samples is a group of consecutive samples of one function in one event. Name is the name of
	// the function. Time is an estimate: see the package's comment. Groups of Wall samples may
	// overlap.
	Samples EventType = 9
)

var eventTypes = [...]string{
	Generic: "GENERIC", Process: "PROCESS", Request: "REQUEST", Call: "CALL", Measure: "MEASURE",
	Mark: "MARK", Server: "SERVER", GC: "GC", Samples: "SAMPLES",
}

// String returns the name of t in capital letters, such as "REQUEST".
func (t EventType) String() string {
	if t < Generic || t > Samples {
		return fmt.Sprintf("EventType(%d)", uint8(t))
	}
	return eventTypes[t]
}

// A Mode selects the events of an answer: single events, or virtual events that sum up several
// events (Scope Profiler, Mode).
type Mode uint8

// The modes.
const (
	All                Mode = 1 // every event, with name and detail; the default
	ReduceUniqueTypes  Mode = 2 // a virtual event for each type
	ReduceUniqueEvents Mode = 3 // a virtual event for each type and name
	// ReduceAll returns one virtual event of type Generic for all events. If the system measures
	// CPU time, an event of type Process follows. Time of the Process event is the CPU time that
	// the process used in the interval.
	//
	// If Query.Types contains other types but not Process, the Process event is missing. If
	// Query.Types contains only Process, the Generic event is missing.
	ReduceAll Mode = 4
)

// A SessionID identifies a session of a recorder (Scope Profiler). The id 0 identifies no session.
type SessionID uint32

// A TimelineID identifies a timeline within one session.
type TimelineID uint32

// An EventID identifies an event within one timeline.
type EventID uint32

// An Interval is a period of a session. Start and End are times since the session began.
type Interval struct{ Start, End time.Duration }

// An Event is one activity of the program, such as a request (Scope Profiler, Event). In modes
// other than All, an event is virtual: a virtual event sums up several events.
//
//   - Time, Overhead and Hits of a virtual event are sums.
//   - Interval of a virtual event extends from the first Start to the last End.
//   - ID, ParentID, ChildCount, AggregatedTime and AggregatedOverhead of a virtual event are 0.
type Event struct {
	Type     EventType
	Name     string        // only in modes All and ReduceUniqueEvents
	Time     time.Duration // self time: excludes the events below, and Overhead
	Overhead time.Duration // estimated cost of profiling: see the package's comment
	Hits     uint32        // 1, or the number of events in a virtual event
	Interval Interval

	ID         EventID // 0 if virtual
	ParentID   EventID // 0 at the top level
	ChildCount uint32  // number of immediate children

	AggregatedTime     time.Duration // sum of Time of this event and of all events below
	AggregatedOverhead time.Duration // the same sum of Overhead

	SpanID trace.SpanID // span of the event, or zero; only in mode All

	// Detail contains the entry's attributes, only in mode All. Strings over 1024 bytes are cut,
	// except in lists. Package observer documents the kinds of values. Callers must not change the
	// slice and the lists.
	Detail []slog.Attr
}

// A Query selects the events of one timeline for [Session.Events] (Scope Profiler, GetEventsArg).
type Query struct {
	Timeline TimelineID
	Mode     Mode // 0 means All

	// Event selects the events below the event with this id. 0 selects the whole timeline.
	Event EventID
	// MaxDepth limits the number of levels in the answer. 1 selects only the top level of the
	// timeline, or the immediate children of Event. 0 selects all levels.
	MaxDepth uint32
	// Types selects the types of events in the answer. An empty list selects all types. The answer
	// omits events of other types, but contains the selected events below the omitted events.
	// ParentID may identify an omitted event.
	Types []EventType
	// From and To select the events that overlap the interval between From and To. nil means no
	// limit. An event that begins at To does not overlap. An event that ends at From overlaps only
	// if the event is a moment.
	From, To *time.Duration

	Limit int // limits the number of events in the answer; 0 means all
	// After selects the events after the event with this id. To read the next page, set After to
	// the last ID of the previous page. In modes other than All, After must be 0.
	After EventID
}
