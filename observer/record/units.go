package record

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

const (
	unitShards = 64

	// Bounds of all units that wait together.
	maxUnits      = 16 << 10
	maxUnitsBytes = 64 << 20

	// A unit is handed over at the second sweep that finds it.
	sweepInterval = 2500 * time.Millisecond
)

// units find each unit of a process timeline whose journal is not empty.
type units struct {
	shards [unitShards]unitShard
	views  viewBooks

	flush  chan struct{} // has a value while one goroutine flushes
	timer  *time.Timer   // of the next sweep; runs while armed
	armed  atomic.Bool
	sweeps atomic.Uint64
}

// UnitStats count what became of the journals of a process timeline's units.
type UnitStats struct {
	// Parts that were handed over before the end of their unit, by cause.
	LongUnits    uint64 // the journal had 512 spans and measures, or 512 KiB
	OldUnits     uint64 // the journal was 2.5 to 5 s old
	CrowdedUnits uint64 // there were more than 16384 units, or 64 MiB, by estimate
	Flushes      uint64

	// Marks that were lost.
	MarksAfterEnd    uint64 // recorded after the end of their span
	MarksOverLimit   uint64 // over the limit of their span, or the bounds of its journal, before the span ended
	MarksOfOpenSpans uint64 // of spans that had not ended, at Shutdown or when there were too many
	MarksDropped     uint64 // that the process timeline or their unit had no room for, and that did not reach a span otherwise

	// Marks that their span lost, but that the receiver took by themselves.
	MarksOnlyTaken uint64

	// Entries that the journals of undecided units had no room for.
	Refused uint64

	MarksWithoutSpan uint64 // marks that stay on their timeline, because no span was active and the tracer does not take them

	Waiting      int // units that wait now
	WaitingBytes int // of their journals
	ViewBytes    int // of the entries that units keep for their readers
}

// A cause says why a part is handed over.
type cause int

const (
	causeNone cause = iota
	causeEnd
	causeLong
	causeOld
	causeCrowded
	causeFlush
	causeAbandon // marks of spans that have not ended go as well
	causes
)

func (us *units) init() {
	us.flush = make(chan struct{}, 1)
	us.timer = time.AfterFunc(time.Hour, us.sweep)
	us.timer.Stop()
	for i := range us.shards {
		h := &us.shards[i]
		h.units = us
		h.drained = sync.NewCond(&h.mu)
	}
}

// HandOver gives a span that has no unit to a receiver.
func HandOver(r Receiver, s Span) {
	j := newJournal()
	j.append(&journalRecord{span: s, gets: getsSpan}, nil)
	j.handOver(nil, r)
}

// FlushUnits hands over everything that has finished before the call. It returns when the receivers have it, including
// the parts that other goroutines hand over. It does not wait for spans that finish during the call. If ctx
// ends first, it returns the cause.
func (t *Timeline) FlushUnits(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	us := &t.root.units
	select {
	case us.flush <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-us.flush }()
	var all []*Timeline
	for i := range us.shards {
		all = us.shards[i].appendOlder(all[:0], math.MaxUint64)
		for _, u := range all {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			u.mu.Lock()
			u.handOver(causeFlush)
		}
	}
	// Now, everything that is not handed over is under way on other goroutines.
	for i := range us.shards {
		if !us.shards[i].drain(ctx) {
			return context.Cause(ctx)
		}
	}
	return nil
}

// AbandonUnits drops the marks of spans that have not ended, of the units of one receiver. They count as MarksOfOpenSpans. The
// receiver gets what has finished.
func (t *Timeline) AbandonUnits(r Receiver) {
	us := &t.root.units
	for i := range us.shards {
		for _, u := range us.shards[i].appendOlder(nil, math.MaxUint64) {
			if u.receiver == r {
				u.abandon()
			}
		}
	}
}

// abandon hands over what has finished, and drops the rest.
func (t *Timeline) abandon() {
	t.mu.Lock()
	if t.awaits() {
		t.giveUp()
	} else {
		t.handOver(causeAbandon)
	}
}

// UnitStats returns the counts of all units of the process timeline.
func (t *Timeline) UnitStats() UnitStats {
	var counts [causes]uint64
	var s UnitStats
	r := t.root
	passed := r.passedMarks.Load() // first: each of them is counted as one without a span by then
	for i := range r.units.shards {
		h := &r.units.shards[i]
		h.mu.Lock()
		for c := range counts {
			counts[c] += h.counts[c]
		}
		s.Waiting += len(h.waiting)
		h.mu.Unlock()
		s.WaitingBytes += int(h.bytes.Load())
		s.MarksAfterEnd += h.late.Load()
		s.MarksOverLimit += h.limited.Load()
		s.MarksOfOpenSpans += h.agedOut.Load()
		s.MarksOnlyTaken += h.onlyTaken.Load()
		s.Refused += h.refused.Load()
		s.MarksWithoutSpan += h.unattached.Load()
	}
	s.ViewBytes = r.units.views.total()
	s.MarksDropped = r.lostMarks.Load()
	s.LongUnits, s.OldUnits, s.CrowdedUnits, s.Flushes = counts[causeLong], counts[causeOld], counts[causeCrowded], counts[causeFlush]
	r.lock()
	defer r.unlock()
	s.MarksWithoutSpan += r.unattached - passed
	return s
}

// addStats adds the counts of entries.
func (us *units) addStats(totals *[numKinds]TypeStats) {
	for i := range us.shards {
		h := &us.shards[i]
		for _, u := range h.appendOlder(nil, math.MaxUint64) {
			u.mu.Lock()
			if u.journal != nil { // else a hand-over has counted it
				h.count(u.journal)
			}
			u.mu.Unlock()
		}
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
	var all []*Timeline
	for i := range us.shards {
		h := &us.shards[i]
		all = h.appendOlder(all[:0], before)
		crowded := h.crowded()
		for _, u := range all {
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

// rearm arms the timer again while units wait, also if a receiver has ended the goroutine of a sweep.
func (us *units) rearm() {
	us.armed.Store(false)
	for i := range us.shards { // after armed is false: a unit that comes now arms the timer itself
		if us.shards[i].inUse() {
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

// A unitShard has a part of the units.
type unitShard struct {
	units         *units
	bytes         atomic.Int64 // of journals, in steps
	late, agedOut atomic.Uint64
	limited       atomic.Uint64
	onlyTaken     atomic.Uint64
	refused       atomic.Uint64
	unattached    atomic.Uint64

	recorded, bufferFull, overflow [numKinds]atomic.Uint64 // entries; journals that wait have counts of their own

	mu      sync.Mutex  // guards what follows
	waiting []*Timeline // units whose journal is not empty
	counts  [causes]uint64

	// Hand-overs under way count in one of two numbers. When a flush has to wait for them, further ones
	// count in the other number. A sync.WaitGroup does not: bubbles of testing/synctest must not share one.
	turn    int
	under   [2]int
	drained *sync.Cond // one of the numbers has become 0, or the context of a flush has ended

	_ [64]byte // keeps the next one's lock off these cache lines
}

// Bounds of a shard.
const (
	maxShardUnits = maxUnits / unitShards
	maxShardBytes = maxUnitsBytes / unitShards

	// An undecided unit gets no more room when all units of its shard use that much.
	maxUndecidedUnits = maxShardUnits / 2
	maxUndecidedBytes = maxShardBytes / 2
)

// byteStep is the unit in which a journal's bytes are counted, so that few entries have to.
const byteStep = 4 << 10

// reserve notes that the journal of t becomes larger. It returns false if there is no room. t.mu is held.
func (h *unitShard) reserve(t *Timeline, size int) bool {
	j := t.journal
	if j.size+size <= j.counted {
		return true
	}
	mostUnits, mostBytes := maxShardUnits, int64(maxShardBytes)
	if t.awaits() {
		mostUnits, mostBytes = maxUndecidedUnits, maxUndecidedBytes
	}
	more := int64((j.size + size - j.counted + byteStep - 1) / byteStep * byteStep)
	if !h.take(more, mostBytes) {
		return false
	}
	if j.counted == 0 && !h.register(t, mostUnits) {
		h.bytes.Add(-more)
		return false
	}
	j.counted += int(more)
	return true
}

// take adds to the bytes of the shard, unless they would exceed most. A refusal does not take room from others, not even briefly.
func (h *unitShard) take(more, most int64) bool {
	for {
		was := h.bytes.Load()
		if was+more > most {
			return false
		}
		if h.bytes.CompareAndSwap(was, was+more) {
			return true
		}
	}
}

// register puts t on the list, unless that has as many units as it may have.
func (h *unitShard) register(t *Timeline, most int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.waiting) >= most {
		return false
	}
	h.enlist(t)
	return true
}

// enlist puts t on the list. h.mu is held.
func (h *unitShard) enlist(t *Timeline) {
	h.waiting = append(h.waiting, t)
	t.place, t.since = len(h.waiting), h.units.sweeps.Load()
	h.units.arm()
}

// count moves the counts of a journal to the shard. The lock of the journal's unit is held.
func (h *unitShard) count(j *journal) {
	for k, n := range j.recorded {
		if n > 0 {
			h.recorded[k].Add(uint64(n))
		}
	}
	j.recorded = [numKinds]uint32{}
}

// begin notes that j, which was the journal of t, is being handed over. t.mu is held. The caller passes the result to
// done.
func (h *unitShard) begin(t *Timeline, j *journal, why cause) (turn int) {
	less := int64(j.counted)
	if t.journal != nil {
		t.journal.counted = (t.journal.size + byteStep - 1) / byteStep * byteStep
		less -= int64(t.journal.counted)
	}
	h.bytes.Add(-less)
	h.mu.Lock()
	defer h.mu.Unlock()
	if j.finished > 0 || t.hasMarks(j) {
		h.counts[why]++
	}
	switch {
	case t.journal != nil && t.place > 0:
		t.since = h.units.sweeps.Load()
	case t.journal != nil:
		h.enlist(t)
	case t.place > 0:
		h.unlist(t)
	}
	h.under[h.turn]++
	return h.turn
}

// unlist takes t off the list. h.mu is held.
func (h *unitShard) unlist(t *Timeline) {
	last := len(h.waiting) - 1
	h.waiting[t.place-1] = h.waiting[last]
	h.waiting[t.place-1].place = t.place
	h.waiting[last] = nil
	h.waiting = h.waiting[:last]
	t.place = 0
}

// forget notes that j, which was the journal of t, is no more. t.mu is held.
func (h *unitShard) forget(t *Timeline, j *journal) {
	h.bytes.Add(-int64(j.counted))
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.place > 0 {
		h.unlist(t)
	}
}

func (h *unitShard) done(turn int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.under[turn]--; h.under[turn] == 0 {
		h.drained.Broadcast()
	}
}

// drain returns when the hand-overs that are under way now have ended, or ctx, and then false. Only one goroutine may call it at a time.
func (h *unitShard) drain(ctx context.Context) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.await(ctx, 1-h.turn) { // an earlier flush did not wait for these: the context of that flush had ended
		return false
	}
	now := h.turn
	h.turn = 1 - now
	return h.await(ctx, now)
}

// await waits until none of the hand-overs of a turn is under way. h.mu is held.
func (h *unitShard) await(ctx context.Context, turn int) bool {
	if h.under[turn] == 0 {
		return true
	}
	defer context.AfterFunc(ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.drained.Broadcast()
	})()
	for h.under[turn] > 0 {
		if ctx.Err() != nil {
			return false
		}
		h.drained.Wait()
	}
	return true
}

// appendOlder appends the units that came before the given sweep.
func (h *unitShard) appendOlder(all []*Timeline, sweep uint64) []*Timeline {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, u := range h.waiting {
		if u.since < sweep {
			all = append(all, u)
		}
	}
	return all
}

func (h *unitShard) inUse() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.waiting) > 0
}

// crowded reports whether little room is left, so that marks of spans that do not end have to go.
func (h *unitShard) crowded() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.waiting) > maxShardUnits*3/4 || h.bytes.Load() > maxShardBytes*3/4
}
