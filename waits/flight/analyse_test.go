package flight

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/waits"
)

// The analysis rests after each piece of work, and gets at most 3 s of a minute.
func TestBudget(t *testing.T) {
	for _, c := range []struct {
		name  string
		share float64
		want  time.Duration // until 5 s of work are done
	}{
		{"default", 0, 61*time.Second + 10*time.Second},
		{"none", -1, 25 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var took time.Duration
				h := newHarness(t, Config{MaxCPU: c.share}, &fake{work: func(pause func()) {
					began := time.Now()
					for range 5000 {
						time.Sleep(time.Millisecond)
						pause()
					}
					took = time.Since(began)
				}})
				h.arm(t, 0)
				h.Slow(root(1))
				time.Sleep(3 * time.Minute)
				synctest.Wait()
				s := h.Stats()
				if s.Analysed != 1 || s.Analysing != 5*time.Second {
					t.Errorf("got %+v, want 1 request and 5 s of work", s)
				}
				if took.Round(time.Second) != c.want {
					t.Errorf("5 s of work took %v, want about %v", took, c.want)
				}
			})
		})
	}
}

// A snapshot is taken when the budget suffices for its analysis, so that results come in time for exported spans. Results of snapshots that
// need most of the budget come late, but they come.
func TestSnapshotsWaitForBudget(t *testing.T) {
	for _, c := range []struct {
		name    string
		work    time.Duration // of 3 s in a minute
		results int           // at least, of 600 in ten minutes
		timely  bool
	}{
		{"much room", 100 * time.Millisecond, 550, true},
		{"four of a minute", 700 * time.Millisecond, 395, true},
		{"more than half", 1700 * time.Millisecond, 150, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t, Config{}, &fake{work: func(pause func()) {
					for range c.work / time.Millisecond {
						time.Sleep(time.Millisecond)
						pause()
					}
				}})
				latest, results := time.Duration(0), 0
				h.Watch(func(root bridge.Root, q *waits.Request) {
					if q != nil {
						latest = max(latest, time.Since(root.End))
						results++
					}
				})
				h.arm(t, 0)
				const minutes = 10
				for i := range minutes * 60 {
					h.Slow(slowRoot(i, time.Second))
					time.Sleep(time.Second)
				}
				synctest.Wait()
				const slot = time.Second // of the budget, which returns as the analysis goes on
				most := h.c.MinAge + generation + (1+restFactor)*c.work + slot + 2*tickInterval
				if timely := latest <= most; timely != c.timely {
					t.Errorf("the latest result comes %v after its request, want at most %v: %v", latest, most, c.timely)
				}
				if s := h.Stats(); results < c.results || s.Analysing > minutes*3*time.Second {
					t.Errorf("%d results took %v, want at least %d: %+v", results, s.Analysing, c.results, s)
				}
			})
		})
	}
}

// CPU time counts where it is known.
func TestBudgetOfCPUTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{cpuTime: time.Hour}
		f.work = func(pause func()) {
			for range 1000 {
				time.Sleep(time.Second) // without a processor
				f.cpuTime += time.Millisecond
				pause()
			}
		}
		h := newHarness(t, Config{}, f)
		h.arm(t, 0)
		h.Slow(root(1))
		time.Sleep(time.Hour)
		synctest.Wait()
		if s := h.Stats(); s.Analysed != 1 || s.Analysing != time.Second {
			t.Errorf("got %+v, want 1 request and 1 s of work", s)
		}
	})
}

// In no minute is more spent than the limit, and no wait is longer than needed.
func TestBudgetOfAnyMinute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBudget(rapid.Float64Range(0.001, 1).Draw(t, "share"))
		type work struct{ begin, end time.Time }
		var all []work
		now := b.epoch
		for range rapid.IntRange(1, 300).Draw(t, "pieces") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(20*time.Second)).Draw(t, "idle")))
			d := time.Duration(rapid.Int64Range(0, int64(20*time.Millisecond)).Draw(t, "work"))
			known := rapid.SampledFrom([]time.Duration{0, d}).Draw(t, "known before") // the limit is never less
			now = now.Add(b.wait(now, known))
			if again := b.wait(now, known); again != 0 {
				t.Fatalf("after the wait, there is another one of %v", again)
			}
			all = append(all, work{now, now.Add(d)})
			now = now.Add(d)
			b.spend(now, d)
			spent := time.Duration(0)
			for _, w := range all {
				if now.Sub(w.end) < time.Minute {
					spent += w.end.Sub(w.begin)
				}
			}
			if spent > b.limit+20*time.Millisecond-known {
				t.Fatalf("spent %v in a minute, want at most %v and the last piece, unless it was known", spent, b.limit)
			}
		}
	})
}

// While a snapshot is read, no other is written: requests wait for the next one, or are given up when the window has lost
// them.
func TestOneSnapshotAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := make(chan struct{})
		h := newHarness(t, Config{MinInterval: -1, MinAge: 5 * time.Second, MaxCPU: -1}, &fake{work: func(func()) { <-first }})
		h.arm(t, 0)
		h.Slow(root(1))
		time.Sleep(time.Second)
		h.Slow(root(2))
		time.Sleep(4 * time.Second)
		h.Slow(root(3))
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if s := h.Stats(); s.Snapshots != 1 || s.Abandoned != 1 || s.Pending != 2 {
			t.Errorf("got %+v, want 1 snapshot, 1 abandoned request, and 2 that wait", s)
		}
		close(first)
		time.Sleep(time.Second)
		if s := h.Stats(); s.Snapshots != 2 || s.Analysed != 2 {
			t.Errorf("got %+v, want 2 snapshots and 2 results", s)
		}
	})
}

// Failures are counted, each kind is logged once, and the recorder goes on.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name string
		fake *fake
		log  string
		want waits.Stats
	}{
		{"writing", &fake{writeError: errors.New("no trace today")}, "no trace today", waits.Stats{Failed: 2, SnapshotsFailed: 2}},
		{"too large", &fake{size: 401}, "snapshot of 401 bytes: must be at most four times Config.MaxBytes, which is 100", waits.Stats{Failed: 2, SnapshotsFailed: 2}},
		{"reading", &fake{readError: errors.New("bad trace"), unknown: root(2).SpanID}, "bad trace", waits.Stats{Snapshots: 2, Failed: 1, Analysed: 1}},
		{"panic", &fake{work: func(func()) { panic("off by one") }}, "panic: off by one", waits.Stats{Snapshots: 2, Failed: 2, Panics: 2}},
		{"watch", &fake{}, "watching is hard", waits.Stats{Snapshots: 2, Analysed: 2, Panics: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t, Config{MaxBytes: 100, MinInterval: -1}, c.fake)
				if c.name == "watch" {
					stop := h.Watch(func(bridge.Root, *waits.Request) { panic("watching is hard") })
					defer stop()
				}
				h.arm(t, 0)
				for i := range byte(2) {
					h.Slow(root(1 + i))
					time.Sleep(time.Second)
				}
				synctest.Wait()
				if got := len(h.snapshot.data); got > 400 {
					t.Errorf("the buffer has %d bytes, want at most four times MaxBytes", got)
				}
				s := h.Stats()
				s.Slow, s.SnapshotBytes, s.Results, s.ResultBytes, s.Armed, s.Writing, s.Analysing = 0, 0, 0, 0, 0, 0, 0
				if s != c.want {
					t.Errorf("got %+v, want %+v", s, c.want)
				}
				if got := h.log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, c.log) {
					t.Errorf("logged %q, want one line with %q", got, c.log)
				}
			})
		})
	}
}

// A function does not watch any more after stop.
func TestStopWatching(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Config{MinInterval: -1}, &fake{})
		answers := 0
		stop := h.Watch(func(bridge.Root, *waits.Request) { answers++ })
		h.arm(t, 0)
		h.Slow(root(1))
		time.Sleep(time.Second)
		synctest.Wait()
		stop()
		stop()
		h.Slow(root(2))
		time.Sleep(time.Second)
		synctest.Wait()
		if s := h.Stats(); answers != 1 || s.Analysed != 2 {
			t.Errorf("told of %d of %d results, want the first", answers, s.Analysed)
		}
	})
}

// The memory of the snapshot is let go when the recorder is disarmed.
func TestSnapshotIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Config{}, &fake{size: 1000})
		h.arm(t, 0)
		h.Slow(root(1))
		time.Sleep(time.Second)
		synctest.Wait()
		if h.snapshot.data == nil {
			t.Error("the buffer is not reused")
		}
		h.Disarm()
		if h.snapshot.data != nil {
			t.Error("a disarmed recorder has a buffer")
		}
	})
}

// A function that watches and fails keeps no result from the others, nor from itself later. One that hangs is told of 1024 results at most
// afterwards, and holds up Shutdown for its context only.
func TestWatchers(t *testing.T) {
	for _, c := range []struct {
		name    string
		fails   func(stop <-chan struct{})
		results int
		panics  uint64
		told    int // before it goes on
	}{
		{"panic", func(<-chan struct{}) { panic("watching is hard") }, 3, 3, 3},
		{"a panic with a value that panics", func(<-chan struct{}) { panic(panicking{}) }, 3, 3, 3},
		{"Goexit", func(<-chan struct{}) { runtime.Goexit() }, 3, 3, 3},
		{"hang", func(stop <-chan struct{}) { <-stop }, 3, 0, 1},
		{"hang for long", func(stop <-chan struct{}) { <-stop }, maxNotices + 11, 10, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t, Config{MinInterval: -1, Requests: 2 * maxNotices}, &fake{})
				stop := make(chan struct{})
				var told atomic.Int32
				h.Watch(func(bridge.Root, *waits.Request) {
					told.Add(1)
					c.fails(stop)
				})
				h.arm(t, 0)
				for i := range c.results {
					r := root(0)
					r.SpanID[2], r.SpanID[3] = byte(i), byte(i>>8)
					if !h.Slow(r) {
						t.Fatalf("request %d is not accepted", i)
					}
					time.Sleep(time.Second)
				}
				synctest.Wait()
				h.mu.Lock()
				others := len(h.answers)
				h.mu.Unlock()
				if got := int(told.Load()); got != c.told || others != c.results {
					t.Errorf("it was told of %d results and the other function of %d, want %d and %d", got, others, c.told, c.results)
				}
				if got := h.Stats().Panics; got != c.panics {
					t.Errorf("%d failures are counted, want %d", got, c.panics)
				}
				if lines := strings.Count(h.log.String(), "a function that watches the waits recorder failed"); lines > 1 || c.panics > 0 && lines == 0 {
					t.Errorf("logged %s", h.log)
				}
				if c.told < c.results {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					began := time.Now()
					if err := h.Shutdown(ctx); err == nil || time.Since(began) > 2*time.Second {
						t.Errorf("while the function hangs, Shutdown returns %v after %v", err, time.Since(began))
					}
				}
				close(stop)
			})
		})
	}
}

// panicking is a value whose text cannot be made.
type panicking struct{}

func (panicking) String() string { panic("the value's own panic") }
