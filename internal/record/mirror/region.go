package mirror

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A Region is memory that is divided into slots. All methods may be called concurrently.
type Region struct {
	memory  *Memory
	self    func() uint64 // the id of the calling goroutine, or 0
	awake   func()        // see NewRegion
	busy    atomic.Bool   // awake was called
	leftOut atomic.Uint64
	count   *uint64      // leftOut, in the memory
	large   int64        // large slots
	free    atomic.Int64 // large slots that can be taken

	mu     sync.Mutex // guards the fields below
	slots  []*Slot    // that were used
	larges list
	smalls list
}

// A list has the free slots of one size. The last slot that became free is the first one to be used
// again: few pages of the memory change.
type list struct {
	free   []*Slot
	unused int // slots that were never used
	at     int // the offset of the first one of these
	size   int
}

// NewRegion returns a region in the bytes of m from an offset on. The bytes must be zero. They have
// larges slots of LargeSlot bytes, then smalls slots of SmallSlot bytes, and then RegionTail bytes.
// self returns the id of the calling goroutine, or 0. awake is called when a request begins after
// [Region.Idle].
func NewRegion(m *Memory, at, larges, smalls int, self func() uint64, awake func()) *Region {
	n := larges*LargeSlot + smalls*SmallSlot
	if len(m.bytes)-at < n+RegionTail {
		panic(fmt.Sprintf("mirror: %d bytes for slots of %d bytes", len(m.bytes)-at, n))
	}
	r := &Region{
		memory: m, self: self, awake: awake, large: int64(larges),
		count:  (*uint64)(unsafe.Pointer(&m.bytes[at+n])), //nolint:gosec // aligned
		larges: list{unused: larges, at: at, size: LargeSlot},
		smalls: list{unused: smalls, at: at + larges*LargeSlot, size: SmallSlot},
	}
	r.free.Store(r.large)
	return r
}

// Take returns a slot for a request, or nil if there is none. Take counts the requests without a
// slot.
func (r *Region) Take() *Slot {
	if r.memory.Closed() {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.larges.take(r)
	if s != nil {
		r.free.Add(-1)
		return s
	}
	if s = r.smalls.take(r); s == nil {
		r.memory.write(nil, nil, r.count, r.leftOut.Add(1))
	}
	return s
}

func (l *list) take(r *Region) *Slot {
	if n := len(l.free); n > 0 {
		s := l.free[n-1]
		l.free = l.free[:n-1]
		return s
	}
	if l.unused == 0 {
		return nil
	}
	s := newSlot(r, r.memory.bytes[l.at:l.at+l.size])
	r.slots = append(r.slots, s)
	l.unused--
	l.at += l.size
	return s
}

// Put returns the slot to its region.
func (s *Slot) Put() {
	r := s.region
	r.mu.Lock()
	defer r.mu.Unlock()
	l := &r.larges
	if len(s.mem) == SmallSlot {
		l = &r.smalls
	} else {
		r.free.Add(1)
	}
	l.free = append(l.free, s)
}

// Scarce reports whether most large slots are taken: requests that have ended should give theirs
// back.
func (r *Region) Scarce() bool { return r.free.Load() < r.large/4 }

// Spare returns how many slots like s each of n holders may keep for its next requests: together, a
// quarter of the large ones, and none while these are scarce.
func (s *Slot) Spare(n int) int {
	if len(s.mem) == SmallSlot || s.region.Scarce() {
		return 0
	}
	return int(s.region.large) / 4 / n
}

// Region returns the region of the slot.
func (s *Slot) Region() *Region { return s.region }

// LeftOut returns the number of requests that had no slot.
func (r *Region) LeftOut() uint64 { return r.leftOut.Load() }

// Idle returns the number of requests that are in a slot, and whether none is or was there since
// the last call. The next request calls awake if none was.
func (r *Region) Idle() (open int64, idle bool) {
	busy := r.busy.Swap(false)
	r.mu.Lock()
	for _, s := range r.slots {
		if s.inUse.Load() {
			open++
		}
	}
	r.mu.Unlock()
	if open > 0 {
		r.busy.Store(true)
	}
	return open, open == 0 && !busy
}

// begun notes that a request begins. Requests on different processors write nothing here that they
// share, except at the first request after Idle.
func (r *Region) begun() {
	if !r.busy.Load() && !r.busy.Swap(true) {
		r.awake()
	}
}
