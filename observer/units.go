package observer

import (
	"context"
	"math"
	"math/rand/v2"
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

// Units are the units of one tracer. They find each unit whose intervals wait for their hand-over. Methods may be
// called concurrently.
type Units struct {
	tracer Tracer
	shards [unitShards]paddedShard

	flush  chan struct{} // has a value while one goroutine flushes
	timer  *time.Timer   // of the next sweep; runs while armed
	armed  atomic.Bool
	sweeps atomic.Uint64
}

// UnitStats count the parts that were handed over before the end of their root, by cause.
type UnitStats struct {
	Long    uint64 // the part had 512 intervals or 512 KiB
	Old     uint64 // the part was 2.5 to 5 s old
	Crowded uint64 // there were more than 16384 units, or 64 MiB, by estimate
	Flushed uint64

	Waiting      int // units that wait now
	WaitingBytes int // of their intervals
}

// A cause says why a part is handed over.
type cause int

const (
	causeEnd cause = iota
	causeLong
	causeOld
	causeCrowded
	causeFlush
	causes
)

// NewUnits returns the units of a tracer. They need no closing: their timer runs only while units wait.
func NewUnits(t Tracer) *Units {
	us := &Units{tracer: t, flush: make(chan struct{}, 1)}
	us.timer = time.AfterFunc(time.Hour, us.sweep)
	us.timer.Stop()
	for i := range us.shards {
		h := &us.shards[i].unitShard
		h.drained = sync.NewCond(&h.mu)
	}
	return us
}

// New returns a unit. ended says that its root has ended already.
func (us *Units) New(ended bool) *Unit {
	return &Unit{units: us, shard: &us.shards[rand.Uint64()%unitShards].unitShard, ended: ended}
}

// HandOver hands over the interval of a root that has nothing else in its unit.
func (us *Units) HandOver(root Interval) {
	j := newJournal()
	j.append(root, 0)
	j.handOver(us.tracer)
}

// Flush hands over everything that has finished before the call. It returns when the tracer has received it, including
// the parts that other goroutines hand over. It does not wait for intervals that finish during the call. If ctx
// ends first, it returns the cause.
func (us *Units) Flush(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case us.flush <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-us.flush }()
	var units []*Unit
	for i := range us.shards {
		units = us.shards[i].appendOlder(units[:0], math.MaxUint64)
		for _, u := range units {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			u.mu.Lock()
			u.handOver(causeFlush)
		}
	}
	// Now, everything that is not handed over is under way on other goroutines.
	for i := range us.shards {
		us.shards[i].drain()
	}
	return nil
}

// Stats returns the counts.
func (us *Units) Stats() UnitStats {
	var counts [causes]uint64
	var s UnitStats
	for i := range us.shards {
		h := &us.shards[i].unitShard
		h.mu.Lock()
		for c := range counts {
			counts[c] += h.counts[c]
		}
		s.Waiting += len(h.units)
		h.mu.Unlock()
		s.WaitingBytes += int(h.bytes.Load())
	}
	s.Long, s.Old, s.Crowded, s.Flushed = counts[causeLong], counts[causeOld], counts[causeCrowded], counts[causeFlush]
	return s
}

// sweep hands over old units. It runs on the timer's goroutine.
func (us *Units) sweep() {
	before := us.sweeps.Add(1) - 1
	var units []*Unit
	for i := range us.shards {
		units = us.shards[i].appendOlder(units[:0], before)
		for _, u := range units {
			u.mu.Lock()
			u.handOver(causeOld)
		}
	}
	us.armed.Store(false)
	for i := range us.shards { // after armed is false: a unit that comes now arms the timer itself
		if us.shards[i].waiting() {
			us.arm()
			return
		}
	}
}

func (us *Units) arm() {
	if !us.armed.Load() && us.armed.CompareAndSwap(false, true) {
		us.timer.Reset(sweepInterval)
	}
}

// A unitShard has a part of the units.
type unitShard struct {
	bytes atomic.Int64 // of intervals that wait

	mu     sync.Mutex // guards what follows
	units  []*Unit    // that wait
	counts [causes]uint64

	// Hand-overs under way count in one of two numbers. When a flush has to wait for them, further ones
	// count in the other number.
	turn    int
	under   [2]int
	drained *sync.Cond // one of the numbers is 0
}

// A paddedShard keeps a shard's lock off the cache lines of its neighbours.
type paddedShard struct {
	unitShard
	_ [64]byte
}

// wait notes that one more interval of u waits, the first one or not. It returns false if there is no room. u.mu is held.
func (h *unitShard) wait(u *Unit, first bool, size int) bool {
	if h.bytes.Add(int64(size)) > maxUnitsBytes/unitShards {
		h.bytes.Add(-int64(size))
		return false
	}
	u.journal.counted += size
	if !first {
		return true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.units) >= maxUnits/unitShards {
		return false
	}
	h.units = append(h.units, u)
	u.place, u.since = len(h.units), u.units.sweeps.Load()
	u.units.arm()
	return true
}

// begin notes that the journal j of u is being handed over. u.mu is held. The caller passes the result to done.
func (h *unitShard) begin(u *Unit, j *journal, why cause) (turn int) {
	h.bytes.Add(-int64(j.counted))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counts[why]++
	if u.place > 0 {
		last := len(h.units) - 1
		h.units[u.place-1] = h.units[last]
		h.units[u.place-1].place = u.place
		h.units[last] = nil
		h.units = h.units[:last]
		u.place = 0
	}
	h.under[h.turn]++
	return h.turn
}

func (h *unitShard) done(turn int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.under[turn]--; h.under[turn] == 0 {
		h.drained.Broadcast()
	}
}

// drain returns when the hand-overs that are under way now have ended. Only one goroutine may call it at a time.
func (h *unitShard) drain() {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.turn
	h.turn = 1 - now
	for h.under[now] > 0 {
		h.drained.Wait()
	}
}

// appendOlder appends the units that came before the given sweep.
func (h *unitShard) appendOlder(units []*Unit, sweep uint64) []*Unit {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, u := range h.units {
		if u.since < sweep {
			units = append(units, u)
		}
	}
	return units
}

func (h *unitShard) waiting() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.units) > 0
}
