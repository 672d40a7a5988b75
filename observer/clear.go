package observer

import "slices"

// Clear removes entries of type typ from t's buffer and returns how many: without
// names all of them, else those that have one of the names. The name "" selects the
// entries whose name is empty. Entries that observers have buffered stay with them.
func (t *Timeline) Clear(typ Type, names ...string) int {
	k, ok := kindOf(typ)
	if !ok {
		return 0
	}
	r := t.root
	r.mu.Lock()
	defer r.unlock()
	r.collect()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.show()
	if t.log == nil {
		return 0
	}
	return t.log.remove(k, func(n string) bool {
		return len(names) == 0 || slices.Contains(names, n)
	})
}
