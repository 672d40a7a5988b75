package queue

const (
	blockLen  = 128
	maxSpares = 16 // unused blocks, for two thousand items
)

// A fifo holds items in blocks. It grows without copying, and its memory follows its length.
type fifo[T Item] struct {
	head, tail *block[T]
	first, end int // first index of head's items, end index of tail's items
	spare      *block[T]
	spares     int

	items   int
	count   int // sum of Count
	request int // sum of Request
}

type block[T Item] struct {
	items [blockLen]T
	next  *block[T]
}

func (f *fifo[T]) push(item T, count, request int) {
	if f.tail == nil || f.end == blockLen {
		b := f.spare
		if b == nil {
			b = new(block[T])
		} else {
			f.spare, b.next = b.next, nil
			f.spares--
		}
		if f.tail == nil {
			f.head, f.first = b, 0
		} else {
			f.tail.next = b
		}
		f.tail, f.end = b, 0
	}
	f.tail.items[f.end] = item
	f.end++
	f.items++
	f.count += count
	f.request += request
}

// front returns the oldest item. The fifo must not be empty.
func (f *fifo[T]) front() T { return f.head.items[f.first] }

// pop removes the oldest item, whose sizes are count and request.
func (f *fifo[T]) pop(count, request int) {
	var zero T
	f.head.items[f.first] = zero
	f.first++
	f.items--
	f.count -= count
	f.request -= request
	if f.items > 0 && f.first < blockLen {
		return
	}
	b := f.head
	f.head, f.first = b.next, 0
	if f.head == nil {
		f.tail = nil
	}
	if f.spares < maxSpares {
		b.next, f.spare = f.spare, b
		f.spares++
	}
}
