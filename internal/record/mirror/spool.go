package mirror

import (
	"hash/crc32"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A Spool keeps finished spans in memory until a backend has taken them. All methods may be called
// concurrently.
//
// A spool is a ring of items, each with a header. Positions count bytes since the beginning, and
// never decrease. The first words of the memory are the position of the oldest item, the position
// of the next one, and the number of spans that were overwritten or too large. Behind them are the
// groups.
type Spool struct {
	memory *Memory
	mem    []byte // of the ring
	groups []byte // of the memory, before the ring
	oldest *uint64
	next   *uint64

	overwritten atomic.Uint64 // spans
	count       *uint64       // overwritten, in the memory

	mu    sync.Mutex      // guards the fields below; locked between Begin and Commit
	room  []spooled       // its end is items
	items []spooled       // the oldest first
	first uint64          // the receipt of the first one
	to    uint64          // the value of next
	body  []byte          // scratch
	head  [itemBytes]byte // scratch, because the checksum needs a heap

	numbers map[Group]uint32
	last    uint32 // of the groups in the memory
	used    int    // bytes of groups
}

// A spooled is what the spool itself remembers of an item: a read of the memory may fail.
type spooled struct {
	at    uint64
	spans uint64
	taken bool
}

// The header of an item. The position and the checksum tell an item from what was there before.
const (
	itemAt    = 0
	itemSum   = 8 // of the bytes behind the flags
	itemTaken = 12
	itemLen   = 16
	itemCount = 20
	itemGroup = 24
	itemBytes = 32

	spoolHead = 24
	maxGrowth = 16 // bytes of all requests, for a byte of their memory
	maxBody   = 1 << 20
)

// NewSpool returns an empty spool in size bytes of m from an offset on. The bytes must be zero.
func NewSpool(m *Memory, at, size int) *Spool {
	mem := m.bytes[at : at+size]
	ring := spoolHead + groupsSize(size)
	return &Spool{memory: m, mem: mem[ring:], groups: mem[spoolHead:ring], first: 1,
		numbers: map[Group]uint32{},
		oldest:  (*uint64)(unsafe.Pointer(&mem[0])),  //nolint:gosec // aligned
		next:    (*uint64)(unsafe.Pointer(&mem[8])),  //nolint:gosec // aligned
		count:   (*uint64)(unsafe.Pointer(&mem[16]))} //nolint:gosec // aligned
}

// Begin begins a list of items. A process that dies has left all items of the list, or none. The
// caller must call Commit. Other calls of Begin and Done wait for Commit.
func (s *Spool) Begin() { s.mu.Lock() }

// Commit ends the list of items.
func (s *Spool) Commit() {
	defer s.mu.Unlock()
	s.memory.write(nil, nil, s.next, s.to)
}

// Put adds an item with the encoded spans of a group, between Begin and Commit. count is the number
// of spans. With a nil group, the item is an ExportTraceServiceRequest of OTLP. If there is no
// room, Put overwrites the oldest items, and counts their spans. The result is the receipt for
// Done, or 0 if the item is too large.
func (s *Spool) Put(count uint64, g Group, spans []byte) (receipt uint64) {
	number := s.number(g)
	if g != nil && number == 0 {
		s.body = appendRequest(s.body[:0], g, spans)
		spans = s.body
		if cap(s.body) > maxBody {
			s.body = nil
		}
	}
	size := uint64(itemBytes+len(spans)+7) &^ 7
	if size > uint64(len(s.mem))/2 || s.memory.Closed() {
		s.lose(count)
		return 0
	}
	for s.to+size-s.from() > uint64(len(s.mem)) {
		s.drop()
	}
	head := &s.head
	order.PutUint64(head[itemAt:], s.to)
	order.PutUint32(head[itemLen:], uint32(len(spans))) //nolint:gosec // small
	order.PutUint32(head[itemCount:], uint32(count))    //nolint:gosec // small
	order.PutUint32(head[itemGroup:], number)
	sum := crc32.Update(checksum(head[itemLen:]), table, spans)
	order.PutUint32(head[itemSum:], sum)
	s.writeRing(s.to, head[:])
	s.writeRing(s.to+itemBytes, spans)
	// use the room of the old items again
	if len(s.items) == cap(s.items) && cap(s.room) >= 2*len(s.items) {
		s.items = append(s.room[:0], s.items...)
	}
	grown := cap(s.items)
	s.items = append(s.items, spooled{at: s.to, spans: count})
	if cap(s.items) > grown {
		s.room = s.items
	}
	s.to += size
	return s.first + uint64(len(s.items)) - 1
}

// writeRing writes bytes at a position of the ring.
func (s *Spool) writeRing(at uint64, b []byte) {
	at %= uint64(len(s.mem))
	first := min(uint64(len(b)), uint64(len(s.mem))-at)
	s.memory.write(s.mem[at:], b[:first], nil, 0)
	if first < uint64(len(b)) {
		s.memory.write(s.mem, b[first:], nil, 0)
	}
}

// from returns the position of the oldest item. s.mu is held.
func (s *Spool) from() uint64 {
	if len(s.items) > 0 {
		return s.items[0].at
	}
	return s.to
}

// drop removes the oldest item, and counts its spans unless they were taken. s.mu is held.
func (s *Spool) drop() {
	if it := s.items[0]; !it.taken {
		s.lose(it.spans)
	}
	s.items = s.items[1:]
	s.first++
	s.memory.write(nil, nil, s.oldest, s.from())
}

// lose counts spans that the memory does not have. s.mu is held.
func (s *Spool) lose(spans uint64) {
	s.memory.write(nil, nil, s.count, s.overwritten.Add(spans))
}

// Done notes that a backend has taken the item with a receipt, or has refused it for ever.
func (s *Spool) Done(receipt uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if receipt < s.first { // it was overwritten, or had no room
		return
	}
	it := &s.items[receipt-s.first]
	it.taken = true
	at := (it.at + itemTaken) % uint64(len(s.mem))
	s.memory.write(s.mem[at:], taken[:], nil, 0)
	for len(s.items) > 0 && s.items[0].taken {
		s.drop()
	}
}

var taken = [4]byte{Taken}

// copyRing copies bytes of a ring from a position on.
func copyRing(to, ring []byte, from uint64) {
	n := copy(to, ring[from%uint64(len(ring)):])
	copy(to[n:], ring)
}

// Overwritten returns the number of spans that were overwritten or too large.
func (s *Spool) Overwritten() uint64 { return s.overwritten.Load() }

// OverwrittenIn returns the number of spans that were overwritten or too large in a spool.
// Any memory is allowed.
func OverwrittenIn(mem []byte) uint64 { return wordAt(mem, 16) }

// An Item is an item of a spool that no backend has taken.
type Item struct {
	Body  []byte // an ExportTraceServiceRequest of OTLP
	Spans int
	Taken int // the offset of the byte for the bit [Taken] in the spool's memory
}

// Items returns the items of a spool in memory, the oldest first. Items ends at the first item that
// is incomplete. Any memory is allowed.
func Items(mem []byte) (all []Item) {
	if len(mem) < 2*(spoolHead+itemBytes) {
		return nil
	}
	from, to := order.Uint64(mem), order.Uint64(mem[8:])
	before := spoolHead + groupsSize(len(mem))
	groups, ring := groupsIn(mem[spoolHead:before]), mem[before:]
	if len(ring)%8 > 0 || from%8 > 0 || to < from || to-from > uint64(len(ring)) {
		return nil
	}
	left := maxGrowth * len(mem)
	for from < to {
		var head [itemBytes]byte
		copyRing(head[:], ring, from)
		n := uint64(order.Uint32(head[itemLen:]))
		if order.Uint64(head[itemAt:]) != from || n > to-from {
			return all
		}
		b := make([]byte, itemBytes+n)
		copyRing(b, ring, from)
		number := int(order.Uint32(head[itemGroup:]))
		if order.Uint32(head[itemSum:]) != checksum(b[itemLen:]) || number > len(groups) {
			return all
		}
		if order.Uint32(head[itemTaken:]) == 0 {
			body := b[itemBytes:]
			if number > 0 {
				body = appendRequest(nil, groups[number-1], body)
			}
			if left -= len(body); left < 0 { // the memory is not a spool's
				return all
			}
			all = append(all, Item{body, int(order.Uint32(head[itemCount:])),
				before + int((from+itemTaken)%uint64(len(ring)))}) //nolint:gosec // small
		}
		from += (itemBytes + n + 7) &^ 7
	}
	return all
}
