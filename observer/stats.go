package observer

// TypeStats counts the entries of one type since the start of the process timeline.
type TypeStats struct {
	// Recorded counts entries that the timeline passed to the buffer and to the observers. An entry
	// counts even if a buffer was full.
	Recorded uint64
	// Overflow counts entries that were lost because too many entries waited for the next pass.
	// Recorded does not count these entries.
	Overflow uint64
	// BufferFull counts entries that did not fit into the timeline's buffer. Recorded also counts
	// these entries. For the timeline of a request, the counter changes only at two moments: the
	// program reads the buffer, or the timeline hands over a part of a running request.
	BufferFull uint64
	// Delivered counts entries in callbacks, once for each observer.
	Delivered uint64
	// ObserverFull counts entries that did not fit into an observer's buffer, once for each
	// observer. If too many entries wait, all observers lose an entry of a request. Such an entry
	// counts once.
	ObserverFull uint64
}

// Stats counts the entries of a process timeline and of all requests of this timeline. The key is
// the type of the counted entries.
type Stats map[Type]TypeStats

// Stats returns the counts of entries for each type. The map omits types without any entry. The
// caller may change the map.
func (t *Timeline) Stats() Stats {
	counts := t.engine().Stats()
	s := make(Stats, len(counts))
	for typ, n := range counts {
		s[Type(typ)] = TypeStats(n)
	}
	return s
}

// Total returns the sums of the counts over all types.
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
