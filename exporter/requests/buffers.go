package requests

import "math/bits"

const (
	minBuffer = 512       // the least capacity
	maxIdle   = 256 << 10 // capacity of all idle buffers
	sizes     = 19        // from minBuffer to maxIdle
)

// buffers lends out bytes, and takes them back for the next ones. It counts their capacity.
type buffers struct {
	bytes     int // lent and idle
	idle      [sizes][][]byte
	idleBytes int
}

// bufferSize returns the capacity of a buffer for n bytes, and its number. It is a power of two, or three quarters
// of one, and exceeds n by a half at most.
func bufferSize(n int) (capacity, size int) {
	if n <= minBuffer {
		return minBuffer, 0
	}
	log := bits.Len(uint(n - 1))
	capacity, size = 1<<log, 2*(log-bits.Len(minBuffer-1))
	if less := capacity / 4 * 3; n <= less {
		return less, size - 1
	}
	return capacity, size
}

// take returns an idle buffer for n bytes, or nil.
func (b *buffers) take(n int) []byte {
	_, size := bufferSize(n)
	if size >= sizes || len(b.idle[size]) == 0 {
		return nil
	}
	list := b.idle[size]
	last := len(list) - 1
	buf := list[last]
	list[last] = nil
	b.idle[size] = list[:last]
	b.idleBytes -= cap(buf)
	return buf
}

// make returns a new buffer for n bytes, or nil if there would be more than most then.
func (b *buffers) make(n, most int) []byte {
	capacity, _ := bufferSize(n)
	if b.bytes+capacity > most {
		return nil
	}
	b.bytes += capacity
	return make([]byte, 0, capacity)
}

// put takes a buffer back. A reader may still have one that is shared: it is not used again.
func (b *buffers) put(buf []byte, shared bool) {
	capacity, size := bufferSize(cap(buf))
	if shared || b.idleBytes+capacity > maxIdle {
		b.bytes -= capacity
		return
	}
	b.idle[size] = append(b.idle[size], buf[:0])
	b.idleBytes += capacity
}

// dropIdle returns false if there was none.
func (b *buffers) dropIdle() bool {
	if b.idleBytes == 0 {
		return false
	}
	clear(b.idle[:])
	b.bytes -= b.idleBytes
	b.idleBytes = 0
	return true
}
