//go:build race

package record

// A poisoned span marks each place of a journal in the pool. All methods of the span panic.
type poisoned struct{ Span }

func poison(j *journal) {
	places := j.records[:cap(j.records)]
	for i := range places {
		places[i] = journalRecord{span: poisoned{}}
	}
}

// checkUnused panics if a journal changed in the pool, or entered the pool with records.
func checkUnused(j *journal) {
	used := len(j.records) > 0 || len(j.attrs) > 0 || j.size > 0
	for _, rec := range j.records[:cap(j.records)] {
		used = used || rec.span != nil && rec != journalRecord{span: poisoned{}}
	}
	if used {
		panic("observer: a journal was written after its hand-over")
	}
}
