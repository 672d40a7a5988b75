package flight

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
	"github.com/perfline/perfline/waits/flight/internal/analysis"
)

// Slow requests that come at about the same time share a snapshot.
func TestSnapshotIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Config{}, &fake{size: 1000, unknown: trace.SpanID{2, 3}})
		h.arm(t, 0)
		for i := range byte(5) {
			if !h.Slow(root(i)) {
				t.Errorf("request %d was refused", i)
			}
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		s := h.Stats()
		if s.Snapshots != 1 || s.SnapshotBytes != 1000 || s.Analysed != 4 || s.NotFound != 1 || s.Results != 4 {
			t.Errorf("got %+v, want 1 snapshot of 1000 bytes with 4 requests, and 1 that was not found", s)
		}
		for i := range byte(5) {
			r, ok := h.Result(root(i).TraceID, root(i).SpanID)
			if want := i != 3; ok != want || ok && r.RootID != root(i).SpanID {
				t.Errorf("request %d has the result %+v, %v; want one: %v", i, r, ok, want)
			}
		}
	})
}

// The next snapshot comes MinInterval after the last one. Requests that came in between are in it while the window has
// them; the others are refused or given up.
func TestRateLimit(t *testing.T) {
	for _, c := range []struct {
		name   string
		config Config
		want   []int // requests of each snapshot, of one request every second for a minute
		counts waits.Stats
	}{
		{"none", Config{MinInterval: -1}, slices.Repeat([]int{1}, 60), waits.Stats{Analysed: 60}},
		{"default", Config{}, append([]int{1}, 10, 10, 10, 10, 10, 9), waits.Stats{Analysed: 60}},
		{"longer than the window", Config{MinInterval: 20 * time.Second, MinAge: 5 * time.Second}, []int{1, 5, 5, 4}, waits.Stats{Analysed: 15, RateLimited: 45}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t, c.config, &fake{})
				h.arm(t, 0)
				for i := range byte(60) {
					h.Slow(root(i))
					time.Sleep(time.Second)
				}
				time.Sleep(time.Second)
				h.Disarm()
				synctest.Wait()
				s := h.Stats()
				if s.Analysed != c.counts.Analysed || s.RateLimited != c.counts.RateLimited || s.Abandoned != c.counts.Abandoned {
					t.Errorf("got %+v, want %+v", s, c.counts)
				}
				if got := h.fake.batches(); !slices.Equal(got, c.want) {
					t.Errorf("the snapshots had %v requests, want %v", got, c.want)
				}
			})
		})
	}
}

// A request that is under way during a snapshot is in the next one as a whole, if the request takes less than MinAge - MinInterval. The default
// suffices for requests of nearly 5 s.
func TestRequestUnderWayDuringSnapshot(t *testing.T) {
	for name, c := range map[string]struct {
		config Config
		took   time.Duration
	}{
		"default":          {Config{}, 4800 * time.Millisecond},
		"shorter interval": {Config{MinInterval: 2 * time.Second}, 12800 * time.Millisecond},
		"shorter window":   {Config{MinAge: 12 * time.Second}, 1800 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t, c.config, &fake{})
				h.arm(t, 0)
				h.Slow(root(1))
				for len(h.fake.taken()) == 0 {
					time.Sleep(time.Millisecond)
				}
				under := slowRoot(2, c.took) // ends just after the snapshot
				h.Slow(under)
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				all := h.fake.taken()
				if len(all) != 2 {
					t.Fatalf("%d snapshots, want 2", len(all))
				}
				if began := all[1].Add(-h.fake.config.MinAge); under.Start.Before(began) {
					t.Errorf("the snapshot lacks the first %v of the request", began.Sub(under.Start))
				}
			})
		})
	}
}

// No more than maxWaiting requests wait for a snapshot. The least slow one gives way, or the new one if it is less slow. Failed ones stay.
func TestLeastSlowGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Config{}, &fake{})
		h.arm(t, 0)
		for i := range maxWaiting {
			r := slowRoot(i, time.Duration(10+i)*time.Second) // number 0 is the least slow one
			r.Failed = i == 0
			if !h.Slow(r) {
				t.Fatalf("request %d is refused", i)
			}
		}
		failed := slowRoot(1001, time.Second)
		failed.Failed = true
		for i, c := range []struct {
			root     bridge.Root
			accepted bool
		}{
			{slowRoot(1000, 11*time.Second), false}, // as slow as number 1, which came before
			{failed, true},                          // number 1 gives way
			{slowRoot(1002, time.Hour), true},       // and number 2
		} {
			if got := h.Slow(c.root); got != c.accepted {
				t.Errorf("request %d is accepted: %v, want %v", i, got, c.accepted)
			}
		}
		if s := h.Stats(); s.Dropped != 3 || s.Pending != maxWaiting {
			t.Errorf("got %+v, want 3 dropped and %d pending", s, maxWaiting)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		for i, want := range map[int]waiting.Reason{0: "", 1: waiting.GaveWay, 2: waiting.GaveWay, 3: "", 1000: waiting.GaveWay, 1001: "", 1002: ""} {
			r := slowRoot(i, 0)
			_, ok := h.Result(r.TraceID, r.SpanID)
			if got := h.Missing(idOf(r), time.Now()); ok != (want == "") || !ok && got != want {
				t.Errorf("request %d has a result: %v, %q; want %q", i, ok, got, want)
			}
		}
		for i := range maxWaiting { // the second ones to wait: now the last one is the least slow one
			h.Slow(slowRoot(2000+i, time.Duration(1000-i)*time.Second))
		}
		h.Slow(slowRoot(3000, time.Second)) // less slow
		if r := slowRoot(2000+maxWaiting-1, 0); h.Missing(idOf(r), time.Now()) != waiting.Waiting || !h.Slow(slowRoot(3001, time.Hour)) || h.Missing(idOf(r), time.Now()) != waiting.GaveWay {
			t.Errorf("the least slow one of the second ones has the reason %q", h.Missing(idOf(r), time.Now()))
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		if got := len(h.answers); got != maxWaiting+2 {
			t.Errorf("the end of %d requests was told, want %d: also of those that gave way", got, maxWaiting+2)
		}
		var order []time.Duration
		for _, w := range h.fake.wanted[0] {
			order = append(order, w.Duration)
		}
		if rest := order[2:]; order[0] != 10*time.Second || order[1] != time.Second || !slices.IsSortedFunc(rest, func(a, b time.Duration) int { return cmp.Compare(b, a) }) {
			t.Errorf("the analysis gets %v, want failed ones first, and then the slowest ones", order)
		}
	})
}

// Requests that give way faster than their functions are told take no more memory: then new ones give way.
func TestGivingWayIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Config{}, &fake{})
		h.arm(t, 0)
		accepted := 0
		for i := range 4 * maxWaiting { // each slower than the ones before
			if h.Slow(slowRoot(i, time.Duration(1+i)*time.Second)) {
				accepted++
			}
		}
		if accepted != 2*maxWaiting {
			t.Errorf("%d are accepted at once, want %d", accepted, 2*maxWaiting)
		}
		time.Sleep(gatherTime)
		synctest.Wait()
		if !h.Slow(slowRoot(4*maxWaiting, time.Hour)) {
			t.Error("after the functions were told, a slower one is refused")
		}
	})
}

// A program may ask for a request twice. There is one result, with one share of the pool.
func TestSlowTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{read: func(_ io.ReadSeeker, wanted []analysis.Root, _ func(string) bool, _ func()) (found []waits.Request, _ time.Time, _ error) {
			for _, w := range wanted {
				found = append(found, waits.Request{TraceID: w.TraceID, RootID: w.SpanID, Name: "GET /slow"})
			}
			return found, time.Time{}, nil
		}}
		r := newRecorder(Config{}, f.process())
		if err := r.Arm(0); err != nil {
			t.Fatal(err)
		}
		r.Slow(root(1))
		r.Slow(root(1))
		time.Sleep(time.Second)
		if err := r.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if s := r.Stats(); s.Analysed != 2 || s.Results != 1 || s.ResultBytes != uint64(sizes(&waits.Request{Name: "GET /slow"})) {
			t.Errorf("got %+v, want the bytes of one result", s)
		}
		r.results.remove(idOf(root(1)))
		if len(r.results.pool.texts) > 0 {
			t.Errorf("the pool still has %d texts", len(r.results.pool.texts))
		}
	})
}

// Results of requests that are in memory outlast others. The recorder asks for all requests at once, without a lock.
func TestResultsOfRequestsInMemoryStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Config{MinInterval: -1, Requests: 2}, &fake{})
		h.SetHeld(func(ids []local.ID) (held []bool) {
			h.Stats() // needs the recorder's lock
			for _, id := range ids {
				held = append(held, id.Span[1]%2 == 0)
			}
			return held
		})
		h.arm(t, 0)
		for i := range 6 { // the later, the less slow; the even ones are in memory
			h.Slow(slowRoot(i, time.Duration(10-i)*time.Second))
			time.Sleep(time.Second)
		}
		synctest.Wait()
		for i, want := range []waiting.Reason{"", waiting.Gone, "", waiting.Gone, waiting.LessSlow, waiting.Gone} {
			r := slowRoot(i, 0)
			_, ok := h.Result(r.TraceID, r.SpanID)
			if got := h.Missing(idOf(r), time.Now()); ok != (want == "") || !ok && got != want {
				t.Errorf("request %d has a result: %v, %q; want %q", i, ok, got, want)
			}
		}
		if s := h.Stats(); s.Evicted != 1 || s.Results != 2 {
			t.Errorf("got %+v, want 2 results, and 1 evicted although its request is in memory", s)
		}
	})
}

// The last snapshot does not wait for MinInterval: its requests would be lost.
func TestLastSnapshot(t *testing.T) {
	for _, length := range []time.Duration{0, 3 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			h := newHarness(t, Config{}, &fake{})
			h.arm(t, length)
			h.Slow(root(1))
			time.Sleep(2 * time.Second)
			h.Slow(root(2))
			if length == 0 {
				h.Disarm()
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if s := h.Stats(); s.Analysed != 2 || s.Snapshots != 2 {
				t.Errorf("armed for %v: got %+v, want 2 results", length, s)
			}
		})
	}
}

// Bounds that stand for none work.
func TestLargestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Config{MaxBytes: math.MaxInt, MinAge: math.MaxInt64}, &fake{})
		h.arm(t, 0)
		h.Slow(root(1))
		time.Sleep(time.Second)
		synctest.Wait()
		if s := h.Stats(); s.Analysed != 1 {
			t.Errorf("got %+v, want 1 result", s)
		}
	})
}

// The analysis does not work under the labels of the code that disarms the recorder.
func TestAnalysisHasNoLabels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var profile strings.Builder
		disarmed := make(chan struct{})
		h := newHarness(t, Config{}, &fake{work: func(func()) {
			<-disarmed // the code that disarms has its labels until then
			_ = pprof.Lookup("goroutine").WriteTo(&profile, 1)
		}})
		h.arm(t, 0)
		h.Slow(root(1))
		pprof.Do(t.Context(), pprof.Labels("disarms", "the handler of the page"), func(context.Context) { h.Disarm() })
		close(disarmed)
		synctest.Wait()
		if profile.Len() == 0 || strings.Contains(profile.String(), "the handler of the page") {
			t.Errorf("goroutines at the time of the analysis:\n%s", profile.String())
		}
	})
}

// Shutdown gives up requests that wait, and nothing starts after it.
func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Config{Auto: true}, &fake{})
		h.arm(t, 0)
		h.Slow(root(1))
		for range 2 {
			if err := h.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if s := h.Stats(); s.Abandoned != 1 || s.Snapshots != 0 {
			t.Errorf("got %+v, want 1 abandoned request and no snapshot", s)
		}
		if err := h.Arm(0); err == nil {
			t.Error("Arm after Shutdown returned no error")
		}
		h.Slow(root(2))
		if h.arming {
			t.Error("a slow request arms a recorder that is shut down")
		}
		h.Disarm()
		if s := h.State(); s.Status != waits.Disarmed || s.Reason == "" || h.fake.started != 1 {
			t.Errorf("got %+v and %d starts, want shut down and 1", s, h.fake.started)
		}
	})
}

// Shutdown ends an analysis at its next pause, also one that waits for its budget. If the analysis does not call pause,
// Shutdown returns with its context.
func TestShutdownDuringAnalysis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		h := newHarness(t, Config{}, &fake{work: func(pause func()) {
			<-hang
			time.Sleep(time.Minute) // work, which is over the budget
			func() {
				defer func() { _ = recover() }() // as a reader that turns panics into errors
				pause()
				t.Error("pause returned after Shutdown")
			}()
		}})
		h.arm(t, 0)
		h.Slow(root(1))
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := h.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("while the analysis hangs, Shutdown returned %v", err)
		}
		close(hang)
		if err := h.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if s := h.Stats(); s.Abandoned != 1 || s.Panics != 0 {
			t.Errorf("got %+v, want 1 abandoned request", s)
		}
		if h.log.Len() > 0 {
			t.Errorf("logged %s", h.log)
		}
	})
}
