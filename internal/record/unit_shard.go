package record

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perfline/perfline/internal/record/mirror"
)

// A cause is the reason for a hand-over.
type cause int

const (
	causeNone cause = iota
	causeEnd
	causeLong
	causeOld
	causeCrowded
	causeFlush
	causeAbandon // marks of open spans go, too
	causes
)

// A unitShard has the units of a processor. The atomic counters are the fields of UnitStats.
type unitShard struct {
	units            *units
	bytes            atomic.Int64          // of journals, in steps
	spare            [budgets]atomic.Int64 // bytes of the budgets without a journal
	marksAfterEnd    atomic.Uint64
	marksOverLimit   atomic.Uint64
	marksOfOpenSpans atomic.Uint64
	marksOnlyTaken   atomic.Uint64
	marksWithoutSpan atomic.Uint64
	refused          atomic.Uint64

	// Counts of entries. A journal counts its own entries until a hand-over.
	recorded, bufferFull, overflow [numKinds]atomic.Uint64

	mu      sync.Mutex  // guards the fields below
	waiting []*Unit     // units with a journal that is not retired
	ended   []*Finished // retired journals, for the next hand-over
	idle    []*Finished // an empty list for ended
	counts  [causes]uint64
	slots   []*mirror.Slot // free

	// active has two counts of hand-overs. A flush waits for one count to drain, while new
	// hand-overs use the other: active[turn]. A sync.WaitGroup will not do: bubbles of
	// testing/synctest must not share one.
	turn    int
	active  [2]int
	drained *sync.Cond // signals that a count is 0, or that the context of a flush has ended

	_ [64]byte // separates the cache lines of two shards
}

// byteStep is the granularity of counted bytes: few entries change a shared counter.
const byteStep = 4 << 10

// steps rounds a number of bytes up to byteStep.
func steps(n int) int { return (n + byteStep - 1) / byteStep * byteStep }

// reserve counts the growth of u's journal. reserve returns false if there is no room. u.mu is
// held.
func (h *unitShard) reserve(u *Unit, size int) bool {
	j := u.journal
	if j.size+size <= j.counted {
		return true
	}
	first := j.counted == 0
	if !h.cover(j, j.size+size, u.undecided()) {
		return false
	}
	if first {
		h.mu.Lock()
		h.enlist(u)
		h.mu.Unlock()
	}
	return true
}

// cover counts size bytes of a journal. cover returns false if there is no room.
func (h *unitShard) cover(j *journal, size int, undecided bool) bool {
	if size <= j.counted {
		return true
	}
	more := steps(size - j.counted)
	if undecided && !h.units.take(h, forUndecided, more) {
		return false
	}
	if !h.units.take(h, forAll, more) {
		if undecided {
			h.units.give(h, forUndecided, more)
		}
		return false
	}
	h.bytes.Add(int64(more))
	j.counted += more
	if undecided {
		j.undecided += more
	}
	return true
}

// giveBack returns the bytes of a journal to the budgets.
func (h *unitShard) giveBack(j *journal) {
	if j.counted > 0 {
		h.bytes.Add(-int64(j.counted))
		h.units.give(h, forAll, j.counted)
		j.counted = 0
	}
	h.decide(j)
}

// decide returns the bytes that counted while the journal's unit was undecided.
func (h *unitShard) decide(j *journal) {
	if j.undecided > 0 {
		h.units.give(h, forUndecided, j.undecided)
		j.undecided = 0
	}
}

// enlist adds u to the list. h.mu is held.
func (h *unitShard) enlist(u *Unit) {
	h.waiting = append(h.waiting, u)
	u.place, u.sweep = int32(len(h.waiting)), h.units.sweeps.Load()
	h.units.arm()
}

// unlist removes u from the list. h.mu is held.
func (h *unitShard) unlist(u *Unit) {
	last := len(h.waiting) - 1
	h.waiting[u.place-1] = h.waiting[last]
	h.waiting[u.place-1].place = u.place
	h.waiting[last] = nil
	h.waiting = h.waiting[:last]
	u.place = 0
}

// relist updates the list after a change of u.journal. h.mu is held.
func (h *unitShard) relist(u *Unit) {
	switch {
	case u.journal != nil && u.place > 0:
		u.sweep = h.units.sweeps.Load()
	case u.journal != nil:
		h.enlist(u)
	case u.place > 0:
		h.unlist(u)
	}
}

// count moves the entry counts of a journal to the shard. The caller owns or locks the journal.
func (h *unitShard) count(j *journal) {
	for k, n := range j.recorded {
		if n > 0 {
			h.recorded[k].Add(uint64(n))
		}
	}
	j.recorded = [numKinds]uint32{}
}

// split moves counted bytes from j, the former journal of u, to u's new journal, which holds marks
// of open spans. The unit's mu is held.
func split(u *Unit, j *journal) {
	if u.journal != nil {
		u.journal.counted = min(steps(u.journal.size), j.counted)
		j.counted -= u.journal.counted
	}
}

// begin starts the hand-over of j, the former journal of u, until done(turn). u.mu is held.
func (h *unitShard) begin(u *Unit, j *journal, why cause) (turn int) {
	h.count(j)
	split(u, j)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counts[why]++
	h.relist(u)
	h.active[h.turn]++
	return h.turn
}

// retire queues j, the former journal of u, for a hand-over. retire returns the length of the
// queue, and whether the queue can wait: there is room, and the black box can wait, too. u is
// nil for a span without a unit; else u.mu is held.
func (h *unitShard) retire(u *Unit, j *journal) (waiting int, canWait bool) {
	if u != nil {
		split(u, j)
		h.decide(j)
	}
	canWait = h.cover(j, j.size, false) && !h.mirrorLacks(u)
	h.mu.Lock()
	defer h.mu.Unlock()
	if u != nil {
		h.relist(u)
	}
	j.part.shard, j.part.ended = h, time.Since(h.units.start)
	h.ended = append(h.ended, &j.part)
	return len(h.ended), canWait
}

// urge schedules a hand-over of the queue, or hands the queue over. No lock is held.
func (h *unitShard) urge(waiting int, canWait bool) {
	switch {
	case !canWait, waiting > maxBacklog:
		h.deliverEnded()
	case waiting == 1:
		h.units.armEnded()
	case waiting == maxBatch:
		h.units.endedTimer.Reset(0)
	}
}

// deliverEnded hands over the journals that were retired before the call.
func (h *unitShard) deliverEnded() {
	if l, ok := h.takeEnded(); ok {
		deliver([]endedList{l})
	}
}

// An endedList has the retired journals of a shard, during their hand-over.
type endedList struct {
	shard *unitShard
	all   []*Finished
	turn  int
}

// takeEnded takes the queue for deliver. takeEnded returns false if the queue is empty.
func (h *unitShard) takeEnded() (l endedList, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.ended) == 0 {
		return l, false
	}
	l = endedList{h, h.ended, h.turn}
	for _, f := range l.all {
		h.count(f.journal)
	}
	h.ended, h.idle = h.idle, nil
	h.active[h.turn]++
	return l, true
}

// deliver hands over the journals of some lists, in the order of retire.
func deliver(lists []endedList) {
	var rest []*Finished
	if len(lists) == 1 {
		rest = lists[0].all
	} else {
		for _, l := range lists {
			rest = append(rest, l.all...)
		}
		slices.SortStableFunc(rest,
			func(a, b *Finished) int { return cmp.Compare(a.ended, b.ended) })
	}
	defer func() {
		for _, f := range rest {
			f.shard.putBack(f)
		}
		for _, l := range lists {
			l.shard.handedOver(l)
		}
	}()
	for len(rest) > 0 {
		n := 1
		for n < len(rest) && n < maxBatch && rest[n].receiver == rest[0].receiver {
			n++
		}
		parts := rest[:n]
		rest = rest[n:]
		handOver(parts)
	}
}

// putBack queues a journal again after a receiver has ended the goroutine of the hand-over.
func (h *unitShard) putBack(f *Finished) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = append(h.ended, f)
	h.units.armEnded()
}

// handedOver recycles a list.
func (h *unitShard) handedOver(l endedList) {
	h.mu.Lock()
	if clear(l.all); cap(l.all) <= 2*maxBacklog {
		h.idle = l.all[:0]
	}
	h.mu.Unlock()
	h.done(l.turn)
}

// handOver gives parts to their common receiver, and recycles their bytes and their storage.
func handOver(parts []*Finished) {
	returned := false
	defer func() {
		for _, f := range parts {
			f.shard.giveBack(f.journal)
			switch u := f.unit; {
			case !f.mirrored:
			case f.open:
				u.mirrorHanded(f.written)
			default:
				u.mu.Lock()
				u.freeMirror()
				u.mu.Unlock()
			}
			if returned { // a receiver that panicked may still read the journal
				f.journal.free()
			}
		}
	}()
	parts[0].receiver.HandOver(parts)
	returned = true
}

func (h *unitShard) done(turn int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.active[turn]--; h.active[turn] == 0 {
		h.drained.Broadcast()
	}
}

// drain waits for the hand-overs that are active now. drain returns false if ctx ends first. Only
// one goroutine may call drain at a time.
func (h *unitShard) drain(ctx context.Context) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	// the hand-overs of an earlier flush whose context ended first
	if !h.await(ctx, 1-h.turn) {
		return false
	}
	now := h.turn
	h.turn = 1 - now
	return h.await(ctx, now)
}

// await waits until a count of hand-overs is 0. h.mu is held.
func (h *unitShard) await(ctx context.Context, turn int) bool {
	if h.active[turn] == 0 {
		return true
	}
	defer context.AfterFunc(ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.drained.Broadcast()
	})()
	for h.active[turn] > 0 {
		if ctx.Err() != nil {
			return false
		}
		h.drained.Wait()
	}
	return true
}

// olderThan returns the units that entered the list before the given sweep.
func (h *unitShard) olderThan(sweep uint32) (all []*Unit) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, u := range h.waiting {
		if u.sweep < sweep {
			all = append(all, u)
		}
	}
	return all
}
