package timeline_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

func numberedAttrs(n int) (attrs []slog.Attr) {
	for i := range n {
		attrs = append(attrs, slog.Int(fmt.Sprint("k", i), i))
	}
	return attrs
}

// Attributes are copied at the call, as many as there are (UT-6).
func TestAttributesAreCopied_UT6(t *testing.T) {
	tl := newManual()
	for _, n := range []int{0, 1, record.InlineAttrs, record.InlineAttrs + 1, 3 * record.InlineAttrs} {
		want := fmt.Sprint(numberedAttrs(n))
		for name, add := range map[string]func([]slog.Attr){
			"Record": func(attrs []slog.Attr) { rec(tl.Timeline).Record(record.Mark, "Record", 0, 0, attrs) },
			"NewEntry and Queue": func(attrs []slog.Attr) {
				e := entry(t, tl.Timeline, "NewEntry and Queue", attrs...)
				clear(attrs)
				rec(tl.Timeline).Queue(context.Background(), record.Entry(e))
			},
		} {
			attrs := numberedAttrs(n)
			add(attrs)
			clear(attrs)
			e := tl.EntriesByName(name)[0]
			if got := fmt.Sprint(e.Detail()); got != want {
				t.Errorf("UT-6 %s of %d attributes: got %s, want %s", name, n, got, want)
			}
			if recorded(e).NumAttrs() != n {
				t.Errorf("%s: NumAttrs is %d, want %d", name, recorded(e).NumAttrs(), n)
			}
			clear(e.Detail())
			if got := fmt.Sprint(e.Detail()); got != want {
				t.Errorf("PT-10 %s: after the detail's copy was changed: got %s, want %s", name, got, want)
			}
			if (e.Detail() == nil) != (n == 0) {
				t.Errorf("X6 %s of %d attributes: Detail nil is %v", name, n, e.Detail() == nil)
			}
			seen := 0
			for range e.Detail() {
				if seen++; seen == n {
					break
				}
			}
			if seen != n {
				t.Errorf("%s: Attrs gave %d of %d", name, seen, n)
			}
		}
		rec(tl.Timeline).Clear(record.Mark)
	}
}

// Callers may change slices that they gave to the timeline or got from it.
func TestSlicesAreTheCallers(t *testing.T) {
	t.Run("PT-10 Entries", func(t *testing.T) {
		tl := newManual()
		for _, name := range []string{"a", "b"} {
			tl.add(observer.Mark, name)
		}
		clear(tl.Entries())
		clear(tl.EntriesByName("a"))
		want(t, "entries", names(tl.Entries()), "a", "b")
	})
	t.Run("PT-33 a callback's Entries", func(t *testing.T) {
		tl := newManual()
		var lists []observer.List
		for range 2 {
			if _, err := tl.Observe(func(l observer.List) { clear(l.Entries()); lists = append(lists, l) }, marksOnly); err != nil {
				t.Fatal(err)
			}
		}
		tl.add(observer.Mark, "a")
		tl.run()
		for _, l := range lists {
			want(t, "entries", names(l.Entries()), "a")
		}
	})
	t.Run("PT-31 TakeRecords", func(t *testing.T) {
		tl := newManual()
		obs, _ := watch(t, tl.Timeline, marksOnly)
		_, other := watch(t, tl.Timeline, marksOnly)
		tl.add(observer.Mark, "a")
		taken := obs.TakeRecords()
		clear(taken)
		tl.add(observer.Mark, "b")
		tl.run()
		want(t, "the other observer", *other, "a", "b")
		want(t, "the buffer", names(tl.Entries()), "a", "b")
		if taken[0].Name() != "" {
			t.Error("what was taken changed later")
		}
	})
	t.Run("PT-6 Options of the caller", func(t *testing.T) {
		tl := newManual()
		types := []observer.Type{observer.Mark}
		_, got := watch(t, tl.Timeline, observer.Options{Types: types})
		types[0] = observer.Measure
		tl.add(observer.Mark, "m")
		tl.run()
		want(t, "an observer of what was given", *got, "m")
	})
	t.Run("Stats", func(t *testing.T) {
		tl := newManual()
		tl.add(observer.Mark, "m")
		s := tl.Stats()
		delete(s, observer.Mark)
		if tl.Stats()[observer.Mark].Recorded != 1 {
			t.Error("the caller changed the timeline's counts")
		}
	})
	t.Run("PT-31 entries outlive the buffers they passed", func(t *testing.T) {
		tl := newManual()
		obs, _ := watch(t, tl.Timeline, marksOnly)
		child := tl.NewChild()
		var received []observer.Entry
		for i := range 200 { // chunks are used again after each pass
			rec(child).Record(record.Mark, fmt.Sprint(i), 0, 0, numberedAttrs(i%7))
			if i%10 == 9 {
				received = append(received, obs.TakeRecords()...)
			}
		}
		for i, e := range received {
			if got, want := fmt.Sprintf("%s %v", e.Name(), e.Detail()), fmt.Sprintf("%d %v", i, numberedAttrs(i%7)); got != want {
				t.Fatalf("entry %d is %s, want %s", i, got, want)
			}
		}
		if len(received) != 200 {
			t.Errorf("%d entries were kept, want 200", len(received))
		}
	})
}

// Entries taken from a timeline can be queued on another one of the family.
func TestQueue(t *testing.T) {
	tl := newManual()
	tl.now = 5
	child := tl.NewChild()
	tl.now = 9
	if rec(tl.Timeline).Queue(context.Background(), record.Entry(observer.Entry{})) {
		t.Error("the zero Entry was recorded")
	}
	e := entry(t, child, "m", slog.Int("n", 1))
	want(t, "UT-2 not queued yet", names(child.Entries()))
	for range 2 {
		if !rec(child).Queue(context.Background(), record.Entry(e)) {
			t.Error("Queue was refused")
		}
	}
	want(t, "queued twice", names(child.Entries()), "m", "m")
	if got := child.Entries()[0]; got.StartTime() != 4 || got.Timeline() != child || recorded(got).NumAttrs() != 1 {
		t.Errorf("got a start of %v with %d attributes, want 4ns with one", got.StartTime(), recorded(got).NumAttrs())
	}
	rec(tl.Timeline).Queue(context.Background(), record.Entry(e))
	if got := tl.Entries(); len(got) != 1 || got[0].StartTime() != 9 || got[0].Timeline() != tl.Timeline {
		t.Errorf("on the process's timeline: %v, want the same moment, 9ns", got)
	}
}
