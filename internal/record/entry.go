package record

import (
	"iter"
	"log/slog"
	"slices"
	"time"
)

// Type is the entryType of an entry. Package observer has a type of its own, so that its API names
// nothing of this package. The two convert.
type Type string

// The entry types that a timeline takes. Package observer documents them. The constants are
// untyped: each one is a Type and an observer.Type.
const (
	Mark       = "mark"
	Measure    = "measure"
	Navigation = "navigation"
	Resource   = "resource"
	Server     = "server"
	GC         = "gc"
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

// kindTypes is in alphabetical order, as observer.SupportedEntryTypes must be (PT-32).
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

// SupportedEntryTypes returns the types that a timeline takes, in alphabetical order.
func SupportedEntryTypes() []Type { return slices.Clone(kindTypes[1:]) }

// InlineAttrs is how many attributes a call records without an allocation.
const InlineAttrs = 4

// An Entry is one record of a timeline. Package observer documents it and its methods as
// observer.Entry.
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

// Name returns the entry's name.
func (e *Entry) Name() string { return e.name }

// Type returns the entry's type.
func (e *Entry) Type() Type { return kindTypes[e.kind] }

// StartTime returns the entry's start since the origin of the timeline it was read from.
func (e *Entry) StartTime() time.Duration { return e.start - e.base }

// Duration returns how long the entry took.
func (e *Entry) Duration() time.Duration { return e.duration }

// RecordedAt returns when the entry was recorded, since the origin of StartTime: at the entry's
// end, or later if the entry was queued, as a measure between two marks is.
func (e *Entry) RecordedAt() time.Duration { return e.at - e.base }

// Time returns when the entry began by the wall clock.
func (e *Entry) Time() time.Time {
	if e.tl == nil {
		return time.Time{}
	}
	return e.tl.wall(e.start)
}

// Timeline returns the timeline that the entry was recorded on, or nil for the zero Entry.
func (e *Entry) Timeline() *Timeline { return e.tl }

// Span returns where the entry belongs in a trace. There are no ids without a span.
func (e *Entry) Span() SpanIDs { return e.ids }

// NumAttrs returns the number of attributes.
func (e *Entry) NumAttrs() int { return len(e.attrs) }

// Attrs ranges over the attributes. Lists are shared: do not change their elements.
func (e *Entry) Attrs() iter.Seq[slog.Attr] { return slices.Values(e.attrs) }
