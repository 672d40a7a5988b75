package timeline_test

import (
	"testing"

	"github.com/perfline/perfline/observer"
)

// An entry that finds an observer's buffer full is lost to that observer only, and counted.
func TestLost(t *testing.T) {
	m := newManual()
	small, got := watch(t, m.Timeline, observer.Options{Type: observer.Mark, MaxBuffer: 3})
	large, _ := watch(t, m.Timeline, observer.Options{Type: observer.Mark})
	for range 5 {
		m.add(observer.Mark, "m")
	}
	if n := small.Lost(); n != 2 {
		t.Errorf("%d entries lost before they are collected, want 2", n)
	}
	m.run()
	if len(*got) != 3 || small.Lost() != 2 || large.Lost() != 0 {
		t.Errorf("%d entries came, %d and %d were lost, want 3, 2, 0", len(*got), small.Lost(), large.Lost())
	}
	for range 4 {
		m.add(observer.Mark, "m")
	}
	if n := small.Lost(); n != 3 { // it counts since the observer was made
		t.Errorf("%d entries lost, want 3", n)
	}
	small.Disconnect()
	for range 10 {
		m.add(observer.Mark, "m")
	}
	if n := small.Lost(); n != 3 {
		t.Errorf("%d entries lost after Disconnect, want 3", n)
	}
	large.Disconnect()
}
