package flight

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
)

// Methods may be called concurrently, and each accepted request gets one answer: the harness counts
// them.
func TestConcurrentUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Config{MinInterval: -1, Requests: 10}, &fake{size: 10, unknown: trace.SpanID{2, 3}})
		var users sync.WaitGroup
		for user := range byte(4) {
			users.Go(func() {
				for i := range byte(200) {
					r := root(i)
					r.SpanID[2] = user
					h.Slow(r)
					h.State()
					h.Stats()
					h.Result(r.TraceID, r.SpanID)
					time.Sleep(time.Duration(user) * time.Millisecond)
				}
			})
		}
		users.Go(func() {
			for range 10 {
				if err := h.Arm(time.Hour); err != nil {
					t.Error(err)
				}
				time.Sleep(30 * time.Millisecond)
				h.Disarm()
			}
		})
		users.Wait()
		if err := h.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if s := h.Stats(); s.Slow != 800 || s.Analysed == 0 || s.Pending != 0 {
			t.Errorf("got %+v, want 800 requests, some of them analysed", s)
		}
	})
}

// Slow does not allocate, whatever its answer.
func TestSlowAllocations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Config{MinInterval: time.Hour, MinAge: time.Hour}, &fake{})
		number := uint16(0)
		slow := func() bool { // another request each time
			r := bridge.Root{SpanID: trace.SpanID{1, byte(number >> 8), byte(number)}, Name: "GET /"}
			number++
			return h.Slow(r)
		}
		if got := testing.AllocsPerRun(100, func() { slow() }); got > 0 {
			t.Errorf("Slow of a disarmed recorder allocates %v times", got)
		}
		h.arm(t, 0)
		synctest.Wait() // the recorder's goroutine allocates when it begins
		accepted, refused := true, true
		if got := testing.AllocsPerRun(50, func() { accepted = slow() && accepted }); got > 0 || !accepted {
			t.Errorf("Slow allocates %v times, and accepted all requests: %v", got, accepted)
		}
		for slow() { // until the queue is full
		}
		if got := testing.AllocsPerRun(50, func() { refused = !slow() && refused }); got > 0 || !refused {
			t.Errorf("Slow allocates %v times when its queue is full, and refused all requests: %v",
				got, refused)
		}
	})
}
