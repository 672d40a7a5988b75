package record

import (
	"iter"
	"log/slog"
	"slices"
	"time"
)

// Type is the entryType of an entry. Package observer declares a separate type Type, for the public
// API.
type Type string

// The entry types of a timeline. Package observer documents the types. The constants are untyped,
// so that each constant is a Type and an observer.Type.
const (
	Mark       = "mark"
	Measure    = "measure"
	Navigation = "navigation"
	Resource   = "resource"
	Server     = "server"
	GC         = "gc"
)

// kind is a Type as a small number, for masks and counters.
type kind uint8

const (
	kindNone kind = iota // of the zero Entry
	kindGC
	kindMark
	kindMeasure
	kindNavigation
	kindResource
	kindServer
	numKinds
)

// kindTypes lists the types in alphabetical order, as observer.SupportedEntryTypes does (PT-32).
var kindTypes = [numKinds]Type{"", GC, Mark, Measure, Navigation, Resource, Server}

func kindOf(t Type) (k kind, ok bool) {
	switch t { // faster than a search in kindTypes, which each Mark would pay
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
	return kindNone, false
}

// A kindSet is a set of kinds with one bit for each kind.
type kindSet uint32

func (s kindSet) has(k kind) bool { return s&(1<<k) != 0 }

// SupportedEntryTypes returns the types that a timeline records, in alphabetical order.
func SupportedEntryTypes() []Type { return slices.Clone(kindTypes[1:]) }

// InlineAttrs is how many attributes a call records without an allocation.
const InlineAttrs = 4

// An Entry is one record of a timeline. observer.Entry documents the type and the methods.
type Entry struct {
	name     string
	start    time.Duration // since the root timeline's origin
	duration time.Duration
	at       time.Duration // the time of recording, since the root timeline's origin
	base     time.Duration // the origin of StartTime
	tl       *Timeline
	attrs    []slog.Attr // immutable: copies of the entry share the slice
	ids      SpanIDs
	kind     kind
}

// Name returns the entry's name.
func (e *Entry) Name() string { return e.name }

// Type returns the entry's type.
func (e *Entry) Type() Type { return kindTypes[e.kind] }

// StartTime returns the start of the entry, relative to the origin of the timeline that returned
// the entry.
func (e *Entry) StartTime() time.Duration { return e.start - e.base }

// Duration returns the duration of the entry.
func (e *Entry) Duration() time.Duration { return e.duration }

// RecordedAt returns the time of recording, relative to the same origin as StartTime. Usually the
// entry ends at the time of recording. A queued entry, such as a measure between two marks, may end
// earlier.
func (e *Entry) RecordedAt() time.Duration { return e.at - e.base }

// Time returns the wall-clock time of the entry's start.
func (e *Entry) Time() time.Time {
	if e.tl == nil {
		return time.Time{}
	}
	return e.tl.wall(e.start)
}

// Timeline returns the timeline that recorded the entry. Timeline returns nil for the zero Entry.
func (e *Entry) Timeline() *Timeline { return e.tl }

// Span returns the ids of the trace, of the entry's own span and of the parent span. The ids are
// zero for an entry without a span.
func (e *Entry) Span() SpanIDs { return e.ids }

// NumAttrs returns the number of the entry's attributes.
func (e *Entry) NumAttrs() int { return len(e.attrs) }

// Attrs iterates over the entry's attributes. Copies of an entry share the lists in the values of
// attributes. Therefore the caller must not change the elements of a list.
func (e *Entry) Attrs() iter.Seq[slog.Attr] { return slices.Values(e.attrs) }
