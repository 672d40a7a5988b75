package timeline_test

import (
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/timelinetest/spantest"
	"github.com/perfline/perfline/observer"
)

func TestCloseDelivers(t *testing.T) {
	t.Run("PT-30 what its observers have is delivered, with the dropped count", func(t *testing.T) {
		tl := newManual(func(o *observer.TimelineOptions) { o.ChildBufferSize = 2 })
		child := tl.NewChild()
		var got []string
		var dropped uint64
		var ok bool
		if _, err := child.Observe(func(l observer.List) {
			got = append(got, names(l.Entries())...)
			dropped, ok = l.Dropped()
		}, marksOnly); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"1", "2", "3", "4", "5"} {
			add(child, observer.Mark, name)
		}
		rec(tl.Timeline).Flush() // while it is open, so that its buffer drops three
		child.Close()
		tl.run()
		want(t, "delivered", got, "1", "2", "3", "4", "5")
		if dropped != 3 || !ok {
			t.Errorf("PT-29: Dropped is %d, %v, want 3, true as the buffer counted before Close", dropped, ok)
		}
	})
	t.Run("a callback closes its own timeline", func(t *testing.T) {
		tl := newManual()
		child := tl.NewChild()
		calls := 0
		if _, err := child.Observe(func(observer.List) { calls++; child.Close() }, marksOnly); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			add(child, observer.Mark, "m")
			tl.run()
		}
		if calls != 1 {
			t.Errorf("%d calls, want 1", calls)
		}
	})
	t.Run("its observers want nothing afterwards", func(t *testing.T) {
		tl := newManual()
		child := tl.NewChild()
		watch(t, child, marksOnly)
		child.Close()
		if rec(child).Observed(record.Mark) {
			t.Error("a closed timeline's observer still makes marks recorded")
		}
	})
	t.Run("observing while it is closed", func(t *testing.T) {
		for range 1000 {
			child := undelivered().NewChild()
			closed := make(chan struct{})
			go func() {
				defer close(closed)
				child.Close()
			}()
			obs, err := child.Observe(func(observer.List) {}, marksOnly)
			<-closed
			if err != nil {
				continue // also an answer
			}
			add(child, observer.Mark, "late")
			want(t, "an observer that Close should have disconnected", names(obs.TakeRecords()))
		}
	})
	t.Run("what it kept is not read any more", func(t *testing.T) {
		child := newManual().NewChild()
		add(child, observer.Mark, "m")
		want(t, "before", names(child.Entries()), "m")
		child.Close()
		want(t, "after", names(child.Entries()))
		if at, ok := rec(child).Latest("m"); ok {
			t.Errorf("the mark's name is still known, at %v", at)
		}
	})
}

// Late entries keep the axis of the timeline they were recorded on.
func TestLateEntries(t *testing.T) {
	process := newManual()
	process.now = 100
	child := process.NewChild()
	process.now = 110
	grandchild := child.NewChild()
	var starts []time.Duration
	var from []*observer.Timeline
	if _, err := process.Observe(func(l observer.List) {
		for _, e := range l.Entries() {
			starts = append(starts, e.StartTime())
			from = append(from, e.Timeline())
		}
	}, marksOnly); err != nil {
		t.Fatal(err)
	}
	grandchild.Close()
	process.now = 120
	add(grandchild, observer.Mark, "while its parent is open")
	want(t, "the parent's buffer", names(child.Entries()))
	rec(process.Timeline).Flush()
	want(t, "its own buffer", names(grandchild.Entries()))
	child.Close()
	process.now = 130
	add(grandchild, observer.Mark, "while only the process is open")
	want(t, "the process's buffer", names(process.Entries()))
	process.run()
	if len(starts) != 2 || starts[0] != 120 || starts[1] != 130 || from[0] != grandchild || from[1] != grandchild {
		t.Errorf("the process's observer saw starts %v of %v, want 120ns and 130ns of the grandchild", starts, from)
	}
	if s := process.Stats()[observer.Mark]; s.Recorded != 2 || s.BufferFull != 0 {
		t.Errorf("stats are %+v, want 2 recorded", s)
	}
	if _, err := grandchild.Observe(func(observer.List) {}, observer.Options{Type: observer.Mark, Buffered: true}); err == nil {
		t.Error("observing a closed timeline: no error")
	}
	child.NewChild().Close() // harmless
}

// Goroutines that outlive their request lose nothing, whenever it is closed.
func TestCloseWhileRecording(t *testing.T) {
	const requests, writers, each = 100, 4, 20
	tl := observer.NewTimeline(observer.TimelineOptions{Interval: 20 * time.Microsecond})
	came := map[string]int{}
	if _, err := tl.Observe(func(l observer.List) {
		for _, e := range l.Entries() {
			came[fmt.Sprint(e.Name(), number(&e))]++
		}
	}, observer.Options{Type: observer.Mark, MaxBuffer: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	for r := range requests {
		child := tl.NewChild()
		own, err := child.Observe(func(observer.List) {}, observer.Options{Type: observer.Mark})
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for w := range writers {
			name := fmt.Sprintf("request %d writer %d entry ", r, w)
			spawn(&all, func() {
				for n := range each {
					for !rec(child).Record(record.Mark, name, child.Now(), 0, []slog.Attr{slog.Int("n", n)}) {
						rec(tl).Flush()
					}
				}
			})
		}
		for range 2 {
			spawn(&all, child.Close)
		}
		all.Wait()
		own.Disconnect()
	}
	tl.Deliver()
	if len(came) != requests*writers*each {
		t.Errorf("%d different entries came, want %d", len(came), requests*writers*each)
	}
	for name, n := range came {
		if n != 1 {
			t.Errorf("%s came %d times, want once", name, n)
		}
	}
}

// A program may close the timeline of its context. It does not end a request, whose tracing system does: a request that is not kept would be kept.
func TestCloseRequest(t *testing.T) {
	for name, undecided := range map[string]bool{"sampled": false, "undecided": true} {
		t.Run(name, func(t *testing.T) {
			tl := newManual()
			tracing := spantest.New(rec(tl.Timeline))
			root := tracing.NewRoot("request")
			if undecided {
				root = tracing.NewTentative("request")
			}
			root.Child("before").End()
			view(&root.Unit().Timeline).Close()
			mark(root, "m")
			want(t, "the view", names(view(&root.Unit().Timeline).Entries()), "m")
			root.Child("after").End()
			spans := []string{"before", "after", "request"}
			if undecided {
				root.Unit().Discard(root)
				spans = nil
			} else {
				root.End()
			}
			var got []string
			for _, part := range tracing.Take() {
				for i := range part {
					got = append(got, part[i].Name())
				}
			}
			want(t, "handed over", got, spans...)
		})
	}
}
