package analysis

// chunkLength is chosen so that no chunk takes a noticeable time to allocate.
const chunkLength = 4096

// chunks are a list that grows without copying: a trace of 10 MB has lists of 20 MB.
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
