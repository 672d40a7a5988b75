//go:build race

package record

// A poisoned span stands in each place of a journal in the pool. Each of its methods panics.
type poisoned struct{ Span }

func poison(j *journal) {
	places := j.records[:cap(j.records)]
	for i := range places {
		places[i] = journalRecord{span: poisoned{}}
	}
}

// checkUnused panics if a journal was written while it was in the pool, or came there with records.
func checkUnused(j *journal) {
	used := len(j.records) > 0 || len(j.attrs) > 0 || j.size > 0
	for _, rec := range j.records[:cap(j.records)] {
		used = used || rec.span != nil && rec != journalRecord{span: poisoned{}}
	}
	if used {
		panic("observer: a journal was written after its hand-over")
	}
}
