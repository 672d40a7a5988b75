package timeline_test

import (
	"slices"
	"testing"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

// All names count, not only the first, and no names mean all entries.
func TestClearTakesAllNames_UT8(t *testing.T) {
	for _, c := range []struct {
		name  string
		names []string
		left  []string
	}{
		{"no names", nil, nil},
		{"no names in a slice", []string{}, nil},
		{"two names", []string{"a", "b"}, []string{"", "c"}},
		{"the last of three", []string{"x", "y", "c"}, []string{"", "a", "b"}},
		{"the empty name", []string{""}, []string{"a", "b", "c"}},
		{"the empty name and another", []string{"", "b"}, []string{"a", "c"}},
		{"an unknown name", []string{"x"}, []string{"", "a", "b", "c"}},
	} {
		tl := newManual()
		for _, name := range []string{"", "a", "b", "c"} {
			tl.add(observer.Mark, name)
			tl.add(observer.Measure, name)
		}
		n := rec(tl.Timeline).Clear(record.Mark, c.names...)
		if got := names(tl.EntriesByType(observer.Mark)); !slices.Equal(got, c.left) || n != 4-len(c.left) {
			t.Errorf("%s: %d were removed, %q are left, want %q", c.name, n, got, c.left)
		}
		for _, name := range []string{"", "a", "b", "c"} {
			if _, ok := rec(tl.Timeline).Latest(name); ok != slices.Contains(c.left, name) {
				t.Errorf("%s: the most recent mark %q: there is one: %v", c.name, name, ok)
			}
		}
		if n := len(tl.EntriesByType(observer.Measure)); n != 4 {
			t.Errorf("%s: %d measures are left", c.name, n)
		}
	}
}

// All types count, not only the first.
func TestEntriesByNameTakesAllTypes(t *testing.T) {
	tl := newManual()
	var list observer.List
	if _, err := tl.Observe(func(l observer.List) { list = l }, both); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "a", "b"} {
		tl.add(observer.Mark, name)
		tl.add(observer.Measure, name)
	}
	tl.run()
	for _, c := range []struct {
		name  string
		types []observer.Type
		want  int
	}{
		{"a", nil, 2}, {"a", []observer.Type{}, 2}, {"a", []observer.Type{observer.Mark}, 1},
		{"a", []observer.Type{observer.Mark, observer.Measure}, 2}, {"a", []observer.Type{observer.GC, observer.Measure}, 1},
		{"a", []observer.Type{""}, 0}, {"a", []observer.Type{"", observer.Mark}, 1}, {"", []observer.Type{observer.Mark, observer.Measure}, 2}, {"", nil, 2}, {"x", nil, 0},
	} {
		for who, got := range map[string][]observer.Entry{"timeline": tl.EntriesByName(c.name, c.types...), "list": list.EntriesByName(c.name, c.types...)} {
			if len(got) != c.want || slices.ContainsFunc(got, func(e observer.Entry) bool { return e.Name() != c.name }) {
				t.Errorf("%s: %q of types %q: got %v, want %d", who, c.name, c.types, got, c.want)
			}
		}
	}
}
