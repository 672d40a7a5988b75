package record

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perfline/perfline/internal/record/mirror"
)

const (
	maxUnitsBytes = 64 << 20          // of all journals together
	maxUndecided  = maxUnitsBytes / 2 // of the journals of undecided units

	// sweepInterval: the second sweep after its start hands a unit over.
	sweepInterval = 2500 * time.Millisecond
)

// units are the units of a process timeline with a journal.
type units struct {
	shards PerProcessor[unitShard]
	room   [budgets]atomic.Int64 // bytes outside the shards

	// viewsLeft is the part of maxViews without a unit. The counter is allocated by itself:
	// cleanups of units refer to the counter, and a cleanup that refers to units would keep its
	// unit alive.
	viewsLeft *atomic.Int64

	mirror        atomic.Pointer[mirror.Region] // of the units that begin; nil without a black box
	mirrorClaimed atomic.Bool                   // by a black box

	start     time.Time     // the origin of Finished.ended
	flushLock chan struct{} // full while one goroutine flushes

	timer  *time.Timer // of the next sweep; set while armed
	armed  atomic.Bool
	sweeps atomic.Uint32

	endedTimer *time.Timer // of the hand-over of retired journals; set while endedArmed
	endedArmed atomic.Bool
}

// UnitStats counts the units of a process timeline, the hand-overs of the journals, and the lost
// marks.
type UnitStats struct {
	// Hand-overs before the end of the unit, by cause.
	LongUnits    uint64 // the journal reached 512 spans and measures, or 512 KiB
	OldUnits     uint64 // the journal was 2.5 to 5 s old
	CrowdedUnits uint64 // all journals exceeded 64 MiB, by estimate

	// Lost marks.
	MarksAfterEnd    uint64 // recorded after the span's end
	MarksOverLimit   uint64 // over the limit of the span or of the journal
	MarksOfOpenSpans uint64 // of spans that were open at Shutdown, or when there were too many
	MarksDropped     uint64 // dropped because the timeline or the journal was full

	MarksOnlyTaken   uint64 // missing in the span, but received separately
	Refused          uint64 // entries that undecided units could not keep
	MarksWithoutSpan uint64 // on the timeline only: without an active span or a tracer

	Waiting      int // units with a journal now
	WaitingBytes int // bytes of these journals
	ViewBytes    int // bytes of entries that units hold for readers
}

func (us *units) init() {
	us.flushLock, us.start = make(chan struct{}, 1), time.Now()
	us.timer = time.AfterFunc(time.Hour, us.sweep)
	us.endedTimer = time.AfterFunc(time.Hour, us.onEndedTimer)
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

// HandOver passes the finished span s to the receiver r. The span s must belong to no unit.
func (t *Timeline) HandOver(r Receiver, s Span) {
	j := newJournal()
	rec := journalRecord{span: s, gets: getsSpan, size: recordSize(s.Size())}
	j.append(&rec, nil)
	j.size = rec.sizeWith(nil)
	j.part = Finished{journal: j, receiver: r}
	h := t.root.units.shards.Near()
	h.urge(h.retire(nil, j))
}

const (
	maxBatch   = 64                     // parts of a hand-over; so many retired journals start one
	maxBacklog = 8 * maxBatch           // at more, the goroutine that ends a unit hands over
	maxDelay   = 100 * time.Millisecond // of a retired journal
)

// onEndedTimer hands over the retired journals on the timer's goroutine.
func (us *units) onEndedTimer() {
	us.endedArmed.Store(false) // first: a unit that ends from now on arms the timer itself
	us.deliverEnded()
}

// armEnded schedules a hand-over of the retired journals.
func (us *units) armEnded() {
	if !us.endedArmed.Load() && us.endedArmed.CompareAndSwap(false, true) {
		us.endedTimer.Reset(maxDelay)
	}
}

// HandOverEnded passes the journals of all ended units to the receivers, and waits until the
// receivers return. Units that end after the call may be missing. If ctx ends first, HandOverEnded
// returns the cause of the end of ctx.
func (t *Timeline) HandOverEnded(ctx context.Context) error {
	return t.root.units.flush(ctx, false)
}

// FlushUnits passes all finished spans, marks and measures to the receivers, also from open units.
// Undecided units pass nothing before the end of the unit. FlushUnits waits until the receivers
// return. Records that finish after the call may be missing. If ctx ends first, FlushUnits returns
// the cause of the end of ctx.
func (t *Timeline) FlushUnits(ctx context.Context) error { return t.root.units.flush(ctx, true) }

// flush hands over the retired journals, and with open the finished records of open units.
func (us *units) flush(ctx context.Context, open bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case us.flushLock <- struct{}{}:
		defer func() { <-us.flushLock }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	us.deliverEnded()
	if open && !us.flushOpen(ctx) {
		return context.Cause(ctx)
	}
	// other goroutines are handing over the rest
	for h := range us.shards.All() {
		if !h.drain(ctx) {
			return context.Cause(ctx)
		}
	}
	return nil
}

// flushOpen hands over the finished records of open units. flushOpen returns false if ctx ends
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
	us.deliverEnded() // the units that ended during the loop
	return true
}

// deliverEnded hands over the retired journals.
func (us *units) deliverEnded() {
	var lists []endedList
	for h := range us.shards.All() {
		if l, ok := h.takeEnded(); ok {
			lists = append(lists, l)
		}
	}
	deliver(lists)
}

// AbandonUnits passes the finished records of the units of r to the receiver r. AbandonUnits drops
// the records of undecided units. AbandonUnits also drops the marks of open spans, and counts these
// marks as MarksOfOpenSpans.
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

// abandon hands over finished records, and drops the rest.
func (u *Unit) abandon() {
	u.mu.Lock()
	if u.undecided() {
		u.giveUp()
	} else {
		u.handOver(causeAbandon)
	}
}

// UnitStats returns the counts of all units of the process timeline.
func (t *Timeline) UnitStats() UnitStats {
	var s UnitStats
	r := t.root
	passed := r.passedMarks.Load() // first: a later mark may not be in looseMarks yet
	for h := range r.units.shards.All() {
		h.mu.Lock()
		s.LongUnits += h.counts[causeLong]
		s.OldUnits += h.counts[causeOld]
		s.CrowdedUnits += h.counts[causeCrowded]
		s.Waiting += len(h.waiting) + len(h.ended)
		h.mu.Unlock()
		s.WaitingBytes += int(h.bytes.Load())
		s.MarksAfterEnd += h.marksAfterEnd.Load()
		s.MarksOverLimit += h.marksOverLimit.Load()
		s.MarksOfOpenSpans += h.marksOfOpenSpans.Load()
		s.MarksOnlyTaken += h.marksOnlyTaken.Load()
		s.Refused += h.refused.Load()
		s.MarksWithoutSpan += h.marksWithoutSpan.Load()
	}
	s.ViewBytes = maxViews - int(r.units.viewsLeft.Load())
	s.MarksDropped = r.lostMarks.Load()
	r.lock()
	defer r.unlock()
	s.MarksWithoutSpan += r.looseMarks - passed
	return s
}

// addStats adds the units' counts of entries to totals.
func (us *units) addStats(totals *[numKinds]TypeStats) {
	for h := range us.shards.All() {
		for _, u := range h.olderThan(math.MaxUint32) {
			u.mu.Lock()
			if u.journal != nil { // a hand-over counts the entries of a former journal
				h.count(u.journal)
			}
			u.mu.Unlock()
		}
		h.mu.Lock()
		for _, f := range h.ended {
			h.count(f.journal)
		}
		h.mu.Unlock()
		for k := range totals {
			totals[k].Recorded += h.recorded[k].Load()
			totals[k].BufferFull += h.bufferFull[k].Load()
			totals[k].Overflow += h.overflow[k].Load()
		}
	}
}

// sweep hands over old journals on the timer's goroutine.
func (us *units) sweep() {
	defer us.rearm()
	before := us.sweeps.Add(1) - 1
	bytes := int64(0)
	for h := range us.shards.All() {
		bytes += h.bytes.Load()
	}
	crowded := bytes > maxUnitsBytes*3/4 // marks of spans that never end have to go
	for h := range us.shards.All() {
		for _, u := range h.olderThan(before) {
			u.mu.Lock()
			u.handOver(causeOld)
			switch {
			case u.undecided():
				u.expire(before)
			case crowded:
				u.abandon()
			}
		}
	}
}

// rearm arms the timer while units wait, also if a receiver ended the goroutine of a sweep.
func (us *units) rearm() {
	us.armed.Store(false)
	// after the Store: a unit that comes from now on arms the timer itself
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
