package mirror

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
)

// A Memory is mapped memory, which may fail at any write: the disk is full, or the file is cut. All
// methods may be called concurrently for different parts of the memory.
type Memory struct {
	bytes  []byte
	failed func(error) // called once, when a write fails
	closed atomic.Bool // nothing is written any more
}

// NewMemory returns a Memory that writes to bytes. failed is called once, on the goroutine that
// writes, if a write fails. failed must not block.
func NewMemory(bytes []byte, failed func(error)) *Memory {
	return &Memory{bytes: bytes, failed: failed}
}

// Close ends all writes. The addresses must stay reserved: a goroutine may be in the middle of a
// write, which may fail.
func (m *Memory) Close() { m.closed.Store(true) }

// Closed reports whether nothing is written any more.
func (m *Memory) Closed() bool { return m.closed.Load() }

// Write copies data to an offset.
func (m *Memory) Write(at int, data []byte) { m.write(m.bytes[at:], data, nil, 0) }

// write copies data to a part of the memory, and then stores a word, if there is one.
func (m *Memory) write(to, data []byte, word *uint64, value uint64) {
	if m.closed.Load() {
		return
	}
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		if v := recover(); v != nil {
			m.Fail(fmt.Errorf("a write to the mapped file has failed: %v", v))
		}
	}()
	copy(to, data)
	if word != nil {
		atomic.StoreUint64(word, value)
	}
}

// Fail ends all writes because of a fault.
func (m *Memory) Fail(why error) {
	if !m.closed.Swap(true) {
		m.failed(why)
	}
}
