package observer

import (
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"time"
)

// Type is the entryType of an entry: a string of the specifications'
// vocabulary. Types a timeline does not know are ignored by [Timeline.Observe].
type Type string

// The entry types a timeline takes; see [SupportedEntryTypes].
const (
	Mark       Type = "mark"       // User Timing: a named moment
	Measure    Type = "measure"    // User Timing: a named interval
	Navigation Type = "navigation" // an inbound request
	Resource   Type = "resource"   // an outbound request
	Server     Type = "server"     // a Server-Timing metric received
)

// GC is the type of garbage collections. Go's runtime does a collection, a cycle,
// beside the program, which stands still twice for a short while. An entry says
// of one:
//
//   - Its name is "gc" and its timeline the process's: a request's timeline and
//     the observers of that get none.
//   - Its duration is how long the program stood still in that cycle, both times
//     together, with what it took to stop it. The work done beside the program is
//     not in it, nor that with which goroutines had to help.
//   - It ends when the second stop did, which is the end of the cycle's marking.
//     Its start is the duration before that, not when the cycle began. The runtime
//     tells that moment by the wall clock: when that is stepped, the entry ends
//     between the collector's pass that found it and the one before. With a Clock
//     of the timeline's own it ends at that pass.
//   - Its attributes are "cycle", the cycle's number since the program began, and
//     for the newest of a pass "heapLive", the bytes that it found alive, and
//     "heapGoal", the bytes of heap at which the next is meant to be done.
//
// Entries are made while an observer of the process timeline itself wants them,
// one for each cycle that ends between Observe and Disconnect. Without such an
// observer nothing is done for them; with one, the timeline stays in memory until
// Disconnect. They come some milliseconds after the cycle, or, when it had begun
// before the last one was noticed, with the next pass. When more than 256 cycles
// end between two passes the oldest are lost, and counted as Overflow. A timeline
// made in a bubble of testing/synctest has none.
const GC Type = "gc"

// kind is a Type as a small number, for masks and counters. The zero Entry has the zero kind.
type kind uint8

const (
	kindNone kind = iota
	kindGC
	kindMark
	kindMeasure
	kindNavigation
	kindResource
	kindServer
	numKinds
)

// kindTypes is in alphabetical order, as SupportedEntryTypes must be (PT-32).
var kindTypes = [numKinds]Type{"", GC, Mark, Measure, Navigation, Resource, Server}

func kindOf(t Type) (kind, bool) {
	switch t {
	case Mark:
		return kindMark, true
	case Measure:
		return kindMeasure, true
	case Navigation:
		return kindNavigation, true
	case Resource:
		return kindResource, true
	case Server:
		return kindServer, true
	case GC:
		return kindGC, true
	}
	return 0, false
}

// A kindSet is a set of kinds, one bit each.
type kindSet uint32

func (s kindSet) has(k kind) bool { return s&(1<<k) != 0 }

// SupportedEntryTypes lists the types a timeline takes, in alphabetical order
// (Performance Timeline 2, supportedEntryTypes). The slice is the caller's.
func SupportedEntryTypes() []Type {
	return slices.Clone(kindTypes[1:])
}

// InlineAttrs is how many attributes an entry is recorded with without an
// allocation on the recording path.
const InlineAttrs = 4

// An Entry is one record of a timeline (PerformanceEntry). It is a value: it
// does not change once it is made, and copies share nothing that changes. Its
// attributes are frozen: see [Freeze] for their kinds.
//
// The zero Entry has no name, type or timeline.
type Entry struct {
	name     string
	start    time.Duration // since the root timeline's origin
	duration time.Duration
	at       time.Duration // when it was recorded, since the root timeline's origin
	base     time.Duration // origin that StartTime is relative to
	tl       *Timeline
	attrs    []slog.Attr // never written again: copies of the entry share it
	ids      SpanIDs
	kind     kind
}

// Name is the entry's name. It need not be unique.
func (e *Entry) Name() string { return e.name }

// Type is the entry's entryType.
func (e *Entry) Type() Type { return kindTypes[e.kind] }

// StartTime is when the entry began, since the origin of the timeline it was
// read from: an observer of the process timeline sees entries of many requests
// on one axis, while the request's own readers see them relative to the
// request's start. It is negative for an entry that began before that origin.
func (e *Entry) StartTime() time.Duration { return e.start - e.base }

// Duration is how long the entry took: 0 for marks. A measure whose end lies
// before its start has a negative one (User Timing 3, measure()).
func (e *Entry) Duration() time.Duration { return e.duration }

// RecordedAt is when the entry was recorded, since the same origin as StartTime. That is its
// end, or later for what was made before, see [Timeline.Queue]: a measure between two marks,
// say. It has no meaning for an entry that was not recorded.
func (e *Entry) RecordedAt() time.Duration { return e.at - e.base }

// Time is when the entry began by the wall clock. It carries a monotonic
// reading, so that differences to other times are exact.
func (e *Entry) Time() time.Time {
	if e.tl == nil {
		return time.Time{}
	}
	return e.tl.wall(e.start)
}

// Timeline is the timeline the entry was recorded on, or nil for the zero Entry.
func (e *Entry) Timeline() *Timeline { return e.tl }

// Span returns where the entry belongs in a trace. It has no ids without a span, and for entries of a timeline that no
// tracing system uses.
func (e *Entry) Span() SpanIDs { return e.ids }

// String is for logs and messages: type, name, start and, where there is one,
// duration.
func (e Entry) String() string {
	s := fmt.Sprintf("%s %q at %v", e.Type(), e.name, e.StartTime())
	if e.duration != 0 {
		s += fmt.Sprintf(" for %v", e.duration)
	}
	return s
}

// NumAttrs is the number of attributes of the entry's detail.
func (e *Entry) NumAttrs() int { return len(e.attrs) }

// Attrs ranges over the attributes of the entry's detail, in the order in which
// they were given. Their lists are shared: do not change the elements.
func (e *Entry) Attrs() iter.Seq[slog.Attr] { return slices.Values(e.attrs) }

// Detail is a copy of the entry's attributes, nil when there are none. The elements
// of lists and groups are shared: do not change them.
func (e *Entry) Detail() []slog.Attr { return append([]slog.Attr(nil), e.attrs...) }
