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
	"github.com/perfline/perfline/profiling"
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

// A request without a result has a reason, and only one that was slow.
func TestMissing(t *testing.T) {
	for _, c := range []struct {
		name   string
		config Config
		fake   *fake
		run    func(h *harness)
		want   waiting.Reason // of request 1
	}{
		{"not slow", Config{}, &fake{}, func(h *harness) { _ = h.Arm(0); h.Slow(root(2)) }, waiting.NotSlow},
		{"not armed", Config{}, &fake{}, func(h *harness) { h.Slow(root(1)) }, waiting.NotArmed},
		{"waiting", Config{}, &fake{}, func(h *harness) { _ = h.Arm(0); h.Slow(root(1)) }, waiting.Waiting},
		{"analysed now", Config{}, &fake{work: func(func()) { time.Sleep(time.Hour) }}, func(h *harness) { _ = h.Arm(0); h.Slow(root(1)); time.Sleep(time.Minute) }, waiting.Waiting},
		{"not in the trace", Config{}, &fake{unknown: root(1).SpanID}, func(h *harness) { _ = h.Arm(0); h.Slow(root(1)); time.Sleep(time.Minute) }, waiting.NotInTrace},
		{"failed snapshot", Config{}, &fake{writeError: errors.New("no trace")}, func(h *harness) { _ = h.Arm(0); h.Slow(root(1)); time.Sleep(time.Minute) }, waiting.Failed},
		{"failed analysis", Config{}, &fake{work: func(func()) { panic("off by one") }}, func(h *harness) { _ = h.Arm(0); h.Slow(root(1)); time.Sleep(time.Minute) }, waiting.Failed},
		{"rate limited", Config{MinInterval: time.Hour}, &fake{}, func(h *harness) { _ = h.Arm(0); h.Slow(root(2)); time.Sleep(time.Minute); h.Slow(root(1)) }, waiting.RateLimited},
		{"left the window", Config{MinAge: time.Second, MinInterval: -1}, &fake{work: func(func()) { time.Sleep(time.Minute) }}, func(h *harness) {
			_ = h.Arm(0)
			h.Slow(root(2))
			time.Sleep(time.Second)
			h.Slow(root(1))
			time.Sleep(10 * time.Second)
		}, waiting.LeftWindow},
		{"disarmed", Config{}, &fake{work: func(func()) { time.Sleep(time.Minute) }}, func(h *harness) {
			_ = h.Arm(0)
			h.Slow(root(2))
			time.Sleep(time.Second)
			h.Slow(root(1))
			h.Disarm()
		}, waiting.Disarmed},
		{"evicted for a slower one", Config{Requests: 1}, &fake{}, func(h *harness) {
			_ = h.Arm(0)
			h.Slow(root(1))
			h.Slow(slowRoot(2, time.Second))
			time.Sleep(time.Minute)
		}, waiting.LessSlow},
		{"not stored", Config{Requests: -1}, &fake{}, func(h *harness) { _ = h.Arm(0); h.Slow(root(1)); time.Sleep(time.Minute) }, waiting.NotStored},
		{"a reason that is forgotten", Config{}, &fake{}, func(h *harness) {
			_ = h.Arm(0)
			h.Disarm()
			for i := range 1 + maxReasons {
				time.Sleep(time.Millisecond)
				h.Slow(slowRoot(1+i, 0))
			}
		}, waiting.Forgotten},
		{"never armed, for long", Config{}, &fake{}, func(h *harness) {
			for i := range 1 + maxReasons {
				time.Sleep(time.Millisecond)
				h.Slow(slowRoot(1+i, 0))
			}
		}, waiting.NotArmed},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t, c.config, c.fake)
				time.Sleep(time.Millisecond)
				ended := time.Now()
				c.run(h)
				synctest.Wait()
				if got := h.Missing(idOf(root(1)), ended); got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
				if _, ok := h.Result(root(1).TraceID, root(1).SpanID); ok {
					t.Error("the request has a result")
				}
			})
		})
	}
}

// A program may ask for a request twice. There is one result, with one share of the pool.
func TestSlowTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{read: func(_ io.ReadSeeker, wanted []analysis.Root, _ func(string) bool, _ func()) (found []waits.Request, _ error) {
			for _, w := range wanted {
				found = append(found, waits.Request{TraceID: w.TraceID, RootID: w.SpanID, Name: "GET /slow"})
			}
			return found, nil
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

// A request that ends while the recorder is disarmed is refused. One that began before the recorder was armed may have a
// result with a gap.
func TestSlowWhileNotArmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Config{}, &fake{})
		early := root(1)
		early.Start = early.End.Add(-time.Second)
		if h.Slow(root(0)) {
			t.Error("a disarmed recorder accepted a request")
		}
		time.Sleep(time.Millisecond)
		h.arm(t, 0)
		if !h.Slow(early) {
			t.Error("a request that began before the recorder was armed was refused")
		}
		h.Disarm()
		if h.Slow(root(2)) {
			t.Error("a recorder that was disarmed accepted a request")
		}
		synctest.Wait()
		if s := h.Stats(); s.NotArmed != 2 || s.Analysed != 1 {
			t.Fatalf("got %+v, want 2 requests that ended while the recorder was not armed, and 1 result", s)
		}
		if got := h.fake.wanted[0][0].Duration; got != time.Second {
			t.Errorf("the reader knows a duration of %v, want 1 s", got)
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

// Arm replaces the end. The recorder takes a last snapshot before it is disarmed.
func TestArmedUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Config{}, &fake{})
		h.arm(t, time.Minute)
		h.arm(t, 2*time.Second)
		until := time.Now().Add(2 * time.Second)
		if s := h.State(); s.Status != waits.Armed || !s.Until.Equal(until) {
			t.Errorf("got %+v, want armed until %v", s, until)
		}
		time.Sleep(2*time.Second - 50*time.Millisecond)
		h.Slow(root(1))
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if s := h.State(); s.Status != waits.Disarmed {
			t.Errorf("after its time the recorder is %+v", s)
		}
		if s := h.Stats(); s.Analysed != 1 || s.Armed != 2*time.Second {
			t.Errorf("got %+v, want 1 analysed request and 2 s armed", s)
		}
		h.arm(t, 0)
		if s := h.State(); s.Status != waits.Armed || !s.Until.IsZero() {
			t.Errorf("got %+v, want armed without an end", s)
		}
		time.Sleep(time.Hour)
		if s := h.Stats().Armed; s != time.Hour+2*time.Second {
			t.Errorf("armed for %v, want an hour and 2 s", s)
		}
		if err := h.Arm(-time.Second); err == nil || !strings.Contains(err.Error(), "-1s") {
			t.Errorf("arming for -1s returned %v", err)
		}
	})
}

// With Auto, the first slow request arms the recorder for a minute, and then none does for five.
func TestAuto(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Config{Auto: true}, &fake{})
		if s := h.State(); s.Status != waits.Disarmed || !s.Auto {
			t.Errorf("got %+v, want disarmed, and auto", s)
		}
		h.control.Lock() // which keeps the recorder from being armed
		for range 2 {
			if h.Slow(root(1)) {
				t.Error("the request that arms the recorder was accepted")
			}
		}
		h.control.Unlock()
		synctest.Wait()
		if s := h.State(); s.Status != waits.Armed || !s.Auto || time.Until(s.Until) != time.Minute {
			t.Errorf("got %+v, want armed automatically for a minute", s)
		}
		if !h.Slow(root(2)) {
			t.Error("a request that began after the recorder was armed was refused")
		}
		for minute := range 6 {
			time.Sleep(61 * time.Second)
			synctest.Wait()
			h.Slow(root(3 + byte(minute)))
			synctest.Wait()
			want := waits.Paused
			if minute == 5 {
				want = waits.Armed
			}
			if s := h.State(); s.Status != want {
				t.Errorf("minute %d: got %+v, want %s", minute+1, s, want)
			}
		}
		h.arm(t, 0) // by the program: it does not end after a minute
		time.Sleep(time.Hour)
		h.Slow(root(20))
		if s := h.State(); s.Status != waits.Armed || s.Auto || !s.Until.IsZero() {
			t.Errorf("got %+v, want armed without an end", s)
		}
		if got := strings.Count(h.log.String(), "\n"); got != 2 {
			t.Errorf("logged %d lines, want one for each time a request armed the recorder: %s", got, h.log)
		}
	})
}

// A slow request does not change the end that the program has set, even if both arm the recorder at the same time.
func TestAutoAndArm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Config{Auto: true}, &fake{})
		h.Slow(root(1))
		h.arm(t, 0)
		synctest.Wait()
		if s := h.State(); s.Status != waits.Armed || s.Auto || !s.Until.IsZero() {
			t.Errorf("got %+v, want armed without an end", s)
		}
	})
}

// Without Auto, slow requests start nothing.
func TestSlowStartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Config{}, &fake{})
		h.Slow(root(1))
		synctest.Wait()
		if s := h.State(); s.Status != waits.Disarmed || h.fake.started != 0 {
			t.Errorf("got %+v, %d starts", s, h.fake.started)
		}
	})
}

// A recorder that cannot be armed reports that, and tries again only when Arm is called, or with Auto after a pause.
func TestInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Config{Armed: true, Auto: true}, &fake{startError: errors.New("flight recorder already enabled")})
		h.Start(nil)
		h.Start(nil) // does nothing
		if got := strings.Count(h.log.String(), "another flight recorder runs in this process"); got != 1 {
			t.Errorf("logged %q, want one line with the reason", h.log)
		}
		if s := h.State(); s.Status != waits.InUse || !strings.Contains(s.Reason, "arm again") {
			t.Errorf("got %+v, want in use, with the remedy", s)
		}
		for range 3 {
			h.Slow(root(1))
			synctest.Wait()
		}
		if got := strings.Count(h.log.String(), "\n"); got != 2 {
			t.Errorf("logged %d lines, want two: %s", got, h.log)
		}
		if err := h.Arm(0); !errors.Is(err, waits.ErrInUse) {
			t.Errorf("Arm returned %v, want ErrInUse", err)
		}
		h.fake.startError = nil
		h.arm(t, time.Second)
		if s := h.State(); s.Status != waits.Armed {
			t.Errorf("got %+v, want armed", s)
		}
		time.Sleep(2 * time.Second)
		if s := h.State(); s.Status != waits.Paused {
			t.Errorf("got %+v, want paused, since a slow request failed to arm the recorder", s)
		}
	})
}

// PERFLINE_PROFILING=off forbids recording.
func TestForbidden(t *testing.T) {
	t.Setenv("PERFLINE_PROFILING", "off")
	r := NewRecorder(Config{Armed: true})
	if err := r.Arm(0); !errors.Is(err, profiling.ErrNotAllowed) {
		t.Errorf("Arm returned %v, want ErrNotAllowed", err)
	}
	if s := r.State(); s.Status != waits.Forbidden || !strings.Contains(s.Reason, "PERFLINE_PROFILING") {
		t.Errorf("got %+v, want forbidden by the variable", s)
	}
	if err := r.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
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
