package observer

// TypeStats counts the entries of one type since the process timeline began.
type TypeStats struct {
	// Recorded entries reached the timeline's buffer and each observer, as far as there was room.
	Recorded uint64
	// Overflow entries were lost before that, because too many waited.
	Overflow uint64
	// BufferFull entries are among Recorded but not in their timeline's buffer. Those of a request
	// are counted when its buffer is read, or when a part of the request is handed over before its
	// end.
	BufferFull uint64
	// Delivered counts entries in callbacks, once for each observer.
	Delivered uint64
	// ObserverFull counts entries without room in an observer's buffer, once for each observer. A
	// request's entry that all observers lost, because too many waited, counts once.
	ObserverFull uint64
}

// Stats are the counts of a process timeline and all its requests, by type.
type Stats map[Type]TypeStats

// Stats returns the counts, without types never seen. The map is the caller's.
func (t *Timeline) Stats() Stats {
	counts := t.engine().Stats()
	s := make(Stats, len(counts))
	for typ, n := range counts {
		s[Type(typ)] = TypeStats(n)
	}
	return s
}

// Total returns the sum over all types.
func (s Stats) Total() TypeStats {
	var sum TypeStats
	for _, t := range s {
		sum.Recorded += t.Recorded
		sum.Overflow += t.Overflow
		sum.BufferFull += t.BufferFull
		sum.Delivered += t.Delivered
		sum.ObserverFull += t.ObserverFull
	}
	return sum
}
