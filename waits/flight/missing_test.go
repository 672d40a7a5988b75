package flight

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/internal/waiting"
)

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
		{"before a short trace", Config{}, &fake{unknown: root(1).SpanID, window: 9 * time.Second}, func(h *harness) {
			_ = h.Arm(0)
			h.Slow(root(2))
			time.Sleep(time.Second)
			h.Slow(root(1))
			time.Sleep(time.Minute)
		}, waiting.OverBytes},
		{"before the trace of a late snapshot", Config{MinAge: 10 * time.Second, MaxCPU: -1}, &fake{unknown: root(1).SpanID, window: 10 * time.Second, work: func(func()) { time.Sleep(10800 * time.Millisecond) }}, func(h *harness) {
			_ = h.Arm(0)
			h.Slow(root(2))
			time.Sleep(500 * time.Millisecond)
			h.Slow(root(1))
			time.Sleep(time.Minute)
		}, waiting.TooOld},
		{"failed snapshot", Config{}, &fake{writeError: errors.New("no trace")}, func(h *harness) { _ = h.Arm(0); h.Slow(root(1)); time.Sleep(time.Minute) }, waiting.Failed},
		{"failed analysis", Config{}, &fake{work: func(func()) { panic("off by one") }}, func(h *harness) { _ = h.Arm(0); h.Slow(root(1)); time.Sleep(time.Minute) }, waiting.Failed},
		{"rate limited", Config{MinInterval: time.Hour}, &fake{}, func(h *harness) { _ = h.Arm(0); h.Slow(root(2)); time.Sleep(time.Minute); h.Slow(root(1)) }, waiting.RateLimited},
		{"left the window", Config{MinAge: time.Second, MinInterval: -1}, &fake{work: func(func()) { time.Sleep(time.Minute) }}, func(h *harness) {
			_ = h.Arm(0)
			h.Slow(root(2))
			time.Sleep(time.Second)
			h.Slow(root(1))
			time.Sleep(10 * time.Second)
		}, waiting.Analysing},
		{"left the window without a budget", Config{MinAge: time.Second, MinInterval: -1}, &fake{work: func(pause func()) {
			for range 1400 { // of 3 s in a minute
				time.Sleep(time.Millisecond)
				pause()
			}
		}}, func(h *harness) {
			_ = h.Arm(0)
			for _, number := range []byte{2, 3, 1} {
				h.Slow(root(number))
				time.Sleep(10 * time.Second)
			}
		}, waiting.OverBudget},
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
		{"arms the recorder", Config{Auto: true}, &fake{}, func(h *harness) { h.Slow(root(1)) }, waiting.NotArmed},
		{"paused", Config{Auto: true}, &fake{}, func(h *harness) { h.Slow(root(2)); time.Sleep(2 * time.Minute); h.Slow(root(1)) },
			"the waits recorder paused until 00:06:00 UTC: flight.Config.Auto arms the recorder for a minute, and then not for 5 minutes"},
		{"arms the recorder again", Config{Auto: true}, &fake{}, func(h *harness) { h.Slow(root(2)); time.Sleep(7 * time.Minute); h.Slow(root(1)) }, waiting.NotArmed},
		{"cannot be armed", Config{Auto: true}, &fake{startError: errors.New("in use")}, func(h *harness) { h.Slow(root(2)); time.Sleep(time.Minute); h.Slow(root(1)) },
			"the waits recorder could not be armed, and tries again after 00:05:00 UTC: the log has the error"},
		{"disarmed before", Config{}, &fake{}, func(h *harness) { _ = h.Arm(time.Second); time.Sleep(time.Minute); h.Slow(root(1)) }, waiting.NotAnyMore},
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
