package flight

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/waits"
)

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
