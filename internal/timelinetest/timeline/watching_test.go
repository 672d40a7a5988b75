package timeline_test

import (
	"testing"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

// Whether there are observers decides whether entries are shown at all. It is true while one is registered, however they come
// and go.
func TestWatched(t *testing.T) {
	tl := newManual()
	child := tl.NewChild()
	check := func(after string, watched, childsMarks bool) {
		t.Helper()
		if rec(tl.Timeline).Watched() != watched || rec(child).Watched() != watched {
			t.Errorf("after %s Watched is %v and, of the request, %v, want %v", after, rec(tl.Timeline).Watched(), rec(child).Watched(), watched)
		}
		if got := rec(child).Observed(record.Mark); got != childsMarks {
			t.Errorf("after %s the request's marks are observed: %v, want %v", after, got, childsMarks)
		}
	}
	check("nothing", false, false)
	a, _ := watch(t, tl.Timeline, marksOnly)
	b, _ := watch(t, child, marksOnly)
	check("two Observes", true, true)
	if err := a.Observe(observer.Options{Types: []observer.Type{observer.Measure}}); err != nil {
		t.Fatal(err)
	}
	check("observing other types", true, true)
	a.Disconnect()
	a.Disconnect()
	check("two Disconnects of one", true, true)
	child.Close()
	child.Close()
	b.Disconnect()
	check("the request's end", false, false)
	if err := a.Observe(marksOnly); err != nil {
		t.Fatal(err)
	}
	check("registering anew", true, true)
	a.Disconnect()
	check("the last Disconnect", false, false)
}
