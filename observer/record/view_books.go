package record

import (
	"sync"
	"weak"
)

// maxViews bounds the buffers of a timeline's units together, in bytes. Their journals have maxUnitsBytes.
const maxViews = 16 << 20

// viewBooks has what the buffers of units take.
type viewBooks struct {
	mu      sync.Mutex // the last lock of all: nothing is called while it is held
	bytes   int
	of      map[*taken]struct{}
	refused uint
}

// taken is what the buffer of a unit has.
type taken struct {
	books *viewBooks
	unit  weak.Pointer[Unit] // nobody may end it
	bytes int
}

// take adds to what t has. It returns false if that would be too much.
func (b *viewBooks) take(t *taken, more int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bytes+more > maxViews {
		if b.refused++; b.refused%64 == 1 {
			b.forgetGone()
		}
		if b.bytes+more > maxViews {
			return false
		}
	}
	if b.of == nil {
		b.of = map[*taken]struct{}{}
	}
	b.of[t] = struct{}{}
	t.bytes += more
	b.bytes += more
	return true
}

// forgetGone gives back what units have that were collected without an end. b.mu is held.
func (b *viewBooks) forgetGone() {
	for t := range b.of {
		if t.unit.Value() == nil {
			b.giveBack(t)
		}
	}
}

// giveBack forgets t. b.mu is held.
func (b *viewBooks) giveBack(t *taken) {
	b.bytes -= t.bytes
	t.bytes = 0
	delete(b.of, t)
}

// release gives back what t has.
func (t *taken) release() {
	t.books.mu.Lock()
	defer t.books.mu.Unlock()
	t.books.giveBack(t)
}

func (b *viewBooks) total() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes
}
