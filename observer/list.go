package observer

import (
	"cmp"
	"slices"
)

// InitiatorKey is the attribute key that holds an entry's initiatorType
// (Resource Timing), which [Filter] can select by.
const InitiatorKey = "initiatorType"

// A Filter selects entries (PerformanceEntryFilterOptions). All fields that are
// set must match, by identity; the zero Filter matches every entry.
type Filter struct {
	Name          string
	Type          Type
	InitiatorType string // matches entries that have one only
}

// Match reports whether e is selected.
func (f Filter) Match(e *Entry) bool {
	if f.Name != "" && f.Name != e.name {
		return false
	}
	if f.Type != "" && f.Type != e.Type() {
		return false
	}
	if f.InitiatorType == "" {
		return true
	}
	for a := range e.Attrs() {
		if a.Key == InitiatorKey {
			return a.Value.String() == f.InitiatorType
		}
	}
	return false
}

// selectEntries copies the entries that match any of filters, or all without a
// filter, sorted by start time; entries that start together keep their order.
func selectEntries(from []Entry, filters ...Filter) []Entry {
	var selected []*Entry // entries are large: each one is moved once
	for i := range from {
		if len(filters) == 0 || slices.ContainsFunc(filters, func(f Filter) bool { return f.Match(&from[i]) }) {
			selected = append(selected, &from[i])
		}
	}
	slices.SortStableFunc(selected, func(a, b *Entry) int { return cmp.Compare(a.start, b.start) })
	out := slices.Grow([]Entry(nil), len(selected))
	for _, e := range selected {
		out = append(out, *e)
	}
	return out
}

// A List is what a callback gets (PerformanceObserverEntryList).
type List struct {
	entries    []Entry
	observer   *Observer
	options    Options
	dropped    uint64
	hasDropped bool
}

// Entries are the entries delivered that match any filter given, in
// chronological order of their start (getEntries). The slice is the caller's.
func (l List) Entries(f ...Filter) []Entry { return selectEntries(l.entries, f...) }

// EntriesByType is Entries with a type (getEntriesByType).
func (l List) EntriesByType(t Type) []Entry { return selectByType(l.entries, t) }

// EntriesByName is Entries with a name and, if types are given, one of these types
// (getEntriesByName). The name "" selects the entries whose name is empty; the type
// "" selects none.
func (l List) EntriesByName(name string, types ...Type) []Entry {
	return selectByName(l.entries, name, types)
}

// Observer is the observer that is called, to be disconnected from within.
func (l List) Observer() *Observer { return l.observer }

// Options are those of the observer's last Observe.
func (l List) Options() Options {
	o := l.options
	o.Types = slices.Clone(o.Types)
	return o
}

// Dropped is how many entries of the observed types the timeline's buffer had no
// room for before they could be asked for with Buffered (droppedEntriesCount).
// ok is true for the first callback after Observe only.
func (l List) Dropped() (n uint64, ok bool) { return l.dropped, l.hasDropped }

// Entries are the entries in t's buffer that match any filter given, in
// chronological order of their start (getEntries). A child's entries are in the
// child's buffer only. The slice is the caller's.
func (t *Timeline) Entries(f ...Filter) []Entry { return selectEntries(t.read(), f...) }

// EntriesByType is Entries with a type (getEntriesByType).
func (t *Timeline) EntriesByType(typ Type) []Entry { return selectByType(t.read(), typ) }

// EntriesByName is Entries with a name and, if types are given, one of these types
// (getEntriesByName). The name "" selects the entries whose name is empty; the type
// "" selects none.
func (t *Timeline) EntriesByName(name string, types ...Type) []Entry {
	return selectByName(t.read(), name, types)
}

// selectByType and selectByName differ from Entries where a name or a type is
// the empty string: they select it, while a Filter leaves it open.
func selectByType(from []Entry, t Type) []Entry {
	if t == "" {
		return nil
	}
	return selectEntries(from, Filter{Type: t})
}

func selectByName(from []Entry, name string, types []Type) []Entry {
	out := selectEntries(from, Filter{Name: name})
	return slices.DeleteFunc(out, func(e Entry) bool {
		return e.name != name || len(types) > 0 && !slices.Contains(types, e.Type())
	})
}

// read returns what t's buffer has, oldest first, including all that the calling goroutine recorded. The entries are shared.
func (t *Timeline) read() []Entry {
	b := t.lockBuffer()
	defer t.mu.Unlock()
	return b.entries
}
