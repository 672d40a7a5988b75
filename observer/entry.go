package observer

import (
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"time"

	"github.com/perfline/perfline/observer/record"
)

// Type is the entryType of an entry: a string of the specifications'
// vocabulary. [Timeline.Observe] ignores types that it does not know.
type Type = record.Type

// The types of entries; see [SupportedEntryTypes].
const (
	Mark       = record.Mark       // User Timing: a named moment
	Measure    = record.Measure    // User Timing: a named interval
	Navigation = record.Navigation // an inbound request
	Resource   = record.Resource   // an outbound request
	Server     = record.Server     // a Server-Timing metric received
)

// GC is the type of garbage collections. Go's runtime does a collection, a cycle,
// while the program runs. It stops the program twice for a short while. An entry says
// of one cycle:
//
//   - Its name is "gc". It is on the process's timeline. Observers of requests'
//     timelines do not get it.
//   - Its duration is the time for which the program was stopped in that cycle: both
//     stops together, with the time to reach them. It excludes work that ran beside
//     the program, and work that goroutines did for the collector.
//   - It ends with the second stop, which is the end of the cycle's marking. Its start
//     is the duration before that, not the cycle's begin. The runtime reports that
//     moment by the wall clock. When the wall clock is stepped, the entry ends between
//     the timeline's pass that found it and the pass before. With a Clock of the
//     timeline's own, it ends at that pass.
//   - Its attribute "cycle" is the cycle's number since the program began. The newest
//     entry of a pass also has "heapLive", the bytes found alive, and "heapGoal", the
//     heap size at which the next cycle should end.
//
// Entries are made while an observer of the process timeline itself wants them,
// one for each cycle that ends between Observe and Disconnect. Without such an
// observer they cost nothing; with one, the timeline stays in memory until
// Disconnect. They come some milliseconds after the cycle, or, when it had begun
// before the last one was noticed, with the next pass. When more than 256 cycles
// end between two passes the oldest are lost, and counted as Overflow. A timeline
// made in a bubble of testing/synctest has none.
const GC = record.GC

// SupportedEntryTypes lists the types a timeline takes, in alphabetical order
// (Performance Timeline 2, supportedEntryTypes). Of the types that the specification
// names, only frame is missing: a Go program draws none. The slice is the caller's.
func SupportedEntryTypes() []Type { return record.SupportedEntryTypes() }

// An Entry is one record of a timeline (PerformanceEntry). It is a value: it
// does not change once it is made, and copies share nothing that changes. Its
// attributes are frozen: see [record.Freeze] for their kinds.
//
// The zero Entry has no name, type or timeline.
type Entry record.Entry

// recorded returns e with the methods of package record.
func (e *Entry) recorded() *record.Entry { return (*record.Entry)(e) }

// Name returns the entry's name. It need not be unique.
func (e *Entry) Name() string { return e.recorded().Name() }

// Type returns the entry's entryType.
func (e *Entry) Type() Type { return e.recorded().Type() }

// StartTime returns the entry's start since the origin of the timeline it was read
// from. So an observer of the process's timeline sees the entries of many requests on
// one axis, and readers of a request's timeline see them relative to the request's
// start. It is negative for an entry that began before that origin.
func (e *Entry) StartTime() time.Duration { return e.recorded().StartTime() }

// Duration returns how long the entry took: 0 for marks. A measure whose end lies
// before its start has a negative one (User Timing 3, measure()).
func (e *Entry) Duration() time.Duration { return e.recorded().Duration() }

// TraceID returns the id of the trace that the entry is in, in the order of the bytes in a traceparent. It is zero
// without a span, and where no tracing system records.
func (e *Entry) TraceID() [16]byte { return e.recorded().Span().Trace }

// SpanID returns the id of the span that the entry is: of a measure, a request or a call. It is zero for a mark, and
// for an entry that is no span.
func (e *Entry) SpanID() [8]byte { return e.recorded().Span().Self }

// ParentSpanID returns the id of the span under which the entry was recorded. It is zero without a span.
func (e *Entry) ParentSpanID() [8]byte { return e.recorded().Span().Parent }

// Time returns when the entry began by the wall clock. It carries a monotonic
// reading, so that differences to other times are exact.
func (e *Entry) Time() time.Time { return e.recorded().Time() }

// Timeline returns the timeline the entry was recorded on, or nil for the zero Entry.
func (e *Entry) Timeline() *Timeline { return (*Timeline)(e.recorded().Timeline()) }

// Attrs ranges over the attributes of the entry's detail, in the order in which
// they were given. Their lists are shared: do not change the elements.
func (e *Entry) Attrs() iter.Seq[slog.Attr] { return e.recorded().Attrs() }

// Detail returns a copy of the entry's attributes, nil when there are none. The elements
// of lists and groups are shared: do not change them.
func (e *Entry) Detail() []slog.Attr { return slices.Collect(e.Attrs()) }

// String returns type, name, start and, where there is one, duration, for logs and messages.
func (e Entry) String() string {
	s := fmt.Sprintf("%s %q at %v", e.Type(), e.Name(), e.StartTime())
	if d := e.Duration(); d != 0 {
		s += fmt.Sprintf(" for %v", d)
	}
	return s
}
