package otlpenc

import (
	"slices"
	"sync"
	"sync/atomic"
)

const (
	blockSize = 16 << 10
	minFree   = 1 << 10 // of a block that takes further items
	// bytes of items that share a block with others; a block wastes less than that
	maxShared = blockSize / 4
)

// A block has the bytes of several encoded items, one after the other. All who keep some of the
// items share the block. The last user gives the block to the next writer.
type block struct {
	bytes []byte // all of them, used or not
	users atomic.Int32
}

var blocks sync.Pool

func newBlock() *block {
	b, ok := blocks.Get().(*block)
	if !ok {
		b = &block{bytes: make([]byte, blockSize)}
	}
	b.users.Store(1)
	return b
}

// release ends a use. b may be nil.
func (b *block) release() {
	if b != nil && b.users.Add(-1) == 0 && len(b.bytes) == blockSize {
		blocks.Put(b)
	}
}

// A shared is the memory of encoded items.
type shared struct {
	block *block // nil: the bytes are the caller's
	at    int    // where the bytes are in the block
}

// holds reports whether the block has these bytes. A caller may have put others in their place.
func (s shared) holds(bytes []byte) bool {
	return s.block != nil && len(bytes) > 0 && &bytes[0] == &s.block.bytes[s.at]
}

// retain returns bytes that nobody changes until release.
func (s shared) retain(bytes []byte) ([]byte, shared) {
	if !s.holds(bytes) {
		return slices.Clone(bytes), shared{}
	}
	s.block.users.Add(1)
	return bytes, s
}

func (s shared) release(bytes []byte) {
	if s.holds(bytes) {
		s.block.release()
	}
}

// from returns the memory of the bytes from the n-th on.
func (s shared) from(n int) shared {
	s.at += n
	return s
}

// A Writer writes encoded items to memory that those who keep items share: see [Spans.Retain]. The
// zero value is ready for use. Only one goroutine may use a Writer at a time.
type Writer struct {
	filling *block // nil before the first item
	used    int    // bytes of filling
}

// begin takes a new block.
func (w *Writer) begin() {
	w.filling.release()
	w.filling, w.used = newBlock(), 0
}

// Next returns an empty slice to which the caller appends encoded items.
func (w *Writer) Next() []byte {
	if w.filling == nil || blockSize-w.used < minFree {
		w.begin()
	}
	return w.filling.bytes[w.used:w.used]
}

// Full reports whether the block has little room for more than these items, which the caller has
// appended to the result of Next. To go on in the next block saves copies.
func (*Writer) Full(items []byte) bool { return cap(items)-len(items) < minFree/4 }

// Spans returns spans whose bytes the caller has appended to the result of Next. The caller
// releases the spans.
func (w *Writer) Spans(s Spans) Spans {
	s.Bytes, s.shared = w.take(s.Bytes)
	return s
}

// Records returns records as Spans returns spans.
func (w *Writer) Records(r Records) Records {
	r.Bytes, r.shared = w.take(r.Bytes)
	return r
}

// take returns the bytes in a block with one more user.
func (w *Writer) take(b []byte) ([]byte, shared) {
	n := len(b)
	switch {
	case n == 0:
		return nil, shared{}
	case n <= blockSize-w.used && &b[0] == &w.filling.bytes[w.used]:
	case n > maxShared: // appending made an array of its own
		if cap(b)-n > n/8 {
			b = slices.Clone(b)
		}
		own := &block{bytes: b[:n:n]}
		own.users.Store(1)
		return own.bytes, shared{own, 0}
	default:
		w.begin()
		copy(w.filling.bytes, b)
	}
	at := w.used
	w.used += n
	w.filling.users.Add(1)
	return w.filling.bytes[at:w.used:w.used], shared{w.filling, at}
}
