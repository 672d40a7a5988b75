package observer

import (
	"cmp"
	"slices"

	"github.com/perfline/perfline/internal/record"
)

// InitiatorKey is the attribute key that holds an entry's initiatorType
// (Resource Timing), which [Filter] can select by.
const InitiatorKey = "initiatorType"

// A Filter selects entries (PerformanceEntryFilterOptions). An entry must equal all fields that
// are set. The zero Filter matches every entry.
type Filter struct {
	Name          string
	Type          Type
	InitiatorType string // matches entries that have one only
}

// Match reports whether e is selected.
func (f Filter) Match(e *Entry) bool {
	if f.Name != "" && f.Name != e.Name() {
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

// selectEntries copies the entries that match any filter, or all without a filter, sorted by
// start. Entries that start together keep their order.
func selectEntries(from []record.Entry, filters ...Filter) []Entry {
	var selected []*Entry // entries are large: each one is moved once
	for i := range from {
		e := (*Entry)(&from[i])
		if len(filters) == 0 ||
			slices.ContainsFunc(filters, func(f Filter) bool { return f.Match(e) }) {
			selected = append(selected, e)
		}
	}
	slices.SortStableFunc(selected,
		func(a, b *Entry) int { return cmp.Compare(a.StartTime(), b.StartTime()) })
	out := slices.Grow([]Entry(nil), len(selected))
	for _, e := range selected {
		out = append(out, *e)
	}
	return out
}

// A List is what a callback gets (PerformanceObserverEntryList).
type List struct {
	batch    record.Batch
	observer *Observer
}

// Entries returns the entries delivered that match any filter given, sorted by their start
// (getEntries). The slice is the caller's.
func (l List) Entries(f ...Filter) []Entry { return selectEntries(l.batch.Entries, f...) }

// EntriesByType returns the entries of a type (getEntriesByType).
func (l List) EntriesByType(t Type) []Entry { return selectByType(l.batch.Entries, t) }

// EntriesByName returns the entries with a name and, if types are given, one of these types
// (getEntriesByName). The name "" selects the entries whose name is empty; the type
// "" selects none.
func (l List) EntriesByName(name string, types ...Type) []Entry {
	return selectByName(l.batch.Entries, name, types)
}

// Observer returns the observer that is called, to be disconnected from within.
func (l List) Observer() *Observer { return l.observer }

// Dropped returns how many entries of the observed types the timeline's buffer had no room for
// (droppedEntriesCount). An observer with Buffered did not get such entries from before Observe,
// and gets the later ones. ok is true for the first callback after Observe only.
func (l List) Dropped() (n uint64, ok bool) { return l.batch.Dropped, l.batch.HasDropped }

// Entries returns the entries in t's buffer that match any filter given, sorted by their start
// (getEntries). A child's entries are in the child's buffer only. The slice is the caller's.
func (t *Timeline) Entries(f ...Filter) []Entry { return selectEntries(t.recorded().Read(), f...) }

// EntriesByType returns the entries of a type in t's buffer (getEntriesByType).
func (t *Timeline) EntriesByType(typ Type) []Entry { return selectByType(t.recorded().Read(), typ) }

// EntriesByName returns entries of t's buffer as [List.EntriesByName] does.
func (t *Timeline) EntriesByName(name string, types ...Type) []Entry {
	return selectByName(t.recorded().Read(), name, types)
}

// selectByType and selectByName select an empty name or type, which a Filter leaves open.
func selectByType(from []record.Entry, t Type) []Entry {
	if t == "" {
		return nil
	}
	return selectEntries(from, Filter{Type: t})
}

func selectByName(from []record.Entry, name string, types []Type) []Entry {
	out := selectEntries(from, Filter{Name: name})
	return slices.DeleteFunc(out, func(e Entry) bool {
		return e.Name() != name || len(types) > 0 && !slices.Contains(types, e.Type())
	})
}
