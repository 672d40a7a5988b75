package timeline_test

import (
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

// numbered records a mark that carries its number. It makes room where there is none.
func numbered(on *observer.Timeline, n int) {
	for !rec(on).Record(record.Mark, "m", on.Now(), 0, []slog.Attr{slog.Int("n", n)}) {
		rec(on).Flush()
	}
}

// undelivered returns a process timeline with the monotonic clock and without callbacks,
// so that TakeRecords gets everything.
func undelivered() *observer.Timeline {
	return observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {}})
}

func number(e *observer.Entry) (n int) {
	for _, a := range e.Detail() {
		n = int(a.Value.Int64())
	}
	return n
}

// Entries that one goroutine records on several timelines reach an observer of their
// common parent in the order of recording.
func TestOrderAcrossTimelines(t *testing.T) {
	for _, c := range []struct {
		name string
		tl   *observer.Timeline
	}{
		{"PT-31 a clock of its own", newManual().Timeline},
		{"PT-31 the monotonic clock", undelivered()},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := c.tl.NewChild(), c.tl.NewChild()
			obs, _ := watch(t, c.tl, marksOnly)
			for i, on := range []*observer.Timeline{a, c.tl, b, a, c.tl} {
				add(on, observer.Mark, fmt.Sprint(i))
			}
			want(t, "taken", names(obs.TakeRecords()), "0", "1", "2", "3", "4")
		})
	}
}

// atDepth calls f with n more KiB of stack in use.
//
//go:noinline
func atDepth(n int, f func()) {
	var frame [1024]byte
	if n == 0 {
		f()
	} else {
		atDepth(n-1, f)
	}
	runtime.KeepAlive(&frame)
}

// A goroutine's entries keep their order however deep in its calls it records
// them: inlets are chosen by the stack's address, so depth moves it between them.
func TestOrderAcrossStackDepths(t *testing.T) {
	tl := undelivered()
	obs, err := tl.Observe(func(observer.List) {}, observer.Options{Type: observer.Mark, MaxBuffer: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	next := 0
	var failed atomic.Bool
	take := func() {
		for _, e := range obs.TakeRecords() {
			if n := number(&e); n != next && !failed.Swap(true) {
				t.Errorf("entry %d came, want %d: one goroutine recorded them in order", n, next)
			}
			next++
		}
	}
	const total = 30_000
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := range total {
			if failed.Load() {
				return
			}
			atDepth(n%8, func() { numbered(tl, n) })
		}
	}()
	for busy := true; busy; {
		select {
		case <-done:
			busy = false
		default:
		}
		take()
	}
	if !failed.Load() && next != total {
		t.Errorf("%d entries came, want %d", next, total)
	}
}

// Whatever reads sees what the calling goroutine recorded before, also while
// other goroutines record on the same timeline and others collect it.
func TestReadYourWrites(t *testing.T) {
	const goroutines, each = 8, 1000
	process := observer.NewTimeline(observer.TimelineOptions{})
	for _, c := range []struct {
		name string
		tl   *observer.Timeline
	}{
		{"UT-8 process timeline", process},
		{"UT-8 request timeline", process.NewChild()},
	} {
		t.Run(c.name, func(t *testing.T) {
			var missed, refused atomic.Int64
			var all sync.WaitGroup
			for g := range goroutines {
				name := fmt.Sprint("goroutine ", g)
				spawn(&all, func() {
					for range each {
						if !rec(c.tl).Record(record.Mark, name, c.tl.Now(), 0, nil) {
							refused.Add(1)
							return
						}
						if rec(c.tl).Clear(record.Mark, name) != 1 {
							missed.Add(1)
							return
						}
					}
				})
			}
			all.Wait()
			if n := missed.Load(); n > 0 {
				t.Errorf("%d of %d goroutines recorded a mark and did not find it", n, goroutines)
			}
			if n := refused.Load(); n > 0 {
				t.Errorf("%d goroutines were refused, so this says nothing", n)
			}
		})
	}
}

// Entries recorded while an observer registers come from the buffer or from the
// recording, not from both.
func TestBufferedMeanwhile(t *testing.T) {
	t.Run("PT-27 another goroutine records", func(t *testing.T) {
		const requests, each = 1000, 30
		tl := undelivered()
		for range requests {
			child := tl.NewChild()
			done := make(chan struct{})
			go func() {
				defer close(done)
				for n := range each {
					numbered(child, n)
				}
			}()
			obs, err := child.Observe(func(observer.List) {}, observer.Options{Type: observer.Mark, Buffered: true})
			if err != nil {
				t.Fatal(err)
			}
			<-done
			came := map[int]int{}
			for _, e := range obs.TakeRecords() {
				came[number(&e)]++
			}
			child.Close()
			for n := range each {
				if came[n] != 1 {
					t.Fatalf("entry %d came %d times, want once", n, came[n])
				}
			}
		}
	})
}

// Goroutines record on the process's and on a request's timeline in turn. An observer of
// the process gets every entry once, and the entries of each timeline in the order of
// recording.
func TestConcurrentOnTwoTimelines(t *testing.T) {
	const writers, each = 8, 1000
	tl := observer.NewTimeline(observer.TimelineOptions{Interval: 50 * time.Microsecond})
	child := tl.NewChild()
	next := map[string]int{}
	if _, err := tl.Observe(func(l observer.List) {
		for _, e := range l.Entries() {
			key := fmt.Sprint(e.Name(), e.Timeline() == child)
			if n := number(&e); n != next[key] {
				t.Errorf("%s: entry %d came, want %d", key, n, next[key])
			}
			next[key]++
		}
	}, observer.Options{Type: observer.Mark, MaxBuffer: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for w := range writers {
		name := fmt.Sprint("writer ", w)
		spawn(&all, func() {
			for n := range each {
				for _, on := range []*observer.Timeline{tl, child} {
					for !rec(on).Record(record.Mark, name, on.Now(), 0, []slog.Attr{slog.Int("n", n)}) {
						rec(tl).Flush()
					}
				}
			}
		})
	}
	all.Wait()
	tl.Deliver()
	if len(next) != 2*writers {
		t.Errorf("entries of %d writers and timelines came, want %d", len(next), 2*writers)
	}
	for key, n := range next {
		if n != each {
			t.Errorf("%s: %d entries came, want %d", key, n, each)
		}
	}
	if s := tl.Stats()[observer.Mark]; s.Recorded != 2*writers*each || s.Delivered != s.Recorded {
		t.Errorf("stats are %+v, want %d recorded and delivered", s, 2*writers*each)
	}
}
