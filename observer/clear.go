package observer

import "time"

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

// Latest is the start time of the mark of that name that was recorded last
// (User Timing 3, "convert a mark to a timestamp").
func (t *Timeline) Latest(name string) (time.Duration, bool) {
	if t.inlets != nil {
		t.Flush()
	}
	at, ok := t.latestMark(name)
	if !ok {
		return 0, false
	}
	return at - t.origin, true
}

func (t *Timeline) latestMark(name string) (time.Duration, bool) {
	t.logMu.Lock()
	defer t.logMu.Unlock()
	if t.inlets == nil {
		if at, ok := t.own.latest(name); ok {
			return at, true
		}
	}
	if t.log == nil {
		return 0, false
	}
	return t.log.latest(name)
}
