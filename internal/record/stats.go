package record

// TypeStats contains the counts of one entry type: see [observer.TypeStats].
type TypeStats struct {
	Recorded, Overflow, BufferFull, Delivered, ObserverFull uint64
}

// Stats collects the recorded entries. Stats then returns the counts of the process timeline and
// all units, by entry type. The map omits types without entries. The caller may change the map.
func (t *Timeline) Stats() map[Type]TypeStats {
	r := t.root
	r.lock()
	defer r.unlock()
	totals := r.totals
	r.units.addStats(&totals)
	s := map[Type]TypeStats{}
	for k := kind(1); k < numKinds; k++ {
		totals[k].Overflow += r.overflow[k].Load()
		totals[k].ObserverFull += r.observerLosses[k].Load()
		if totals[k] != (TypeStats{}) {
			s[kindTypes[k]] = totals[k]
		}
	}
	return s
}
