package bridge

import "slices"

// latest keeps the last values that were added, up to a limit, and counts the others.
type latest[T any] struct {
	values  []T
	oldest  int // the place of the first value
	dropped int
}

// add adds v. A negative limit means no limit. The limit must always be the same.
func (l *latest[T]) add(v T, limit int) {
	switch {
	case limit == 0:
		l.dropped++
	case limit > 0 && len(l.values) == limit:
		l.values[l.oldest] = v
		l.oldest = (l.oldest + 1) % limit
		l.dropped++
	default:
		l.values = append(l.values, v)
	}
}

// inOrder returns a copy of the values in the order in which they were added, and nil without any.
func (l *latest[T]) inOrder() []T { return slices.Concat(l.values[l.oldest:], l.values[:l.oldest]) }

// settle puts the values in order. Nothing is added afterwards.
func (l *latest[T]) settle() {
	if l.oldest > 0 {
		l.values, l.oldest = l.inOrder(), 0
	}
}
