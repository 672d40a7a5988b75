package record

// TypeStats are the counts of one type, which package observer documents as [observer.TypeStats].
type TypeStats struct {
	Recorded, Overflow, BufferFull, Delivered, ObserverFull uint64
}

// Stats collects what was recorded and returns the counts of the process timeline and all its
// units. Types never seen are absent. The map is the caller's.
func (t *Timeline) Stats() map[Type]TypeStats {
	r := t.root
	r.lock()
	defer r.unlock()
	totals := r.totals
	r.units.addStats(&totals)
	s := map[Type]TypeStats{}
	for k := kind(1); k < numKinds; k++ {
		totals[k].Overflow += r.overflow[k].Load()
		totals[k].ObserverFull += r.unshown[k].Load()
		if totals[k] != (TypeStats{}) {
			s[kindTypes[k]] = totals[k]
		}
	}
	return s
}
