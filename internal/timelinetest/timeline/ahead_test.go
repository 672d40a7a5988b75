package timeline_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

// An entry that its caller dates ahead of the clock, by a rounded or foreign
// time, hides neither itself nor others from the goroutine that recorded them.
func TestEntryAheadOfTheClock(t *testing.T) {
	process := undelivered()
	for name, on := range map[string]*observer.Timeline{"process": process, "request": process.NewChild()} {
		obs, _ := watch(t, on, marksOnly)
		rec(on).Record(record.Mark, "ahead", on.Now()+500*time.Millisecond, 0, nil)
		add(on, observer.Mark, "now")
		if got := names(obs.TakeRecords()); len(got) != 2 {
			t.Errorf("%s: TakeRecords gave %v, want both entries", name, got)
		}
		if got := on.Entries(); len(got) != 2 {
			t.Errorf("%s: Entries are %v, want both entries", name, names(got))
		}
		if n := rec(on).Clear(record.Mark, "now"); n != 1 {
			t.Errorf("%s: cleared %d, want 1", name, n)
		}
		obs.Disconnect()
	}
}

// A mark that was cleared has no name any more, whatever other goroutines record
// on the same timeline meanwhile (UT-8, UT-21).
func TestClearedNameIsGone(t *testing.T) {
	process := observer.NewTimeline(observer.TimelineOptions{})
	for name, on := range map[string]*observer.Timeline{"process": process, "request": process.NewChild()} {
		var found atomic.Int64
		var all sync.WaitGroup
		for g := range 8 {
			mine := fmt.Sprint("goroutine ", g)
			spawn(&all, func() {
				for range 1000 {
					add(on, observer.Mark, mine)
					rec(on).Clear(record.Mark, mine)
					if _, ok := rec(on).Latest(mine); ok {
						found.Add(1)
					}
				}
			})
		}
		all.Wait()
		if n := found.Load(); n > 0 {
			t.Errorf("%s: Latest found a mark after its own goroutine cleared it, %d times of 8000", name, n)
		}
	}
}

// Deliver is over when what was recorded before is delivered: callbacks that
// record themselves, as an instrumented exporter does, do not keep it for ever.
func TestDeliverEnds(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{Interval: time.Hour})
	calls := 0
	if _, err := tl.Observe(func(observer.List) {
		if calls++; calls < 1000 {
			add(tl, observer.Mark, "exported")
			rec(tl).Flush() // stands for the timer, in a callback slower than the interval
		}
	}, marksOnly); err != nil {
		t.Fatal(err)
	}
	add(tl, observer.Mark, "m")
	tl.Deliver()
	if calls > 2 {
		t.Errorf("Deliver returned after %d callbacks, want 1: the others' entries were recorded after it was called", calls)
	}
}
