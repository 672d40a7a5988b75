package observer

import (
	"cmp"
	"slices"

	"github.com/perfline/perfline/internal/record"
)

// InitiatorKey is the attribute key of an entry's initiatorType (Resource Timing): see [Filter].
const InitiatorKey = "initiatorType"

// A Filter selects the entries that match all nonempty fields (PerformanceEntryFilterOptions). The
// zero Filter selects every entry.
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

// A List contains the entries for one call of an observer's callback
// (PerformanceObserverEntryList).
type List struct {
	batch    record.Batch
	observer *Observer
}

// Entries returns the entries that match at least one filter, sorted by start (getEntries). Without
// a filter, Entries returns all entries. The caller may change the slice.
func (l List) Entries(f ...Filter) []Entry { return selectEntries(l.batch.Entries, f...) }

// EntriesByType returns the entries of type t, sorted by start (getEntriesByType).
func (l List) EntriesByType(t Type) []Entry { return selectByType(l.batch.Entries, t) }

// EntriesByName returns the entries with the given name and one of the given types, sorted by start
// (getEntriesByName). Without types, EntriesByName returns entries of every type. An empty name
// selects entries with an empty name. An empty type selects nothing.
func (l List) EntriesByName(name string, types ...Type) []Entry {
	return selectByName(l.batch.Entries, name, types)
}

// Observer returns the observer of the callback that received the list. The callback can call
// Disconnect on this observer.
func (l List) Observer() *Observer { return l.observer }

// Dropped returns the number of entries that did not fit into the timeline's buffer
// (droppedEntriesCount). Only entries of the observed types count. ok is true only in the first
// call of the callback after Observe.
//
// An observer with Buffered did not receive the dropped entries that were recorded before Observe.
// Every observer still receives later entries, even if the timeline's buffer is full.
func (l List) Dropped() (n uint64, ok bool) { return l.batch.Dropped, l.batch.HasDropped }

// Entries returns the entries in t's buffer that match at least one filter, sorted by start
// (getEntries). Without a filter, Entries returns all entries of the buffer. The buffer does not
// contain entries of child timelines. The caller may change the slice.
func (t *Timeline) Entries(f ...Filter) []Entry { return selectEntries(t.engine().Read(), f...) }

// EntriesByType returns the entries of type typ in t's buffer, sorted by start (getEntriesByType).
func (t *Timeline) EntriesByType(typ Type) []Entry { return selectByType(t.engine().Read(), typ) }

// EntriesByName returns the entries in t's buffer with the given name and one of the given types
// (getEntriesByName). The entries are sorted by start. The rules for empty arguments are the same
// as for [List.EntriesByName].
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
