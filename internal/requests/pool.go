package requests

import "math/bits"

// A pool holds values for reuse. It allocates values in blocks of 16.
type pool[T any] []*T

func (p *pool[T]) take() *T {
	if len(*p) == 0 {
		for block := make([]T, 16); len(block) > 0; block = block[1:] {
			p.put(&block[0])
		}
	}
	last := len(*p) - 1
	v := (*p)[last]
	*p = (*p)[:last]
	return v
}

func (p *pool[T]) put(v *T) { *p = append(*p, v) }

// buffers holds byte slices for reuse, by size.
type buffers [bufferSizes][][]byte

const (
	minBuffer   = 512 // bytes
	bufferSizes = 6   // each size is twice the size before
	maxIdle     = 8   // buffers of each size: 252 KiB together
)

// bufferSize returns the capacity of a buffer for n bytes, and its place in buffers, if any.
func bufferSize(n int) (capacity, size int) {
	size = bits.Len(uint(n-1) / minBuffer)
	if size < bufferSizes {
		return minBuffer << size, size
	}
	return n + n/4, size
}

// take returns an empty buffer for n bytes.
func (b *buffers) take(n int) []byte {
	capacity, size := bufferSize(n)
	if size >= bufferSizes || len(b[size]) == 0 {
		return make([]byte, 0, capacity)
	}
	last := len(b[size]) - 1
	buf := b[size][last]
	b[size] = b[size][:last]
	return buf
}

func (b *buffers) put(buf []byte) {
	if cap(buf) == 0 {
		return
	}
	if capacity, size := bufferSize(cap(buf)); capacity == cap(buf) && size < bufferSizes &&
		len(b[size]) < maxIdle {
		b[size] = append(b[size], buf[:0])
	}
}
