package observer

import (
	"runtime"
	"testing"
	"time"
	"weak"
)

// Whoever does not observe collections pays nothing for them.
func TestGCIsWatchedOnlyWhileWanted(t *testing.T) {
	tl := NewTimeline(TimelineOptions{Scheduler: func(func()) {}})
	observe := func(on *Timeline, types ...Type) *Observer {
		t.Helper()
		o, err := on.Observe(func(List) {}, Options{Types: types})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	check := func(when string, watched bool) {
		t.Helper()
		if got := tl.root.gc != nil; got != watched {
			t.Errorf("%s: watched: %v, want %v", when, got, watched)
		}
	}
	check("at first", false)
	observe(tl, Mark, Measure)
	check("an observer of other types", false)
	observe(tl.NewChild(), GC)
	check("a request's observer", false)
	a := observe(tl, GC, Mark)
	check("an observer", true)
	watch := tl.root.gc
	b := observe(tl, GC)
	if tl.root.gc != watch {
		t.Error("a second observer made a second watch")
	}
	a.Disconnect()
	check("one of two left", true)
	if err := b.Observe(Options{Types: []Type{Mark}}); err != nil {
		t.Fatal(err)
	}
	check("the other wants something else", false)
	if !watch.ended.Load() {
		t.Error("the watch does not know that it ended")
	}
	if err := b.Observe(Options{Types: []Type{GC}}); err != nil {
		t.Fatal(err)
	}
	check("it wants them again", true)
	b.Disconnect()
	check("at last", false)
}

// When nobody observes collections any more, the next ones take the last
// sentinel, the watch and the timeline with them.
func TestGCIsLetGo(t *testing.T) {
	var watches []weak.Pointer[gcWatch]
	func() {
		tl := NewTimeline(TimelineOptions{})
		for range 10 { // more often than there are collections
			o, err := tl.Observe(func(List) {}, Options{Type: GC})
			if err != nil {
				t.Fatal(err)
			}
			watches = append(watches, weak.Make(tl.root.gc))
			runtime.GC()
			o.Disconnect()
		}
	}()
	deadline := time.Now().Add(10 * time.Second)
	for i, w := range watches {
		for w.Value() != nil {
			if time.Now().After(deadline) {
				t.Fatalf("watch %d is still there", i)
			}
			runtime.GC()
		}
	}
}

// The runtime remembers so many cycles; of older ones it is known only that they were.
func TestGCThatTheRuntimeForgot(t *testing.T) {
	tl := NewTimeline(TimelineOptions{Scheduler: func(func()) {}})
	o, err := tl.Observe(func(List) {}, Options{Type: GC})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Disconnect()
	for range chunkLen + 6 {
		runtime.GC()
	}
	tl.root.mu.Lock()
	const missed = 300
	tl.root.gc.cycle -= missed
	tl.root.mu.Unlock()
	got := o.TakeRecords()
	lost := tl.Stats()[GC].Overflow
	if len(got) <= chunkLen || lost == 0 {
		t.Fatalf("%d told and %d lost, want more than a chunk holds, and some", len(got), lost)
	}
	if total := uint64(len(got)) + lost; total < missed+30 {
		t.Errorf("%d told and %d lost, want %d together", len(got), lost, missed+30)
	}
	for i, e := range got {
		heap := e.NumAttrs() > 1
		if last := i == len(got)-1; heap != last || e.NumAttrs() == 0 {
			t.Errorf("cycle %d of %d has %v, want the heap's figures for the last one only", i+1, len(got), e.Detail())
		}
		if n := e.attrs[0].Value.Int64(); n != got[0].attrs[0].Value.Int64()+int64(i) {
			t.Errorf("entry %d is of cycle %d, the first of %v", i, n, got[0].Detail())
		}
		if i > 0 && e.start+e.duration < got[i-1].start+got[i-1].duration {
			t.Errorf("%v ends before the one before", e)
		}
	}
	if n := tl.root.inFlight.Load(); n != 0 {
		t.Errorf("%d chunks are in use after the pass, want none", n)
	}
}

// The wall clock, which the runtime tells the end of a collection by, may have been stepped.
func TestCollectionEnd(t *testing.T) {
	const seen, now = time.Second, 2 * time.Second
	for name, c := range map[string]struct{ end, want time.Duration }{
		"as it should be":          {1500 * time.Millisecond, 1500 * time.Millisecond},
		"the clock was put on":     {-time.Hour, seen},
		"the clock was put back":   {time.Hour, now},
		"at the pass":              {now, now},
		"at the pass before":       {seen, seen},
		"before the program began": {-1 << 62, seen},
	} {
		if got := collectionEnd(c.end, seen, now); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
