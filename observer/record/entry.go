package record

import (
	"iter"
	"log/slog"
	"slices"
	"time"
)

// Type is the entryType of an entry. Package observer documents it as [observer.Type].
type Type string

// The entry types that a timeline takes. Package observer documents them.
const (
	Mark       Type = "mark"
	Measure    Type = "measure"
	Navigation Type = "navigation"
	Resource   Type = "resource"
	Server     Type = "server"
	GC         Type = "gc"
)

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

// StartTime returns the entry's start since the origin of the timeline it was read
// from. It is negative for an entry that began before that origin.
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

// NumAttrs is the number of attributes of the entry's detail.
func (e *Entry) NumAttrs() int { return len(e.attrs) }

// Attrs ranges over the attributes of the entry's detail, in the order in which
// they were given. Their lists are shared: do not change the elements.
func (e *Entry) Attrs() iter.Seq[slog.Attr] { return slices.Values(e.attrs) }
