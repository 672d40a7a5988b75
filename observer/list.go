package observer

import (
	"cmp"
	"slices"

	"github.com/perfline/perfline/internal/record"
)

// InitiatorKey is the attribute key of an entry's initiatorType (Resource Timing): see [Filter].
const InitiatorKey = "initiatorType"

// A Filter selects entries by its nonempty fields (PerformanceEntryFilterOptions).
type Filter struct {
	Name          string
	Type          Type
	InitiatorType string
}

// Match reports whether the filter selects e.
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
	for a := range (*record.Entry)(e).Attrs() {
		if a.Key == InitiatorKey {
			return a.Value.String() == f.InitiatorType
		}
	}
	return false
}

// selectEntries copies the entries that match any filter, or all without a filter, sorted by start.
// Entries of equal start keep their order.
func selectEntries(from []record.Entry, filters ...Filter) []Entry {
	var selected []*Entry // pointers, because entries are large
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

// A List has the entries for one callback (PerformanceObserverEntryList).
type List struct {
	batch    record.Batch
	observer *Observer
}

// Entries returns the entries that match any filter, or all without a filter, sorted by start
// (getEntries). The slice is the caller's.
func (l List) Entries(f ...Filter) []Entry { return selectEntries(l.batch.Entries, f...) }

// EntriesByType returns the entries of a type (getEntriesByType).
func (l List) EntriesByType(t Type) []Entry { return selectByType(l.batch.Entries, t) }

// EntriesByName returns the entries with the name and one of the types, or any type without types
// (getEntriesByName). The name "" selects the entries with an empty name; the type "" selects none.
func (l List) EntriesByName(name string, types ...Type) []Entry {
	return selectByName(l.batch.Entries, name, types)
}

// Observer returns the observer of the callback, for a Disconnect in the callback.
func (l List) Observer() *Observer { return l.observer }

// Dropped returns the number of entries of the observed types without room in the timeline's buffer
// (droppedEntriesCount). An observer with Buffered missed such entries from before Observe, and
// gets later ones. ok is true in the first callback after Observe only.
func (l List) Dropped() (n uint64, ok bool) { return l.batch.Dropped, l.batch.HasDropped }

// Entries returns the entries in t's buffer that match any filter, or all without a filter, sorted
// by start (getEntries). A child's entries are in the child's buffer only. The slice is the
// caller's.
func (t *Timeline) Entries(f ...Filter) []Entry { return selectEntries(t.engine().Read(), f...) }

// EntriesByType returns the entries of a type in t's buffer (getEntriesByType).
func (t *Timeline) EntriesByType(typ Type) []Entry { return selectByType(t.engine().Read(), typ) }

// EntriesByName returns entries of t's buffer by the rules of [List.EntriesByName].
func (t *Timeline) EntriesByName(name string, types ...Type) []Entry {
	return selectByName(t.engine().Read(), name, types)
}

// selectByType and selectByName select an empty name or type, unlike an empty field of a Filter.
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
