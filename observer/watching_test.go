package observer

import "testing"

// The count decides whether entries are shown at all: it must be that of the
// observers registered, however they come and go.
func TestWatchingIsCounted(t *testing.T) {
	tl := NewTimeline(TimelineOptions{Scheduler: func(func()) {}})
	child := tl.NewChild()
	count := func(after string, want int32) {
		t.Helper()
		if got := tl.root.watching.Load(); got != want {
			t.Errorf("after %s %d are counted, want %d", after, got, want)
		}
	}
	observe := func(on *Timeline) *Observer {
		o, err := on.Observe(func(List) {}, Options{Type: Mark})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	a, b := observe(tl), observe(child)
	count("two Observes", 2)
	if err := a.Observe(Options{Type: Measure}); err != nil {
		t.Fatal(err)
	}
	count("observing again", 2)
	a.Disconnect()
	a.Disconnect()
	count("two Disconnects of one", 1)
	child.Close()
	child.Close()
	b.Disconnect()
	count("the request's end", 0)
	if err := a.Observe(Options{Type: Mark}); err != nil {
		t.Fatal(err)
	}
	count("registering anew", 1)
}
