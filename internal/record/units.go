package record

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxUnitsBytes = 64 << 20          // of all journals together
	maxUndecided  = maxUnitsBytes / 2 // of the journals of undecided units

	// A unit is handed over at the second sweep that finds it.
	sweepInterval = 2500 * time.Millisecond
)

// units find each unit of a process timeline whose journal is not empty.
type units struct {
	shards PerProcessor[unitShard]
	room   [budgets]atomic.Int64 // that no shard has at hand

	// The bytes of maxViews that no unit's buffer has. Cleanups of units refer to the number alone:
	// a cleanup that refers to units keeps its unit alive.
	viewsLeft *atomic.Int64

	began time.Time // for the order of ends

	flushing chan struct{} // has a value while one goroutine flushes
	timer    *time.Timer   // of the next sweep; runs while armed
	armed    atomic.Bool
	sweeps   atomic.Uint32

	endedTimer *time.Timer // of the hand-over of units that have ended; runs while endedArmed
	endedArmed atomic.Bool
}

// UnitStats count what became of the journals of a process timeline's units.
type UnitStats struct {
	// Parts that were handed over before the end of their unit, by cause.
	LongUnits    uint64 // the journal had 512 spans and measures, or 512 KiB
	OldUnits     uint64 // the journal was 2.5 to 5 s old
	CrowdedUnits uint64 // there were more than 64 MiB, by estimate

	// Marks that were lost.
	MarksAfterEnd uint64 // recorded after the end of their span
	// over the limit of their span, or the bounds of its journal, before the span ended
	MarksOverLimit   uint64
	MarksOfOpenSpans uint64 // of spans that had not ended, at Shutdown or when there were too many
	// that the process timeline or their unit had no room for, and that did not reach a span otherwise
	MarksDropped uint64

	MarksOnlyTaken uint64 // marks that their span lost, but that the receiver took by themselves
	Refused        uint64 // entries that the journals of undecided units had no room for
	// marks that stay on their timeline, because no span was active and the tracer does not take them
	MarksWithoutSpan uint64

	Waiting      int // units whose journal is not empty now
	WaitingBytes int // of the journals
	ViewBytes    int // of the entries that units keep for their readers
}

func (us *units) init() {
	us.flushing, us.began = make(chan struct{}, 1), time.Now()
	us.timer, us.endedTimer = time.AfterFunc(time.Hour, us.sweep),
		time.AfterFunc(time.Hour, us.onEndedTimer)
	us.timer.Stop()
	us.endedTimer.Stop()
	us.viewsLeft = new(atomic.Int64)
	us.viewsLeft.Store(maxViews)
	us.room[forAll].Store(maxUnitsBytes)
	us.room[forUndecided].Store(maxUndecided)
	for i := range us.shards.parts {
		h := &us.shards.parts[i]
		h.units = us
		h.drained = sync.NewCond(&h.mu)
	}
}

// HandOver gives a span that has no unit to a receiver, as the end of its unit would.
func (t *Timeline) HandOver(r Receiver, s Span) {
	j := newJournal()
	rec := journalRecord{span: s, gets: getsSpan, size: recordSize(s.Size())}
	j.append(&rec, nil)
	j.size = rec.sizeWith(nil)
	j.part = Finished{journal: j, receiver: r}
	h := t.root.units.shards.Near()
	h.urge(h.retire(nil, j))
}

// maxEnded is how many units that have ended wait in a shard before they are handed over. The
// goroutine that ends one more than mostEnded does so itself.
const (
	maxEnded  = 64
	mostEnded = 8 * maxEnded
)

// maxDelay is how long a unit that has ended waits for others.
const maxDelay = 100 * time.Millisecond

// onEndedTimer hands over the units that have ended. It runs on the timer's goroutine.
func (us *units) onEndedTimer() {
	us.endedArmed.Store(false) // first: a unit that ends now arms the timer itself
	us.deliverEnded()
}

// armEnded sees to it that the units that have ended are handed over.
func (us *units) armEnded() {
	if !us.endedArmed.Load() && us.endedArmed.CompareAndSwap(false, true) {
		us.endedTimer.Reset(maxDelay)
	}
}

// HandOverEnded returns when the receivers have the units that ended before the call. If ctx ends
// first, it returns the cause.
func (t *Timeline) HandOverEnded(
	ctx context.Context) error {
	return t.root.units.flush(ctx, false)
}

// FlushUnits returns when the receivers have everything that finished before the call. If ctx ends
// first, it returns the cause.
func (t *Timeline) FlushUnits(ctx context.Context) error { return t.root.units.flush(ctx, true) }

// flush hands over the units that have ended, and what has finished in others if open is true.
func (us *units) flush(ctx context.Context, open bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case us.flushing <- struct{}{}:
		defer func() { <-us.flushing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	us.deliverEnded()
	if open && !us.flushOpen(ctx) {
		return context.Cause(ctx)
	}
	// everything that is not handed over is under way on other goroutines
	for h := range us.shards.All() {
		if !h.drain(ctx) {
			return context.Cause(ctx)
		}
	}
	return nil
}

// flushOpen hands over what has finished in units that have not ended. It returns false if ctx ends
// first.
func (us *units) flushOpen(ctx context.Context) bool {
	for h := range us.shards.All() {
		for _, u := range h.olderThan(math.MaxUint32) {
			if ctx.Err() != nil {
				return false
			}
			u.mu.Lock()
			u.handOver(causeFlush)
		}
	}
	us.deliverEnded() // what has ended meanwhile
	return true
}

// deliverEnded hands over the units that have ended.
func (us *units) deliverEnded() {
	var lists []endedList
	for h := range us.shards.All() {
		if l, ok := h.takeEnded(); ok {
			lists = append(lists, l)
		}
	}
	deliver(lists)
}

// AbandonUnits drops the marks of open spans in the units of one receiver, which count as
// MarksOfOpenSpans. The receiver gets what has finished.
func (t *Timeline) AbandonUnits(r Receiver) {
	us := &t.root.units
	for h := range us.shards.All() {
		h.deliverEnded()
		for _, u := range h.olderThan(math.MaxUint32) {
			if u.receiver == r {
				u.abandon()
			}
		}
	}
}

// abandon hands over what has finished, and drops the rest.
func (u *Unit) abandon() {
	u.mu.Lock()
	if u.awaits() {
		u.giveUp()
	} else {
		u.handOver(causeAbandon)
	}
}

// UnitStats returns the counts of all units of the process timeline.
func (t *Timeline) UnitStats() UnitStats {
	var s UnitStats
	r := t.root
	passed := r.passedMarks.Load() // first: each of them is counted as one without a span by then
	for h := range r.units.shards.All() {
		h.mu.Lock()
		s.LongUnits += h.counts[causeLong]
		s.OldUnits += h.counts[causeOld]
		s.CrowdedUnits += h.counts[causeCrowded]
		s.Waiting += len(h.waiting) + len(h.ended)
		h.mu.Unlock()
		s.WaitingBytes += int(h.bytes.Load())
		s.MarksAfterEnd += h.late.Load()
		s.MarksOverLimit += h.limited.Load()
		s.MarksOfOpenSpans += h.agedOut.Load()
		s.MarksOnlyTaken += h.onlyTaken.Load()
		s.Refused += h.refused.Load()
		s.MarksWithoutSpan += h.unattached.Load()
	}
	s.ViewBytes = maxViews - int(r.units.viewsLeft.Load())
	s.MarksDropped = r.lostMarks.Load()
	r.lock()
	defer r.unlock()
	s.MarksWithoutSpan += r.unattached - passed
	return s
}

// addStats adds the counts of entries.
func (us *units) addStats(totals *[numKinds]TypeStats) {
	for h := range us.shards.All() {
		for _, u := range h.olderThan(math.MaxUint32) {
			u.mu.Lock()
			if u.journal != nil { // else a hand-over has counted it
				h.count(u.journal)
			}
			u.mu.Unlock()
		}
		h.countEnded()
		for k := range totals {
			totals[k].Recorded += h.recorded[k].Load()
			totals[k].BufferFull += h.bufferFull[k].Load()
			totals[k].Overflow += h.overflow[k].Load()
		}
	}
}

// sweep hands over old units. It runs on the timer's goroutine.
func (us *units) sweep() {
	defer us.rearm()
	before := us.sweeps.Add(1) - 1
	crowded := us.crowded()
	for h := range us.shards.All() {
		for _, u := range h.olderThan(before) {
			u.mu.Lock()
			u.handOver(causeOld)
			switch {
			case u.awaits():
				u.expire(before)
			case crowded:
				u.abandon()
			}
		}
	}
}

// crowded reports whether little room is left, so that marks of spans that do not end have to go.
func (us *units) crowded() bool {
	bytes := int64(0)
	for h := range us.shards.All() {
		bytes += h.bytes.Load()
	}
	return bytes > maxUnitsBytes*3/4
}

// rearm arms the timer again while units wait, also if a receiver has ended the goroutine of a
// sweep.
func (us *units) rearm() {
	us.armed.Store(false)
	// after armed is false: a unit that comes now arms the timer itself
	for h := range us.shards.All() {
		if len(h.olderThan(math.MaxUint32)) > 0 {
			us.arm()
			return
		}
	}
}

func (us *units) arm() {
	if !us.armed.Load() && us.armed.CompareAndSwap(false, true) {
		us.timer.Reset(sweepInterval)
	}
}
