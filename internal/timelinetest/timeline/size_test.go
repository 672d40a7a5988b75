package timeline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

func TestBufferSize(t *testing.T) {
	sizes := func(n int) func(*observer.TimelineOptions) {
		return func(o *observer.TimelineOptions) { o.BufferSize, o.ChildBufferSize = n, n }
	}
	t.Run("PT-18 entries that no buffer keeps reach observers", func(t *testing.T) {
		tl := newManual(sizes(-1))
		_, got := watch(t, tl.Timeline, both)
		tl.add(observer.Mark, "mark")
		tl.add(observer.Measure, "measure")
		tl.run()
		want(t, "the observer", *got, "mark", "measure")
		want(t, "the buffer", names(tl.Entries()))
	})
	t.Run("PT-19 by type, of the process and of a request", func(t *testing.T) {
		process := newManual(sizes(2))
		for _, tl := range []*observer.Timeline{process.Timeline, process.NewChild()} {
			for i := range 4 {
				add(tl, observer.Resource, fmt.Sprint("resource ", i))
			}
			add(tl, observer.Mark, "mark")
			want(t, "resources", names(tl.EntriesByType(observer.Resource)), "resource 0", "resource 1")
			want(t, "marks", names(tl.EntriesByType(observer.Mark)), "mark")
		}
	})
	t.Run("clearing makes room", func(t *testing.T) {
		tl := newManual(sizes(1))
		tl.add(observer.Mark, "a")
		tl.add(observer.Mark, "b")
		want(t, "kept", names(tl.Entries()), "a")
		rec(tl.Timeline).Clear(record.Mark)
		tl.add(observer.Mark, "c")
		tl.add(observer.Mark, "d")
		want(t, "kept after clearing", names(tl.Entries()), "c")
	})
}

func TestDefaultSizes_PT19(t *testing.T) {
	process := newManual(func(o *observer.TimelineOptions) { o.MaxPending = 20_000 })
	for _, c := range []struct {
		tl   *observer.Timeline
		want int
	}{{process.Timeline, 10_000}, {process.NewChild(), 2_000}} {
		for range c.want + 1 {
			add(c.tl, observer.Mark, "m")
		}
		if n := len(c.tl.Entries()); n != c.want || (n != 10_000 && n != 2_000) {
			t.Errorf("%d kept, want %d", n, c.want)
		}
	}
}

// Ties keep their order however many there are.
func TestManyTies_PT15(t *testing.T) {
	tl := newManual()
	var want []string
	rec(tl.Timeline).Record(record.Mark, "later", 2, 0, nil)
	for i := range 200 {
		name := fmt.Sprint(i)
		want = append(want, name)
		rec(tl.Timeline).Record(record.Mark, name, 1, 0, nil)
	}
	got := names(tl.Entries())
	if strings.Join(got, " ") != strings.Join(append(want, "later"), " ") {
		t.Errorf("got %q", got)
	}
}

// Every mark that the buffer holds is found by its name, however many there are.
func TestLatestFindsAllThatIsKept(t *testing.T) {
	t.Run("after the buffer was full", func(t *testing.T) {
		tl := newManual(func(o *observer.TimelineOptions) { o.BufferSize = 5000 })
		name := func(i int) string { return fmt.Sprint("mark ", i) }
		for i := range 5100 {
			rec(tl.Timeline).Record(record.Mark, name(i), 0, 0, nil)
		}
		rec(tl.Timeline).Latest(name(0)) // makes the index
		rec(tl.Timeline).Clear(record.Mark)
		for i := range 5000 {
			rec(tl.Timeline).Record(record.Mark, name(i), 0, 0, nil)
		}
		for i := range 5000 {
			if _, ok := rec(tl.Timeline).Latest(name(i)); !ok {
				t.Fatalf("mark %d of 5000 is in the buffer and is not found", i)
			}
		}
	})
	t.Run("an index full of names that were not kept", func(t *testing.T) {
		tl := newManual(func(o *observer.TimelineOptions) { o.BufferSize = 2 })
		tl.add(observer.Mark, "a")
		tl.add(observer.Mark, "a")
		for i := range 5000 {
			rec(tl.Timeline).Record(record.Mark, fmt.Sprint(i), 0, 0, nil)
		}
		rec(tl.Timeline).Clear(record.Mark, "a")
		tl.add(observer.Mark, "b")
		if _, ok := rec(tl.Timeline).Latest("b"); !ok {
			t.Errorf("b is in the buffer (%q) and is not found", names(tl.Entries()))
		}
	})
}
