//go:build race

package observer

// A poisoned interval stands in each place of a journal in the pool.
type poisoned struct{}

func (poisoned) Size() int { panic("observer: a journal was read after its hand-over") }

func poison(j *journal) {
	places := j.finished[:cap(j.finished)]
	for i := range places {
		places[i] = poisoned{}
	}
}

// checkUnused panics if a journal was written while it was in the pool, or came there with intervals.
func checkUnused(j *journal) {
	used := len(j.finished) > 0 || j.size > 0
	for _, i := range j.finished[:cap(j.finished)] {
		used = used || (i != nil && i != poisoned{})
	}
	if used {
		panic("observer: a journal was written after its hand-over")
	}
}
