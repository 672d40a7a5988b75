package otlpenc

import (
	"slices"
	"sync"
	"sync/atomic"
)

const (
	blockSize = 16 << 10
	minFree   = 1 << 10       // bytes of a block for further items
	maxShared = blockSize / 4 // bytes of items in a shared block, and the most that a block wastes
)

// A block stores several encoded items in a row. All users of these items share the block. After
// the last release, the next writer reuses the block.
type block struct {
	bytes []byte
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

// release removes a user. b may be nil.
func (b *block) release() {
	if b != nil && b.users.Add(-1) == 0 && len(b.bytes) == blockSize {
		blocks.Put(b)
	}
}

// A shared is the place of encoded items in a block.
type shared struct {
	block *block // nil: the bytes belong to the caller
	at    int    // the offset of the bytes in the block
}

// holds reports whether the block stores these bytes: a caller may have replaced the bytes.
func (s shared) holds(bytes []byte) bool {
	return s.block != nil && len(bytes) > 0 && &bytes[0] == &s.block.bytes[s.at]
}

// retain returns bytes that do not change until release.
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

// from returns the place of the bytes from the n-th on.
func (s shared) from(n int) shared {
	s.at += n
	return s
}

// A Writer stores encoded items in blocks of memory. Users of the items share the blocks: see
// [Spans.Retain]. The zero value is ready for use. Only one goroutine may use a Writer at a time.
type Writer struct {
	filling *block // nil before the first item
	used    int    // bytes of filling
}

func (w *Writer) begin() {
	w.filling.release()
	w.filling, w.used = newBlock(), 0
}

// Next returns an empty slice. The caller appends encoded items to the slice.
func (w *Writer) Next() []byte {
	if w.filling == nil || blockSize-w.used < minFree {
		w.begin()
	}
	return w.filling.bytes[w.used:w.used]
}

// Full reports whether the block has almost no room after items. items must be the result of Next
// with appended items. If Full returns true, the caller should store the items and call Next again.
// A new block avoids a copy of the items.
func (*Writer) Full(items []byte) bool { return cap(items)-len(items) < minFree/4 }

// Spans stores the bytes of s, and returns s with the stored bytes. s.Bytes must be the result of
// [Writer.Next] with appended spans. The caller must release the result.
func (w *Writer) Spans(s Spans) Spans {
	s.Bytes, s.shared = w.take(s.Bytes)
	return s
}

// Records stores records in the same way as [Writer.Spans] stores spans.
func (w *Writer) Records(r Records) Records {
	r.Bytes, r.shared = w.take(r.Bytes)
	return r
}

// take adds a user to the block of the bytes, and copies the bytes if they outgrew the block.
func (w *Writer) take(b []byte) ([]byte, shared) {
	n := len(b)
	switch {
	case n == 0:
		return nil, shared{}
	case n <= blockSize-w.used && &b[0] == &w.filling.bytes[w.used]:
	case n > maxShared: // append allocated an array
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
