package exporter

import "sync"

const (
	blockSize = 16 << 10
	maxShared = blockSize / 4 // bytes of an item in a block: a block wastes less than a quarter
)

// blocks store the bytes of the items in a queue. Items leave a queue in about the order in which they come, so the items of
// a block leave at about the same time, and the block takes others. The queue's lock guards blocks.
type blocks struct {
	filling *block    // takes the next item; nil before the first one
	idle    sync.Pool // of *block; the garbage collector takes what a burst leaves behind
}

type block struct {
	bytes []byte // the capacity is blockSize
	items int    // in the queue
}

// keep copies the bytes of an item to a block. An item that is too large has an allocation of its own already.
func (b *blocks) keep(e encoded) encoded {
	n := len(e.items.Bytes)
	if n > maxShared {
		return e
	}
	if b.filling == nil || n > blockSize-len(b.filling.bytes) {
		b.filling = b.take()
	}
	at := len(b.filling.bytes)
	b.filling.bytes = append(b.filling.bytes, e.items.Bytes...)
	b.filling.items++
	e.items.Bytes, e.block = b.filling.bytes[at:at+n:at+n], b.filling
	return e
}

// take returns a block without items.
func (b *blocks) take() *block {
	if idle, ok := b.idle.Get().(*block); ok {
		return idle
	}
	return &block{bytes: make([]byte, 0, blockSize)}
}

// release takes back an item that keep returned. Other items may overwrite its bytes from now on.
func (b *blocks) release(e encoded) {
	if e.block == nil {
		return
	}
	if e.block.items--; e.block.items > 0 {
		return
	}
	e.block.bytes = e.block.bytes[:0]
	if e.block != b.filling {
		b.idle.Put(e.block)
	}
}
