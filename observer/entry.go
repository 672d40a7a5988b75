package observer

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/perfline/perfline/internal/record"
)

// Type is the entryType of an entry, such as [Mark] or [Measure]. [Timeline.Observe] ignores
// unknown types.
type Type string

// The types of entries; see [SupportedEntryTypes].
const (
	Mark       Type = "mark"       // User Timing: a named moment
	Measure    Type = "measure"    // User Timing: a named interval
	Navigation Type = "navigation" // an inbound request
	Resource   Type = "resource"   // an outbound request
	Server     Type = "server"     // a Server-Timing metric received
)

// GC is the type of garbage collections. The process timeline records one entry for each cycle of
// the garbage collector:
//
//   - The name is "gc". The entry belongs to the process timeline. Observers of a request's
//     timeline do not receive the entry.
//   - The duration is the time for which the cycle stopped the program. The duration covers both
//     stops and the time to reach each stop. Concurrent work does not count.
//   - The entry ends with the second stop, at the end of marking. The runtime reports this time by
//     the wall clock. If the wall clock was stepped, the end is limited to the time between the
//     previous pass of the timeline and the pass that found the cycle. With a Clock of the program,
//     the entry ends at the pass that found the cycle.
//   - The attribute "cycle" is the number of cycles since the start of the program. The newest
//     entry of a pass also contains "heapLive" and "heapGoal". "heapLive" is the number of live
//     bytes that the cycle found. "heapGoal" is the heap size at which the next cycle should end.
//
// The timeline records these entries only while an observer of the process timeline itself requests
// the type GC. The observer keeps the timeline in memory until Disconnect. An entry normally
// appears some milliseconds after the cycle. If a cycle began before the timeline noticed the
// previous cycle, the next pass adds the entry. If more than 256 cycles end between two passes, the
// oldest entries are lost and count as Overflow. A timeline of a testing/synctest bubble never
// records entries of type GC.
const GC Type = "gc"

// SupportedEntryTypes returns the types of entries in alphabetical order (Performance Timeline 2,
// supportedEntryTypes). The caller may change the slice.
func SupportedEntryTypes() []Type { return convertTypes[Type](record.SupportedEntryTypes()) }

// convertTypes converts a list of types between this package and package record.
func convertTypes[To, From ~string](from []From) []To {
	to := make([]To, 0, len(from))
	for _, typ := range from {
		to = append(to, To(typ))
	}
	return to
}

// An Entry is one record of a timeline, such as a mark or a request (PerformanceEntry). Entries and
// copies of entries are immutable. The attributes are frozen by the rules in the package
// documentation. The name, the type and the timeline of the zero Entry are empty.
type Entry record.Entry

func (e *Entry) engine() *record.Entry { return (*record.Entry)(e) }

// Name returns the name of the entry. Several entries may share a name.
func (e *Entry) Name() string { return e.engine().Name() }

// Type returns the entryType of the entry.
func (e *Entry) Type() Type { return Type(e.engine().Type()) }

// StartTime returns the start of the entry, relative to the origin of the timeline that returned
// the entry. For an observer, this timeline is the observed timeline. An observer of the process
// timeline can therefore compare the start times of different requests. The result is negative if
// the entry began before the origin.
func (e *Entry) StartTime() time.Duration { return e.engine().StartTime() }

// Duration returns the duration of the entry. The duration of a mark is 0. The duration of a
// measure is negative if the measure's end lies before the start (User Timing 3, measure()).
func (e *Entry) Duration() time.Duration { return e.engine().Duration() }

// TraceID returns the trace id of the entry, in the byte order of a traceparent. The id is zero if
// the entry was recorded without a span.
func (e *Entry) TraceID() [16]byte { return e.engine().Span().Trace }

// SpanID returns the id of the span that represents the entry. The id is zero for marks, and for
// entries without such a span.
func (e *Entry) SpanID() [8]byte { return e.engine().Span().Self }

// ParentSpanID returns the id of the span that was active when the entry was recorded. The id is
// zero if no span was active.
func (e *Entry) ParentSpanID() [8]byte { return e.engine().Span().Parent }

// Time returns the start of the entry by the wall clock. The result also contains a monotonic clock
// reading. Therefore time.Time.Sub returns exact differences.
func (e *Entry) Time() time.Time { return e.engine().Time() }

// Timeline returns the timeline that recorded the entry. Timeline returns nil for the zero Entry.
func (e *Entry) Timeline() *Timeline { return (*Timeline)(e.engine().Timeline()) }

// Detail returns a copy of the entry's attributes, or nil if the entry was recorded without
// attributes. The copy and the entry share attribute values that are lists or groups. Do not change
// such values.
func (e *Entry) Detail() []slog.Attr { return slices.Collect(e.engine().Attrs()) }

// String returns the entry's type, name, start and duration as text for logs and messages. String
// omits a duration of 0.
func (e Entry) String() string {
	s := fmt.Sprintf("%s %q at %v", e.Type(), e.Name(), e.StartTime())
	if d := e.Duration(); d != 0 {
		s += fmt.Sprintf(" for %v", d)
	}
	return s
}
