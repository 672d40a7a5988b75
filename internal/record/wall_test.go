package record

import (
	"testing"
	"time"
)

// When the wall clock was stepped, entries of the process timeline follow it with
// the next pass; a request that runs keeps its axis.
func TestWallClockStepped(t *testing.T) {
	tl := NewTimeline(TimelineOptions{Scheduler: func(func()) {}})
	request := tl.NewChild()
	began := request.Origin()
	// As if the clock had been two hours slow until now: a test cannot step it.
	slow := tl.root.epoch.Add(-2 * time.Hour)
	tl.root.anchor.Store(&slow)
	e := Entry{tl: tl, start: tl.root.now()}
	if late := time.Since(e.Time()); late < time.Hour {
		t.Fatalf("before the pass an entry of now is %v old, want two hours", late)
	}
	tl.Flush()
	if off := time.Since(e.Time()).Abs(); off > time.Minute {
		t.Errorf("after the pass an entry of now is %v off", off)
	}
	if !request.Origin().Equal(began) || !tl.Origin().Equal(tl.root.epoch) {
		t.Error("an origin changed")
	}
	again := tl.root.anchor.Load()
	tl.Flush()
	if tl.root.anchor.Load() != again {
		t.Error("without a step the clock was set again")
	}
}
