package requests

// A slab holds values that refer to each other by their place. Places are no pointers: the garbage collector has
// nothing to follow. Places begin with 1, so that 0 means none.
type slab[T any] struct {
	items []T
	free  []int32
}

const none int32 = 0

func (s *slab[T]) add(v T) int32 {
	if n := len(s.free); n > 0 {
		i := s.free[n-1]
		s.free = s.free[:n-1]
		s.items[i] = v
		return i
	}
	if len(s.items) == 0 {
		s.items = make([]T, 1, 8)
	}
	s.items = append(s.items, v)
	return int32(len(s.items) - 1)
}

// at returns the value at a place. The pointer is good until the next add.
func (s *slab[T]) at(i int32) *T { return &s.items[i] }

func (s *slab[T]) remove(i int32) {
	var zero T
	s.items[i] = zero
	s.free = append(s.free, i)
}

// An order is a list of places in a slab, by age. A place is in it once at most.
type order struct {
	links          []links // by place
	oldest, newest int32
	len            int
}

type links struct{ older, newer int32 }

func (o *order) push(i int32) {
	for int(i) >= len(o.links) {
		o.links = append(o.links, links{})
	}
	o.links[i] = links{older: o.newest}
	if o.newest == none {
		o.oldest = i
	} else {
		o.links[o.newest].newer = i
	}
	o.newest = i
	o.len++
}

func (o *order) remove(i int32) {
	l := o.links[i]
	if l.older == none {
		o.oldest = l.newer
	} else {
		o.links[l.older].newer = l.newer
	}
	if l.newer == none {
		o.newest = l.older
	} else {
		o.links[l.newer].older = l.older
	}
	o.len--
}

// oldestBut returns the oldest other than i.
func (o *order) oldestBut(i int32) int32 {
	if o.oldest != i || i == none {
		return o.oldest
	}
	return o.links[i].newer
}
