package observer

import "sync"

// Bounds of a journal. It is handed over when it reaches one.
const (
	maxFinished    = 512
	maxJournalSize = 512 << 10
)

// A journal is the storage of a unit. It is pooled: other units get it afterwards.
type journal struct {
	finished []Interval
	size     int // of all of them
	counted  int // of size, in the shard's bytes
}

var journals sync.Pool

func newJournal() *journal {
	j, ok := journals.Get().(*journal)
	if !ok {
		j = new(journal)
	}
	checkUnused(j)
	return j
}

func (j *journal) append(i Interval, size int) {
	j.finished = append(j.finished, i)
	j.size += size
}

// handOver gives the intervals to the tracer, and the journal to the pool.
func (j *journal) handOver(t Tracer) {
	t.HandOver(j.finished)
	clear(j.finished)
	j.finished, j.size, j.counted = j.finished[:0], 0, 0
	poison(j)
	journals.Put(j)
}
