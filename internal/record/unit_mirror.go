package record

import (
	"log/slog"
	"time"

	"github.com/perfline/perfline/internal/record/mirror"
)

// The mirror of units: a unit that begins while its process timeline has a region gets a slot of
// the region until its hand-over. The slot has what the unit has done so far. The unit's mu guards
// the slot.

// ClaimMirror reports whether the caller may call SetMirror. Only one black box at a time may have
// the units of a process timeline.
func (t *Timeline) ClaimMirror() bool { return !t.root.units.mirrorClaimed.Swap(true) }

// SetMirror sets the region of the units that begin from now on. nil means none, and ends the
// caller's claim.
func (t *Timeline) SetMirror(r *mirror.Region) {
	t.root.units.mirror.Store(r)
	t.root.units.mirrorClaimed.Store(r != nil)
}

// Mirrored reports whether units that begin now have a slot of a region.
func (t *Timeline) Mirrored() bool { return t.root.units.mirror.Load() != nil }

// MirrorTime returns t as a time for the slot: since the origin of the process timeline.
func (u *Unit) MirrorTime(t time.Time) time.Duration { return clamp(t.Sub(u.root.epoch)) }

// BeginMirror gives the unit a slot, and returns the slot for [mirror.Slot.Begin]. The caller must
// call UnlockMirror. If there is no slot, BeginMirror returns nil.
func (u *Unit) BeginMirror() *mirror.Slot {
	h := u.shard
	r := h.units.mirror.Load()
	if r == nil {
		return nil
	}
	s := h.takeSlot(r)
	if s == nil {
		return nil
	}
	u.mu.Lock()
	u.mirror = s
	return s
}

// LockMirror returns the slot of the unit, or nil. If the result is not nil, the caller must call
// UnlockMirror.
func (u *Unit) LockMirror() *mirror.Slot {
	u.mu.Lock()
	if u.mirror == nil {
		u.mu.Unlock()
	}
	return u.mirror
}

// UnlockMirror ends a use of the unit's slot.
func (u *Unit) UnlockMirror() { u.mu.Unlock() }

// Mirrored is a [Span] that writes its end to a slot.
type Mirrored interface {
	// Mirror writes the span, which has ended and is not the root, to the slot of its unit. The
	// timeline calls Mirror together with the journal's entry, under the unit's lock.
	Mirror(u *Unit, slot *mirror.Slot)
}

// TakeMirror takes over the slot of the unit from, which may have none.
func (u *Unit) TakeMirror(from *Unit) {
	from.mu.Lock()
	s := from.mirror
	from.mirror = nil
	from.mu.Unlock()
	if s != nil {
		u.mu.Lock()
		u.mirror = s
		u.mu.Unlock()
	}
}

// MirrorMark writes a mark under a span to the slot. attrs must be frozen.
func (u *Unit) MirrorMark(under ID, name string, at time.Time, attrs []slog.Attr) {
	if u.LockMirror() != nil {
		u.mirrorEntry(mirror.Entry{Kind: mirror.Mark, Parent: mirror.SpanID(under),
			Start: u.MirrorTime(at), Name: name}, attrs)
		u.UnlockMirror()
	}
}

// mirrorUnder writes a mark or a measure under a span to the slot. For a measure with getsNothing,
// the tracer makes a span, which is in the slot by itself. u.mu is held.
func (u *Unit) mirrorUnder(k kind, gets delivery, under Span, name string, start,
	duration time.Duration, attrs []slog.Attr) {
	e := mirror.Entry{Start: start, Duration: duration, Name: name}
	switch {
	case k == kindMark:
		e.Kind = mirror.Mark
	case k == kindMeasure && gets != getsNothing:
		e.Kind = mirror.Measure
	default:
		return
	}
	if under != nil {
		e.Parent = mirror.SpanID(under.IDs().Self)
	}
	u.mirrorEntry(e, attrs)
}

// mirrorEntry writes an entry with frozen attributes. u.mu is held.
func (u *Unit) mirrorEntry(e mirror.Entry, attrs []slog.Attr) {
	if len(attrs) > 0 {
		to := u.mirror.Attributes()
		for i := range attrs {
			to.Attr(attrs[i])
		}
	}
	u.mirror.Write(&e)
}

// MirrorRoute writes the route of the unit to the slot. MirrorRoute ignores an empty route.
func (u *Unit) MirrorRoute(route string) {
	if route == "" || !u.Mirrored() {
		return
	}
	if s := u.LockMirror(); s != nil {
		s.Route(route)
		u.UnlockMirror()
	}
}

// LookForRoute writes the route if an http.ServeMux has matched the request: see
// [mirror.Slot.LookForRoute].
func (u *Unit) LookForRoute() {
	if s := u.LockMirror(); s != nil {
		s.LookForRoute()
		u.UnlockMirror()
	}
}

// mirrorHanded notes in the slot that an open unit has handed over its first n entries.
func (u *Unit) mirrorHanded(n uint32) {
	if s := u.LockMirror(); s != nil {
		s.Handed(n)
		u.UnlockMirror()
	}
}

// mirrorLacks reports whether the black box lacks a part of what u, which has ended, hands over, or
// needs the slot. u is nil for a span without a unit; else u.mu is held.
func (h *unitShard) mirrorLacks(u *Unit) bool {
	r := h.units.mirror.Load()
	return r != nil && (u == nil || u.mirror == nil || !u.mirror.Whole() || r.Scarce())
}

// freeMirror returns the slot of a unit that has ended. u.mu is held.
func (u *Unit) freeMirror() {
	if s := u.mirror; s != nil {
		u.mirror = nil
		s.Clear()
		u.shard.putSlot(s)
	}
}

func (h *unitShard) takeSlot(r *mirror.Region) *mirror.Slot {
	h.mu.Lock()
	defer h.mu.Unlock()
	for n := len(h.slots); n > 0; n-- {
		s := h.slots[n-1]
		h.slots[n-1], h.slots = nil, h.slots[:n-1]
		if s.Region() == r { // and not a former one
			return s
		}
	}
	return r.Take()
}

func (h *unitShard) putSlot(s *mirror.Slot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.slots) < s.Spare(len(h.units.shards.parts)) {
		h.slots = append(h.slots, s) // units on different processors rarely share a lock
	} else {
		s.Put()
	}
}
