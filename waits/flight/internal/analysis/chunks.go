package analysis

// chunkLength is small: allocating a chunk takes no noticeable time.
const chunkLength = 4096

// A chunks list grows without copying. A trace of 10 MB needs lists of 20 MB.
type chunks[T any] struct{ all [][]T }

func (c *chunks[T]) length() int {
	if len(c.all) == 0 {
		return 0
	}
	return (len(c.all)-1)*chunkLength + len(c.all[len(c.all)-1])
}

func (c *chunks[T]) at(i int) *T { return &c.all[i/chunkLength][i%chunkLength] }

func (c *chunks[T]) add(element T) {
	if c.length()%chunkLength == 0 {
		c.all = append(c.all, make([]T, 0, chunkLength))
	}
	last := &c.all[len(c.all)-1]
	*last = append(*last, element)
}
