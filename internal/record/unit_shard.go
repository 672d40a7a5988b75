package record

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

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

// A unitShard has the units of a processor: those that it made.
type unitShard struct {
	units         *units
	bytes         atomic.Int64          // of journals, in steps
	spare         [budgets]atomic.Int64 // of the budgets, what no journal has
	late, agedOut atomic.Uint64
	limited       atomic.Uint64
	onlyTaken     atomic.Uint64
	refused       atomic.Uint64
	unattached    atomic.Uint64

	// entries; journals that wait have counts of their own
	recorded, bufferFull, overflow [numKinds]atomic.Uint64

	mu sync.Mutex // guards what follows
	// units that have not ended, or have marks of spans that have not, and whose journal is not empty
	waiting []*Unit
	ended   []*Finished // that can be handed over
	idle    []*Finished // an empty list for ended
	counts  [causes]uint64

	// Hand-overs under way count in one of two numbers. When a flush has to wait for them, further
	// ones count in the other number. A sync.WaitGroup does not: bubbles of testing/synctest must
	// not share one.
	turn    int
	under   [2]int
	drained *sync.Cond // one of the numbers has become 0, or the context of a flush has ended

	_ [64]byte // keeps the next one's lock off these cache lines
}

// byteStep is the unit in which a journal's bytes are counted, so that few entries have to.
const byteStep = 4 << 10

// steps returns a number of bytes as a journal counts them.
func steps(n int) int { return (n + byteStep - 1) / byteStep * byteStep }

// reserve notes that the journal of u becomes larger. It returns false if there is no room. The
// unit's mu is held.
func (h *unitShard) reserve(u *Unit, size int) bool {
	j := u.journal
	if j.size+size <= j.counted {
		return true
	}
	first := j.counted == 0
	if !h.cover(j, j.size+size, u.awaits()) {
		return false
	}
	if first {
		h.mu.Lock()
		h.enlist(u)
		h.mu.Unlock()
	}
	return true
}

// cover counts size bytes of a journal. It returns false if there is no room for them.
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

// giveBack returns the bytes of a journal.
func (h *unitShard) giveBack(j *journal) {
	if j.counted > 0 {
		h.bytes.Add(-int64(j.counted))
		h.units.give(h, forAll, j.counted)
		j.counted = 0
	}
	h.decide(j)
}

// decide notes that the unit of a journal is not undecided any more.
func (h *unitShard) decide(j *journal) {
	if j.undecided > 0 {
		h.units.give(h, forUndecided, j.undecided)
		j.undecided = 0
	}
}

// enlist puts u on the list. h.mu is held.
func (h *unitShard) enlist(u *Unit) {
	h.waiting = append(h.waiting, u)
	u.place, u.sweep = int32(len(h.waiting)), h.units.sweeps.Load()
	h.units.arm()
}

// unlist takes u off the list. h.mu is held.
func (h *unitShard) unlist(u *Unit) {
	last := len(h.waiting) - 1
	h.waiting[u.place-1] = h.waiting[last]
	h.waiting[u.place-1].place = u.place
	h.waiting[last] = nil
	h.waiting = h.waiting[:last]
	u.place = 0
}

// relist notes that u has another journal, or none. h.mu is held.
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

// count moves the counts of a journal to the shard. The journal belongs to the caller, or the lock
// of its unit is held.
func (h *unitShard) count(j *journal) {
	for k, n := range j.recorded {
		if n > 0 {
			h.recorded[k].Add(uint64(n))
		}
	}
	j.recorded = [numKinds]uint32{}
}

// forget notes that j, which was the journal of u, is no more. u has another one, or none. The
// unit's mu is held.
func (h *unitShard) forget(u *Unit, j *journal) {
	split(u, j)
	h.giveBack(j)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.relist(u)
}

// split moves bytes from j, which was the journal of u, to the journal that u has now: marks of
// spans that have not finished. The unit's mu is held.
func split(u *Unit, j *journal) {
	if u.journal != nil {
		u.journal.counted = min(steps(u.journal.size), j.counted)
		j.counted -= u.journal.counted
	}
}

// begin notes that j, which was the journal of u, is being handed over, until done is called with
// the result. The unit's mu is held.
func (h *unitShard) begin(u *Unit, j *journal, why cause) (turn int) {
	h.count(j)
	split(u, j)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counts[why]++
	h.relist(u)
	h.under[h.turn]++
	return h.turn
}

// retire notes that j, which was the journal of u, can be handed over, because u has ended. It
// returns how many journals wait for that, and whether there is room for them. The unit's mu is
// held. u is nil for a span alone.
func (h *unitShard) retire(u *Unit, j *journal) (waiting int, room bool) {
	if u != nil {
		split(u, j)
		h.decide(j)
	}
	room = h.cover(j, j.size, false)
	h.mu.Lock()
	defer h.mu.Unlock()
	if u != nil {
		h.relist(u)
	}
	j.part.shard, j.part.ended = h, time.Since(h.units.began)
	h.ended = append(h.ended, &j.part)
	return len(h.ended), room
}

// urge sees to it that what has ended is handed over in time. No lock is held.
func (h *unitShard) urge(waiting int, room bool) {
	switch {
	case !room, waiting > mostEnded:
		h.deliverEnded()
	case waiting == 1:
		h.units.armEnded()
	case waiting == maxEnded:
		h.units.endedTimer.Reset(0)
	}
}

// deliverEnded hands over what has ended before the call.
func (h *unitShard) deliverEnded() {
	if l, ok := h.takeEnded(); ok {
		deliver([]endedList{l})
	}
}

// An endedList is what had ended in a shard, and is being handed over.
type endedList struct {
	shard *unitShard
	all   []*Finished
	turn  int
}

// takeEnded takes what has ended. It returns false if there is nothing. The caller passes the list
// to deliver.
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
	h.under[h.turn]++
	return l, true
}

// deliver hands over the parts of some lists, in the order in which their units ended.
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
		for n < len(rest) && n < maxEnded && rest[n].receiver == rest[0].receiver {
			n++
		}
		parts := rest[:n]
		rest = rest[n:]
		handOver(parts)
	}
}

// putBack takes back a part that has not been handed over, because a receiver has ended the
// goroutine.
func (h *unitShard) putBack(f *Finished) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = append(h.ended, f)
	h.units.armEnded()
}

// handedOver takes back a list.
func (h *unitShard) handedOver(l endedList) {
	h.mu.Lock()
	if clear(l.all); cap(l.all) <= 2*mostEnded {
		h.idle = l.all[:0]
	}
	h.mu.Unlock()
	h.done(l.turn)
}

// handOver gives parts to their receiver, which is the same for all. Then it gives their bytes and
// their storage back.
func handOver(parts []*Finished) {
	returned := false
	defer func() {
		for _, f := range parts {
			f.shard.giveBack(f.journal)
			if returned { // else the receiver may read it still
				f.journal.free()
			}
		}
	}()
	parts[0].receiver.HandOver(parts)
	returned = true
}

// countEnded counts the entries of what has ended and is not handed over.
func (h *unitShard) countEnded() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.ended {
		h.count(f.journal)
	}
}

func (h *unitShard) done(turn int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.under[turn]--; h.under[turn] == 0 {
		h.drained.Broadcast()
	}
}

// drain returns true when the hand-overs that are under way now have ended, and false if ctx ends
// first. Only one goroutine may call it at a time.
func (h *unitShard) drain(ctx context.Context) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	// an earlier flush did not wait for these: the context of that flush had ended
	if !h.await(ctx, 1-h.turn) {
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

// olderThan returns the units that came before the given sweep.
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
