package record

import (
	"runtime"
	"strings"
	"testing"
)

// A unit that is collected without an end gives back the bytes of its buffer.
func TestViewOfCollectedUnit(t *testing.T) {
	tl := NewTimeline(TimelineOptions{})
	func() {
		child := tl.NewChild()
		for range 100 {
			child.Record(Mark, strings.Repeat("x", 1<<10), 0, 0, nil)
		}
		if n := len(child.Read()); n != 100 {
			t.Errorf("the buffer has %d entries, want 100", n)
		}
		if n := tl.UnitStats().ViewBytes; n < 100<<10 {
			t.Errorf("the buffer counts %d bytes, want 100 KiB at least", n)
		}
		runtime.KeepAlive(child)
	}()
	if err := tl.FlushUnits(t.Context()); err != nil {
		t.Error(err)
	}
	tl.AbandonUnits(nil)
	for tl.UnitStats().ViewBytes > 0 {
		runtime.GC()
	}
}
