package timeline_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

func TestDelivery(t *testing.T) {
	t.Run("PT-2 only the types asked for, PT-8 never at once", func(t *testing.T) {
		tl := newManual()
		_, m := watch(t, tl.Timeline, marksOnly)
		_, b := watch(t, tl.Timeline, both)
		tl.add(observer.Mark, "mark")
		tl.add(observer.Measure, "measure")
		tl.add(observer.Resource, "resource")
		if len(*m)+len(*b) > 0 {
			t.Error("delivered during the call that recorded")
		}
		tl.run()
		want(t, "marks", *m, "mark")
		want(t, "both", *b, "mark", "measure")
	})
	t.Run("PT-4 one task at a time", func(t *testing.T) {
		tl := newManual()
		watch(t, tl.Timeline, marksOnly)
		child := tl.NewChild()
		for range 5 {
			tl.add(observer.Mark, "m")
			add(child, observer.Mark, "m")
			rec(tl.Timeline).Flush() // what is recorded next finds empty buffers, and must not ask for another task
		}
		if n := len(tl.tasks); n != 1 {
			t.Errorf("%d tasks wait, want 1", n)
		}
		tl.run()
		tl.add(observer.Mark, "m")
		if n := len(tl.tasks); n != 1 {
			t.Errorf("after delivery %d tasks wait, want 1", n)
		}
		tl.run()
	})
	t.Run("PT-4 the flag is cleared before callbacks", func(t *testing.T) {
		tl := newManual()
		var got []string
		if _, err := tl.Observe(func(l observer.List) {
			got = append(got, names(l.Entries())...)
			if len(got) == 1 {
				tl.add(observer.Mark, "from the callback")
				if len(tl.tasks) != 1 {
					t.Errorf("%d tasks wait for the callback's own mark, want 1", len(tl.tasks))
				}
			}
		}, marksOnly); err != nil {
			t.Fatal(err)
		}
		tl.add(observer.Mark, "first")
		tl.run()
		want(t, "delivered", got, "first", "from the callback")
	})
	t.Run("PT-5 in order of registration, only those that have something", func(t *testing.T) {
		tl := newManual()
		var order []string
		for _, name := range []string{"one", "two", "three"} {
			o := marksOnly
			if name == "two" {
				o = observer.Options{Types: []observer.Type{observer.Measure}}
			}
			if _, err := tl.Observe(func(observer.List) { order = append(order, name) }, o); err != nil {
				t.Fatal(err)
			}
		}
		tl.add(observer.Mark, "m")
		tl.run()
		want(t, "called", order, "one", "three")
	})
	t.Run("PT-5 in order of registration, not of what they got first", func(t *testing.T) {
		tl := newManual()
		var order []string
		for _, typ := range []observer.Type{observer.Mark, observer.Measure} {
			if _, err := tl.Observe(func(observer.List) { order = append(order, string(typ)) }, observer.Options{Type: typ}); err != nil {
				t.Fatal(err)
			}
		}
		tl.add(observer.Measure, "first")
		tl.add(observer.Mark, "second")
		tl.run()
		want(t, "called", order, "mark", "measure")
	})
	t.Run("PT-5 a copy of the list: who is registered meanwhile waits for the next task", func(t *testing.T) {
		tl := newManual()
		var calls []string
		tl.add(observer.Mark, "m")
		if _, err := tl.Observe(func(observer.List) {
			calls = append(calls, "first")
			if len(calls) > 1 {
				return
			}
			if _, err := tl.Observe(func(observer.List) { calls = append(calls, "buffered") }, observer.Options{Type: observer.Mark, Buffered: true}); err != nil {
				t.Error(err)
			}
		}, observer.Options{Type: observer.Mark, Buffered: true}); err != nil {
			t.Fatal(err)
		}
		if len(tl.tasks) != 1 {
			t.Fatalf("%d tasks wait, want 1", len(tl.tasks))
		}
		task := tl.tasks[0]
		tl.tasks = nil
		task()
		want(t, "called by the first task", calls, "first")
		tl.run()
		want(t, "called by both", calls, "first", "buffered")
	})
	t.Run("PT-5 each buffer is taken right before its callback", func(t *testing.T) {
		tl := newManual()
		var calls []string
		for _, name := range []string{"A", "B"} {
			if _, err := tl.Observe(func(l observer.List) {
				calls = append(calls, name+":"+strings.Join(names(l.Entries()), " "))
				if len(calls) == 1 {
					tl.add(observer.Mark, "two")
				}
			}, marksOnly); err != nil {
				t.Fatal(err)
			}
		}
		tl.add(observer.Mark, "one")
		tl.run()
		want(t, "called", calls, "A:one", "B:one two", "A:two")
	})
	t.Run("PT-5 an earlier callback's entries are all that an observer has", func(t *testing.T) {
		tl := newManual()
		var calls []string
		for _, o := range []observer.Options{marksOnly, {Type: observer.Measure}} {
			if _, err := tl.Observe(func(l observer.List) {
				calls = append(calls, names(l.Entries())...)
				if len(calls) == 1 {
					add(tl.NewChild(), observer.Measure, "from the callback")
				}
			}, o); err != nil {
				t.Fatal(err)
			}
		}
		tl.add(observer.Mark, "m")
		task := tl.tasks[0]
		tl.tasks = nil
		task()
		want(t, "called by the first task", calls, "m", "from the callback")
		tl.run()
	})
	t.Run("PT-1 two process timelines share nothing", func(t *testing.T) {
		a, b := newManual(), newManual()
		_, got := watch(t, b.Timeline, marksOnly)
		a.add(observer.Mark, "a's")
		if len(a.tasks) != 1 || len(b.tasks) != 0 {
			t.Errorf("%d and %d tasks wait, want 1 and 0", len(a.tasks), len(b.tasks))
		}
		a.run()
		b.run()
		want(t, "the other's observer", *got)
		want(t, "the other's buffer", names(b.Entries()))
	})
	t.Run("PT-6 the callback knows its observer", func(t *testing.T) {
		tl := newManual()
		var obs *observer.Observer
		calls := 0
		obs, err := tl.Observe(func(l observer.List) {
			calls++
			if l.Observer() != obs {
				t.Errorf("got %p, want %p", l.Observer(), obs)
			}
			l.Observer().Disconnect()
		}, both)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			tl.add(observer.Mark, "m")
			tl.run()
		}
		if calls != 1 {
			t.Errorf("%d calls, want 1: it disconnected itself", calls)
		}
	})
	t.Run("PT-7 a panic is reported and the others are called", func(t *testing.T) {
		var log bytes.Buffer
		tl := newManual(func(o *observer.TimelineOptions) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		if _, err := tl.Observe(func(observer.List) { panic("boom") }, marksOnly); err != nil {
			t.Fatal(err)
		}
		_, got := watch(t, tl.Timeline, marksOnly)
		for range 2 {
			tl.add(observer.Mark, "m")
			tl.run()
		}
		want(t, "the other observer", *got, "m", "m")
		if n := strings.Count(log.String(), "panic=boom"); n != 2 {
			t.Errorf("reported %d times, want 2: %s", n, log.String())
		}
	})
	t.Run("PT-33 sorted by start, by type, by name", func(t *testing.T) {
		tl := newManual()
		var list observer.List
		if _, err := tl.Observe(func(l observer.List) { list = l }, both); err != nil {
			t.Fatal(err)
		}
		rec(tl.Timeline).Record(record.Measure, "b", 20, 0, nil)
		rec(tl.Timeline).Record(record.Mark, "a", 10, 0, nil)
		rec(tl.Timeline).Record(record.Mark, "b", 5, 0, nil)
		tl.run()
		want(t, "Entries", names(list.Entries()), "b", "a", "b")
		want(t, "EntriesByType", names(list.EntriesByType(observer.Mark)), "b", "a")
		want(t, "EntriesByName", names(list.EntriesByName("b", observer.Measure)), "b")
		want(t, "unknown type", names(list.EntriesByType("nope")))
	})
}

func TestDeliveryByTimer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		tl := observer.NewTimeline(observer.TimelineOptions{Interval: time.Millisecond})
		got := make(chan string, 10)
		if _, err := tl.Observe(func(l observer.List) {
			for _, e := range l.Entries() {
				got <- e.Name()
			}
		}, marksOnly); err != nil {
			t.Fatal(err)
		}
		add(tl, observer.Mark, "m")
		time.Sleep(2 * time.Millisecond) // of the bubble's clock
		settle()
		select {
		case name := <-got:
			if name != "m" {
				t.Errorf("got %q", name)
			}
		default:
			t.Error("not delivered two intervals later")
		}
	})
}

func TestDeliverWaitsForCallbacks(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	total := 0
	if _, err := tl.Observe(func(l observer.List) { total += len(l.Entries()) }, marksOnly); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		for range 50 {
			add(tl, observer.Mark, "m")
		}
		tl.Deliver()
		if total != 50*(i+1) { // also a race, if Deliver did not wait
			t.Fatalf("round %d: %d delivered, want %d", i, total, 50*(i+1))
		}
	}
}

// A callback that hangs must not stop recording, reading or the bridge.
func TestSlowCallback(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{Interval: time.Microsecond})
	release, entered := make(chan struct{}), make(chan struct{}, 1000)
	if _, err := tl.Observe(func(observer.List) { entered <- struct{}{}; <-release }, observer.Options{Type: observer.Mark, MaxBuffer: 10}); err != nil {
		t.Fatal(err)
	}
	add(tl, observer.Mark, "m")
	<-entered
	for range 1000 {
		add(tl, observer.Mark, "m")
	}
	s := tl.Stats()[observer.Mark]
	if s.Recorded != 1001 || s.Delivered != 1 || s.ObserverFull != 990 {
		t.Errorf("with a callback that hangs: %+v, want 1001 recorded, 1 delivered, 990 ObserverFull", s)
	}
	close(release)
	tl.Deliver()
	if s = tl.Stats()[observer.Mark]; s.Delivered != 11 {
		t.Errorf("%d delivered at the end, want 11", s.Delivered)
	}
}
