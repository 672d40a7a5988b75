package timeline_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/timelinetest/spantest"
)

// A receiver that ends the goroutine of a hand-over does not keep other receivers from what is theirs.
func TestReceiverEndsGoroutine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		tl := newManual()
		bad, good := spantest.New(rec(tl.Timeline)), spantest.New(rec(tl.Timeline))
		const slow = 200 * time.Millisecond
		bad.Before = func(*record.Finished) {
			time.Sleep(slow) // meanwhile, the timer finds nothing to hand over
			runtime.Goexit()
		}
		var arrived atomic.Int32
		good.Before = func(*record.Finished) { arrived.Add(1) }
		for range 2 {
			bad.NewRoot("lost").End()
			good.NewRoot("request").End()
		}
		for range 2 { // one for each part of bad
			go bad.HandOverEnded()
			time.Sleep(slow + 1)
		}
		time.Sleep(time.Second) // in whatever parts of the timeline the units wait
		settle()
		if n := arrived.Load(); n != 2 {
			t.Errorf("%d units arrived, want both", n)
		}
		if s := rec(tl.Timeline).UnitStats(); s.Waiting != 0 || s.WaitingBytes != 0 {
			t.Errorf("%d units wait with %d bytes", s.Waiting, s.WaitingBytes)
		}
	})
}
