package mirror

import (
	"cmp"
	"slices"
	"time"
	"unicode/utf8"
)

// A Request is what a slot says of a request. All texts are valid UTF-8.
type Request struct {
	Head

	Attributes []Attribute // of the header
	Route      string      // "" if unknown
	Ended      bool        // the request has ended, and has not been handed over
	End        time.Duration
	Entries    []Recorded // in the order of their writing; open spans are the last ones
	LeftOut    int        // older entries, and open spans, without a cell
	Taken      int        // the offset of the byte for the bit [Taken] in the memory
}

// A Recorded is an entry with its attributes.
type Recorded struct {
	Entry

	Attributes []Attribute
}

// Requests returns the requests in the memory of a region: see [NewRegion]. Requests leaves out
// what is incomplete. Any memory is allowed.
func Requests(mem []byte, larges, smalls int) (all []Request) {
	at := 0
	for range larges + smalls {
		size := SmallSlot
		if larges > 0 {
			size = LargeSlot
			larges--
		}
		if size > len(mem)-at {
			break
		}
		if r, ok := readSlot(mem[at : at+size]); ok {
			r.Taken = at + takenByte
			all = append(all, r)
		}
		at += size
	}
	return all
}

// LeftOutIn returns the number of requests without a slot, of a region in memory. Any memory is
// allowed.
func LeftOutIn(mem []byte, larges, smalls int) uint64 {
	return wordAt(mem, larges*LargeSlot+smalls*SmallSlot)
}

// wordAt returns the word at an offset, or 0 if the memory is smaller.
func wordAt(mem []byte, at int) uint64 {
	if len(mem)-at < 8 {
		return 0
	}
	return order.Uint64(mem[at:])
}

func readSlot(mem []byte) (r Request, ok bool) {
	state := order.Uint64(mem)
	gen := order.Uint32(mem[headGen:])
	if state&(2*inUse-1) != uint64(gen)|inUse {
		return r, false
	}
	if r.Name, r.Attributes, ok = texts(mem[headSum:headEnd], headText-headSum); !ok {
		return r, false
	}
	copy(r.Trace[:], mem[headTrace:])
	copy(r.Span[:], mem[headSpan:])
	copy(r.Parent[:], mem[headParent:])
	r.Start = duration(mem[headStart:])
	r.Goroutine = order.Uint64(mem[headGoroutine:])
	r.Kind, r.Flags = mem[headKind], Flags(mem[headFlags])
	if n := int(mem[routeLen]); order.Uint32(mem[routeGen:]) == gen && n <= routeEnd-routeText &&
		order.Uint32(mem[routeSum:]) == mix(mem[routeGen:routeText+n]) {
		r.Route = valid(mem[routeText : routeText+n])
	}
	if order.Uint32(mem[endGen:]) == gen &&
		order.Uint32(mem[endSum:]) == mix(mem[endGen:endEnd]) {
		r.Ended, r.End = true, duration(mem[endAt:])
		r.Flags |= Flags(mem[endFlags])
	}
	if state>>takenBit > 0 {
		r.Flags |= Given
	}
	r.readCells(mem, gen, uint32(state>>handedFrom&maxHanded)) //nolint:gosec // 30 bits
	return r, true
}

// texts returns the name and the attributes of a header or a cell, which begins with its checksum.
// The texts and their lengths are at an offset.
func texts(b []byte, at int) (name string, attributes []Attribute, ok bool) {
	n, m := int(b[at-2]), int(b[at-1])
	if at+n+m > len(b) || order.Uint32(b) != mix(b[4:at+n+m]) {
		return "", nil, false
	}
	return valid(b[at : at+n]), attributesIn(b[at+n : at+n+m]), true
}

// valid returns a text as valid UTF-8.
func valid(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string([]rune(string(b)))
}

func duration(b []byte) time.Duration {
	return time.Duration(order.Uint64(b)) //nolint:gosec // bits
}

// readCells reads the entries of the request with a generation. The first ones were handed over.
func (r *Request) readCells(mem []byte, gen, handed uint32) {
	type cell struct {
		Recorded
		seq uint32
	}
	var written, open []cell
	lost := uint32(0)
	for at := cellsAt; at+cellSize <= len(mem); at += cellSize {
		b := mem[at : at+cellSize]
		if order.Uint32(b[cellGen:]) != gen {
			continue
		}
		var c cell
		var ok bool
		if c.Name, c.Attributes, ok = texts(b, cellText); !ok {
			continue
		}
		c.seq = order.Uint32(b[cellSeq:])
		lost = max(lost, order.Uint32(b[cellLost:]))
		c.Start, c.Duration = duration(b[cellStart:]), duration(b[cellDuration:])
		copy(c.Span[:], b[cellSpan:])
		copy(c.Parent[:], b[cellParent:])
		c.Goroutine = order.Uint64(b[cellGoroutine:])
		c.Kind, c.Flags = Kind(b[cellKind]), Flags(b[cellFlags])
		if c.Kind != Open && c.seq < handed {
			c.Flags |= Given
		}
		switch c.Kind {
		case Open:
			open = append(open, c)
		case Span, Mark, Measure:
			written = append(written, c)
		}
	}
	slices.SortFunc(written, func(a, b cell) int { return cmp.Compare(a.seq, b.seq) })
	slices.SortStableFunc(open, func(a, b cell) int { return cmp.Compare(a.Start, b.Start) })
	ended := map[SpanID]bool{}
	if n := len(written); n > 0 {
		r.LeftOut = max(0, int(written[n-1].seq)+1-n)
	}
	r.LeftOut += int(lost)
	for _, c := range written {
		if c.Kind == Span {
			ended[c.Span] = true
		}
		r.Entries = append(r.Entries, c.Recorded)
	}
	for _, c := range open {
		if !ended[c.Span] { // the process died between two writes
			r.Entries = append(r.Entries, c.Recorded)
		}
	}
}
