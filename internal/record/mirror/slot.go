package mirror

import (
	"math/bits"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"
)

// A Slot is the place of one open request in a region. Only one goroutine at a time may call the
// methods of a Slot. The methods neither block nor allocate.
type Slot struct {
	region *Region
	mem    []byte
	state  *uint64 // the first word of mem
	inUse  atomic.Bool
	// of the request; entries of the slot's earlier requests have other ones
	gen    uint32
	cells  uint8             // in mem
	opens  uint8             // cells of open spans
	used   uint8             // bits: the cells of open spans that are in use
	oldest uint8             // the cell of an open span that is overwritten next
	spans  [openCells]SpanID // of the open spans
	seq    uint32            // of the next entry
	lost   uint32            // open spans without a cell, and entries after the end
	handed uint32            // entries that were handed over
	ended  bool
	self   uint64     // the goroutine on which the request began
	route  *string    // see Pattern
	outer  string     // the pattern of an outer mux
	attrs  Attributes // of the next header or entry
}

func newSlot(r *Region, mem []byte) *Slot {
	s := &Slot{region: r, mem: mem, cells: 1,
		state: (*uint64)(unsafe.Pointer(&mem[headState]))} //nolint:gosec // aligned
	if len(mem) == LargeSlot {
		s.cells, s.opens = largeCells, openCells
	}
	return s
}

// Attributes returns the empty attributes for the next call of Begin or Write.
func (s *Slot) Attributes() *Attributes {
	s.attrs.n, s.attrs.cut = 0, false
	return &s.attrs
}

// Begin writes the header of a request that begins on the calling goroutine.
func (s *Slot) Begin(h *Head) {
	if s.gen++; s.gen == 0 { // as an empty cell
		s.gen = 1
	}
	s.seq, s.lost, s.handed = 0, 0, 0
	s.inUse.Store(true)
	s.region.begun()
	s.used, s.oldest, s.ended = 0, 0, false
	s.self, s.route, s.outer = s.region.self(), nil, ""
	var b [headEnd]byte
	order.PutUint32(b[headGen:], s.gen)
	copy(b[headTrace:], h.Trace[:])
	copy(b[headSpan:], h.Span[:])
	copy(b[headParent:], h.Parent[:])
	order.PutUint64(b[headStart:], uint64(h.Start)) //nolint:gosec // bits
	order.PutUint64(b[headGoroutine:], s.self)
	b[headKind], b[headFlags] = h.Kind, byte(h.Flags)
	n := s.putTexts(b[:], headText, h.Name, maxName)
	order.PutUint32(b[headSum:], mix(b[headSum+4:n]))
	s.region.memory.write(s.mem[headSum:n], b[headSum:n], s.state, uint64(s.gen)|inUse)
}

// putTexts writes a name and the attributes at an offset of b, and their lengths and the flag Cut
// before them. putTexts returns the end of the attributes.
func (s *Slot) putTexts(b []byte, at int, name string, most int) (end int) {
	a := &s.attrs
	short := clip(name, most)
	n := copy(b[at:], short)
	fits := a.room[:min(a.n, len(b)-at-n)]
	b[at-2], b[at-1] = byte(n), byte(len(fits))
	if a.cut || len(short) < len(name) || len(fits) < a.n {
		b[at-3] |= byte(Cut)
	}
	end = at + n + copy(b[at+n:], fits)
	a.n, a.cut = 0, false
	return end
}

// Pattern sets where the pattern of an http.ServeMux appears, while the request's goroutine matches
// the request. Only this goroutine may read it: LookForRoute does.
func (s *Slot) Pattern(at *string) { s.route, s.outer = at, *at }

// LookForRoute writes the route if the mux has matched the request, and if the calling goroutine is
// the request's.
func (s *Slot) LookForRoute() {
	if s.route == nil || s.self == 0 || s.region.self() != s.self || *s.route == s.outer {
		return
	}
	if slash := strings.IndexByte(*s.route, '/'); slash >= 0 {
		s.Route((*s.route)[slash:]) // of "METHOD host/path"
	}
}

// Route writes the route of the request.
func (s *Slot) Route(route string) {
	s.route = nil
	var b [routeEnd - routeSum]byte
	route = clip(route, routeEnd-routeText)
	order.PutUint32(b[routeGen-routeSum:], s.gen)
	b[routeLen-routeSum] = byte(len(route))
	n := routeText - routeSum + copy(b[routeText-routeSum:], route)
	order.PutUint32(b[:], mix(b[routeGen-routeSum:n]))
	s.region.memory.write(s.mem[routeSum:routeSum+n], b[:n], nil, 0)
}

// Write writes an entry in place of the oldest one. An entry of kind Open gets a cell of its own
// until the end of the span: see EndSpan. After End, Write does nothing.
func (s *Slot) Write(e *Entry) {
	at := int(s.opens) + int(s.seq)%int(s.cells-s.opens)
	switch {
	case s.ended:
		s.lost++
		at = -1
	case e.Kind == Open:
		at = s.openCell(e.Span)
	}
	if at < 0 {
		s.Attributes()
		return
	}
	s.LookForRoute()
	var b [cellSize]byte
	order.PutUint32(b[cellGen:], s.gen)
	order.PutUint32(b[cellSeq:], s.seq)
	order.PutUint32(b[cellLost:], s.lost)
	order.PutUint64(b[cellStart:], uint64(e.Start))       //nolint:gosec // bits
	order.PutUint64(b[cellDuration:], uint64(e.Duration)) //nolint:gosec // bits
	copy(b[cellSpan:], e.Span[:])
	copy(b[cellParent:], e.Parent[:])
	order.PutUint64(b[cellGoroutine:], s.region.self())
	b[cellKind], b[cellFlags] = byte(e.Kind), byte(e.Flags)
	n := s.putTexts(b[:], cellText, e.Name, maxCellName)
	order.PutUint32(b[:], mix(b[cellGen:n]))
	s.region.memory.write(s.mem[cellsAt+at*cellSize:], b[:n], nil, 0)
	if e.Kind != Open {
		s.seq++
	}
}

// openCell returns a cell for an open span: a free one, or the one of another open span. openCell
// returns -1 if the slot has no such cells.
func (s *Slot) openCell(id SpanID) int {
	if s.opens == 0 {
		s.lost++
		return -1
	}
	at := bits.TrailingZeros8(^s.used)
	if at >= openCells {
		at = int(s.oldest)
		s.oldest = (s.oldest + 1) % openCells
		s.lost++
	}
	s.used |= 1 << at
	s.spans[at] = id
	return at
}

// EndSpan frees the cell of an open span. The caller writes the ended span first.
func (s *Slot) EndSpan(id SpanID) {
	for used := s.used; used != 0; used &= used - 1 {
		at := bits.TrailingZeros8(used)
		if s.spans[at] != id {
			continue
		}
		s.used &^= 1 << at
		var none [cellGen + 4]byte
		cell := s.mem[cellsAt+at*cellSize:]
		s.region.memory.write(cell[:len(none)], none[:], nil, 0)
		return
	}
}

// End writes the end of the request. The request stays in the slot until Clear.
func (s *Slot) End(at time.Duration, flags Flags) {
	s.LookForRoute()
	s.ended, s.route, s.outer = true, nil, ""
	var b [endEnd - endSum]byte
	order.PutUint32(b[endGen-endSum:], s.gen)
	order.PutUint64(b[endAt-endSum:], uint64(at)) //nolint:gosec // bits
	b[endFlags-endSum] = byte(flags)
	order.PutUint32(b[:], mix(b[endGen-endSum:]))
	s.region.memory.write(s.mem[endSum:endEnd], b[:], nil, 0)
}

// Whole reports whether the slot has all entries of the request that were not handed over. Their
// attributes may be cut.
func (s *Slot) Whole() bool {
	return s.lost == 0 && s.seq-s.handed <= uint32(s.cells-s.opens)
}

// Written returns the number of entries so far, without the open spans.
func (s *Slot) Written() uint32 { return s.seq }

// Handed notes that the first n entries, of marks only those of ended spans, were handed over. The
// calls may come in any order.
func (s *Slot) Handed(n uint32) {
	s.handed = max(s.handed, min(n, maxHanded))
	s.region.memory.write(nil, nil, s.state, uint64(s.gen)|inUse|uint64(s.handed)<<handedFrom)
}

// Clear removes the request from the slot.
func (s *Slot) Clear() {
	s.region.memory.write(nil, nil, s.state, 0)
	s.inUse.Store(false)
}
