package observer

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/perfline/perfline/internal/record"
)

// Type is the entryType of an entry. [Timeline.Observe] ignores unknown types.
type Type string

// The types of entries; see [SupportedEntryTypes].
const (
	Mark       Type = "mark"       // User Timing: a named moment
	Measure    Type = "measure"    // User Timing: a named interval
	Navigation Type = "navigation" // an inbound request
	Resource   Type = "resource"   // an outbound request
	Server     Type = "server"     // a Server-Timing metric received
)

// GC is the type of garbage collections. Each cycle of the collector has an entry:
//
//   - The name is "gc". The entry is on the process's timeline. Observers of requests' timelines do
//     not get the entry.
//   - The duration is the time for which the cycle stopped the program: both stops, with the time
//     to reach them, without the concurrent work.
//   - The entry ends with the second stop, the end of marking. The runtime reports the end by the
//     wall clock. After a step of the wall clock, the entry ends between the pass of the timeline
//     that found the cycle and the previous pass. With a Clock of the program, the entry ends at
//     that pass.
//   - The attribute "cycle" is the number of cycles since the program began. The newest entry of a
//     pass also has "heapLive", the bytes found alive, and "heapGoal", the heap size at which the
//     next cycle should end.
//
// Entries are made only while an observer of the process timeline itself wants them. The observer
// keeps the timeline in memory until Disconnect. An entry comes some milliseconds after its cycle,
// or with the next pass if the cycle had begun before the previous cycle was noticed. When more
// than 256 cycles end between two passes, the oldest are lost and count as Overflow. A timeline of
// a testing/synctest bubble has no entries of type GC.
const GC Type = "gc"

// SupportedEntryTypes lists the types of a timeline's entries, in alphabetical order (Performance
// Timeline 2, supportedEntryTypes). The slice is the caller's.
func SupportedEntryTypes() []Type { return convertTypes[Type](record.SupportedEntryTypes()) }

// convertTypes converts a list of types between this package and package record.
func convertTypes[To, From ~string](from []From) []To {
	to := make([]To, 0, len(from))
	for _, typ := range from {
		to = append(to, To(typ))
	}
	return to
}

// An Entry is one record of a timeline (PerformanceEntry). Entries and their copies are immutable.
// The attributes are frozen: the package's documentation has the rules. The zero Entry has no name,
// type or timeline.
type Entry record.Entry

func (e *Entry) engine() *record.Entry { return (*record.Entry)(e) }

// Name returns the entry's name, which need not be unique.
func (e *Entry) Name() string { return e.engine().Name() }

// Type returns the entry's entryType.
func (e *Entry) Type() Type { return Type(e.engine().Type()) }

// StartTime returns the entry's start since the origin of the timeline that returned the entry: an
// observer of the process's timeline sees the entries of many requests on one axis. The start is
// negative if the entry began before that origin.
func (e *Entry) StartTime() time.Duration { return e.engine().StartTime() }

// Duration returns the entry's duration, which is 0 for marks. The duration is negative if a
// measure ends before its start (User Timing 3, measure()).
func (e *Entry) Duration() time.Duration { return e.engine().Duration() }

// TraceID returns the id of the entry's trace, in the byte order of a traceparent. The id is zero
// without a span.
func (e *Entry) TraceID() [16]byte { return e.engine().Span().Trace }

// SpanID returns the id of the entry's own span. The id is zero for a mark, and for an entry
// without a span of its own.
func (e *Entry) SpanID() [8]byte { return e.engine().Span().Self }

// ParentSpanID returns the id of the span that was active when the entry was recorded. The id is
// zero without such a span.
func (e *Entry) ParentSpanID() [8]byte { return e.engine().Span().Parent }

// Time returns the entry's start by the wall clock, with a monotonic reading: differences to other
// times are exact.
func (e *Entry) Time() time.Time { return e.engine().Time() }

// Timeline returns the timeline that recorded the entry, or nil for the zero Entry.
func (e *Entry) Timeline() *Timeline { return (*Timeline)(e.engine().Timeline()) }

// Detail returns a copy of the entry's attributes, or nil. Lists and groups are shared.
func (e *Entry) Detail() []slog.Attr { return slices.Collect(e.engine().Attrs()) }

// String returns the type, the name, the start and a nonzero duration, for logs and messages.
func (e Entry) String() string {
	s := fmt.Sprintf("%s %q at %v", e.Type(), e.Name(), e.StartTime())
	if d := e.Duration(); d != 0 {
		s += fmt.Sprintf(" for %v", d)
	}
	return s
}
