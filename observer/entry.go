package observer

import (
	"fmt"
	"iter"
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
//   - The name is "gc". The entry is on the process's timeline. Observers of requests'
//     timelines do not get it.
//   - The duration is the time for which the cycle stopped the program: both stops, with the
//     time to reach them, and without the work that ran beside the program.
//   - The entry ends with the second stop, the end of marking, and starts its duration earlier.
//     The runtime reports the end by the wall clock. When that clock is stepped, the entry ends
//     between the pass of the timeline that found it and the pass before. With a Clock of the
//     timeline's own, it ends at that pass.
//   - The attribute "cycle" is the number of cycles since the program began. The newest entry of
//     a pass also has "heapLive", the bytes found alive, and "heapGoal", the heap size at which
//     the next cycle should end.
//
// Entries are made for the cycles that end while an observer of the process timeline itself
// wants them. Without such an observer they cost nothing. With one, the timeline stays in memory
// until Disconnect. An entry comes some milliseconds after its cycle, or with the next pass if
// the cycle had begun before the last one was noticed. When more than 256 cycles end between two
// passes, the oldest are lost and count as Overflow. A timeline that was made in a bubble of
// testing/synctest has no entries of type GC.
const GC Type = "gc"

// SupportedEntryTypes lists the types that a timeline takes, in alphabetical order (Performance
// Timeline 2, supportedEntryTypes). The slice is the caller's.
func SupportedEntryTypes() []Type { return convertTypes[Type](record.SupportedEntryTypes()) }

// convertTypes returns a list of this package's types as one of package record's, or the reverse.
func convertTypes[To, From ~string](from []From) []To {
	to := make([]To, 0, len(from))
	for _, typ := range from {
		to = append(to, To(typ))
	}
	return to
}

// An Entry is one record of a timeline (PerformanceEntry). It never changes, and copies share
// nothing that changes. Its attributes are frozen: the package's documentation has the rules. The
// zero Entry has no name, type or timeline.
type Entry record.Entry

func (e *Entry) recorded() *record.Entry { return (*record.Entry)(e) }

// Name returns the entry's name. It need not be unique.
func (e *Entry) Name() string { return e.recorded().Name() }

// Type returns the entry's entryType.
func (e *Entry) Type() Type { return Type(e.recorded().Type()) }

// StartTime returns the entry's start since the origin of the timeline it was read from: an
// observer of the process's timeline sees the entries of many requests on one axis. The start is
// negative if the entry began before that origin.
func (e *Entry) StartTime() time.Duration { return e.recorded().StartTime() }

// Duration returns how long the entry took, and 0 for marks. It is negative if a measure ends
// before its start (User Timing 3, measure()).
func (e *Entry) Duration() time.Duration { return e.recorded().Duration() }

// TraceID returns the id of the entry's trace, in the byte order of a traceparent. It is zero
// without a span.
func (e *Entry) TraceID() [16]byte { return e.recorded().Span().Trace }

// SpanID returns the id of the span that the entry is. It is zero for a mark, and for an entry that
// is no span.
func (e *Entry) SpanID() [8]byte { return e.recorded().Span().Self }

// ParentSpanID returns the id of the span under which the entry was recorded. It is zero without a
// span.
func (e *Entry) ParentSpanID() [8]byte { return e.recorded().Span().Parent }

// Time returns when the entry began by the wall clock, with a monotonic reading: differences to
// other times are exact.
func (e *Entry) Time() time.Time { return e.recorded().Time() }

// Timeline returns the timeline the entry was recorded on, or nil for the zero Entry.
func (e *Entry) Timeline() *Timeline { return (*Timeline)(e.recorded().Timeline()) }

// Attrs ranges over the attributes of the entry's detail, in the order in which they were given.
// Lists are shared: do not change their elements.
func (e *Entry) Attrs() iter.Seq[slog.Attr] { return e.recorded().Attrs() }

// Detail returns a copy of the entry's attributes, nil without any. Lists and groups are shared.
func (e *Entry) Detail() []slog.Attr { return slices.Collect(e.Attrs()) }

// String returns type, name, start and, where there is one, duration, for logs and messages.
func (e Entry) String() string {
	s := fmt.Sprintf("%s %q at %v", e.Type(), e.Name(), e.StartTime())
	if d := e.Duration(); d != 0 {
		s += fmt.Sprintf(" for %v", d)
	}
	return s
}
