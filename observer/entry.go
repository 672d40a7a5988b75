package observer

import (
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
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
	GC         Type = "gc"         // a garbage collection
)

// kind is a Type as a small number, for masks and counters. The zero kind is a
// message that Timeline.Post carries; it is never seen by observers.
type kind uint8

const (
	kindMessage kind = iota
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
	return append([]Type(nil), kindTypes[1:]...)
}

// InlineAttrs is how many attributes an entry holds without an allocation.
const InlineAttrs = 4

// An Entry is one record of a timeline (PerformanceEntry). It is a value: it
// does not change once it is recorded, and copies share nothing that changes,
// except what a caller put into an attribute with [slog.Any].
//
// The zero Entry has no name, type or timeline.
type Entry struct {
	name     string
	start    time.Duration // since the root timeline's origin
	duration time.Duration
	at       time.Duration // when it was recorded, since the root's origin
	base     time.Duration // origin that StartTime is relative to
	tl       *Timeline
	scope    any
	attrs    [InlineAttrs]slog.Attr
	more     []slog.Attr // attributes beyond attrs; nil when there are none
	nattrs   uint8       // how many of attrs are set
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

// Scope is what the timeline's [Bridge] found active in the context when the
// entry was recorded: for OpenTelemetry, the span. It is meant for bridges and
// for callbacks, and nil for entries read back from a process timeline's
// buffer, which would otherwise keep spans in memory.
func (e *Entry) Scope() any { return e.scope }

// NumAttrs is the number of attributes of the entry's detail.
func (e *Entry) NumAttrs() int { return int(e.nattrs) + len(e.more) }

// Attrs ranges over the attributes of the entry's detail, in the order in which
// they were given. A [slog.LogValuer] among them is not resolved.
func (e *Entry) Attrs() iter.Seq[slog.Attr] {
	return func(yield func(slog.Attr) bool) {
		for i := range e.attrs[:e.nattrs] {
			if !yield(e.attrs[i]) {
				return
			}
		}
		for _, a := range e.more {
			if !yield(a) {
				return
			}
		}
	}
}

// Detail is a copy of the entry's attributes, nil when there are none (X6).
func (e *Entry) Detail() []slog.Attr {
	if e.NumAttrs() == 0 {
		return nil
	}
	d := make([]slog.Attr, 0, e.NumAttrs())
	d = append(d, e.attrs[:e.nattrs]...)
	return append(d, e.more...)
}

// setDetail copies attrs into e: callers may reuse their slice.
func (e *Entry) setDetail(attrs []slog.Attr) {
	e.nattrs = uint8(copy(e.attrs[:], attrs))
	if len(attrs) > InlineAttrs {
		e.more = append([]slog.Attr(nil), attrs[InlineAttrs:]...)
	}
}

// MarshalJSON encodes the entry as the specification's serializer does: name,
// entryType, startTime and duration in milliseconds, and detail, which is null
// without attributes and else an object of them, groups nested.
func (e Entry) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name      string  `json:"name"`
		Type      Type    `json:"entryType"`
		StartTime float64 `json:"startTime"`
		Duration  float64 `json:"duration"`
		Detail    any     `json:"detail"`
	}{e.name, e.Type(), Milliseconds(e.StartTime()), Milliseconds(e.duration), detailJSON(e.Detail())})
}

// detailJSON turns attributes into what encoding/json writes as an object.
func detailJSON(attrs []slog.Attr) any {
	if len(attrs) == 0 {
		return nil
	}
	m := make(map[string]any, len(attrs))
	addJSON(m, attrs)
	return m
}

func addJSON(m map[string]any, attrs []slog.Attr) {
	for _, a := range attrs {
		v := a.Value.Resolve()
		switch v.Kind() {
		case slog.KindGroup:
			if a.Key == "" { // slog: the attributes of an unnamed group are inlined
				addJSON(m, v.Group())
				continue
			}
			m[a.Key] = detailJSON(v.Group())
		case slog.KindDuration:
			m[a.Key] = Milliseconds(v.Duration())
		default:
			m[a.Key] = jsonValue(v.Any())
		}
	}
}

// jsonValue is v where JSON can hold it and its text elsewhere, so that one odd
// attribute never costs the whole entry.
func jsonValue(v any) any {
	if err, ok := v.(error); ok {
		return fmt.Sprintf("%v", err) // which survives a method that panics
	}
	if !marshals(v) {
		return fmt.Sprintf("%+v", v)
	}
	return v
}

// marshals reports whether encoding/json can write v.
func marshals(v any) (ok bool) {
	defer func() {
		if recover() != nil { // in a MarshalJSON of the caller's
			ok = false
		}
	}()
	_, err := json.Marshal(v)
	return err == nil
}
