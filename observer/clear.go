package observer

// Clear removes the entries of type typ from t's buffer: all of them, or those
// of the given name. Entries that observers have buffered stay with them. It
// returns how many it removed.
func (t *Timeline) Clear(typ Type, name ...string) int {
	k, ok := kindOf(typ)
	if !ok {
		return 0
	}
	r := t.root
	r.mu.Lock()
	defer r.unlock()
	r.collect()
	t.logMu.Lock()
	defer t.logMu.Unlock()
	if t.log == nil {
		return 0
	}
	return t.log.remove(k, func(n string) bool {
		return len(name) == 0 || n == name[0]
	})
}
