package timeline_test

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

// The tests below run in a bubble whose clock jumps to the next timer as soon as
// every goroutine waits: no time passes but what they wait for.

func TestTimerCoalesces(t *testing.T) {
	bubble(t, func(t *testing.T) {
		start := time.Now()
		tl := observer.NewTimeline(observer.TimelineOptions{Interval: 5 * time.Millisecond})
		var calls []string
		if _, err := tl.Observe(func(l observer.List) {
			calls = append(calls, fmt.Sprintf("%v %v", time.Since(start), names(l.Entries())))
		}, marksOnly); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			add(tl, observer.Mark, fmt.Sprint(i))
			<-time.After(2 * time.Millisecond) // at 0, 2 and 4 ms
		}
		<-time.After(time.Hour)
		add(tl, observer.Mark, "later")
		<-time.After(time.Hour)
		settle()
		want(t, "PT-4 PT-8 callbacks", calls, "5ms [0 1 2]", "1h0m0.011s [later]")
	})
}

// A buffer that fills up is collected at once, not when the interval is over.
func TestTimerIsBroughtForward(t *testing.T) {
	bubble(t, func(t *testing.T) {
		start := time.Now()
		tl := observer.NewTimeline(observer.TimelineOptions{Interval: time.Hour, MaxPending: 1024})
		child := tl.NewChild()
		called := make(chan int, 100)
		if _, err := tl.Observe(func(l observer.List) { called <- len(l.Entries()) }, marksOnly); err != nil {
			t.Fatal(err)
		}
		for range 256 {
			if !rec(child).Record(record.Mark, "m", 0, 0, nil) {
				t.Fatal("an entry was lost")
			}
		}
		<-called
		if d := time.Since(start); d != 0 {
			t.Errorf("a buffer a quarter full was collected after %v, want at once", d)
		}
		<-time.After(2 * time.Hour)
	})
}

// Later observers get the entries that a callback records in the same round,
// earlier ones an interval later: an observer that feeds itself does not spin.
func TestTimerPacesWhatCallbacksRecord_PT5(t *testing.T) {
	bubble(t, func(t *testing.T) {
		start := time.Now()
		tl := observer.NewTimeline(observer.TimelineOptions{Interval: 5 * time.Millisecond})
		var calls []string
		for _, name := range []string{"A", "B"} {
			if _, err := tl.Observe(func(l observer.List) {
				calls = append(calls, fmt.Sprintf("%v %s %v", time.Since(start), name, names(l.Entries())))
				if name == "A" && len(calls) < 5 {
					add(tl, observer.Mark, fmt.Sprint(len(calls)))
				}
			}, marksOnly); err != nil {
				t.Fatal(err)
			}
		}
		add(tl, observer.Mark, "0")
		<-time.After(time.Hour)
		settle()
		want(t, "callbacks", calls, "5ms A [0]", "5ms B [0 1]", "10ms A [1]", "10ms B [3]", "15ms A [3]")
	})
}

// A callback that takes longer than the interval is called again as soon as it
// has returned, if the timer found more for it meanwhile.
func TestTimerAfterASlowCallback(t *testing.T) {
	bubble(t, func(t *testing.T) {
		start := time.Now()
		tl := observer.NewTimeline(observer.TimelineOptions{Interval: 5 * time.Millisecond})
		var calls []string
		if _, err := tl.Observe(func(l observer.List) {
			calls = append(calls, fmt.Sprintf("%v %v", time.Since(start), names(l.Entries())))
			<-time.After(12 * time.Millisecond)
		}, marksOnly); err != nil {
			t.Fatal(err)
		}
		add(tl, observer.Mark, "0")
		<-time.After(6 * time.Millisecond)
		add(tl, observer.Mark, "1")
		<-time.After(time.Hour)
		settle()
		want(t, "callbacks", calls, "5ms [0]", "17ms [1]")
	})
}

// Deliver waits for a callback that is running.
func TestDeliverWaitsForARunningCallback(t *testing.T) {
	bubble(t, func(t *testing.T) {
		tl := observer.NewTimeline(observer.TimelineOptions{Interval: 10 * time.Microsecond})
		entered, leave, delivered := make(chan struct{}), make(chan struct{}), make(chan struct{})
		if _, err := tl.Observe(func(observer.List) {
			close(entered)
			<-leave
		}, marksOnly); err != nil {
			t.Fatal(err)
		}
		add(tl, observer.Mark, "m")
		<-entered
		go func() {
			defer close(delivered)
			tl.Deliver()
		}()
		settle()
		select {
		case <-delivered:
			t.Error("Deliver returned while the callback ran")
		default:
		}
		close(leave)
		<-delivered
	})
}

// Callbacks of one timeline never overlap, and a slow one gets what gathered
// meanwhile in one batch.
func TestTimerCallbacksOneAtATime(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{Interval: 10 * time.Microsecond})
	callbacksNow := 0
	var batches []int
	entered, leave := make(chan struct{}, 2), make(chan struct{})
	if _, err := tl.Observe(func(observer.List) { entered <- struct{}{}; <-leave }, marksOnly); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := tl.Observe(func(l observer.List) {
			callbacksNow++ // a race, too, if callbacks overlapped
			if callbacksNow != 1 {
				t.Errorf("%d callbacks run at once", callbacksNow)
			}
			callbacksNow--
			batches = append(batches, len(l.Entries()))
		}, both); err != nil {
			t.Fatal(err)
		}
	}
	add(tl, observer.Measure, "alone")
	tl.Deliver()
	add(tl, observer.Mark, "m")
	<-entered // the first observer's callback hangs; the others wait behind it
	for range 500 {
		add(tl, observer.Measure, "m")
		rec(tl).Flush()
	}
	close(leave)
	tl.Deliver()
	total := 0
	for _, n := range batches {
		total += n
	}
	if total != 2*502 || len(batches) > 8 {
		t.Errorf("PT-5: %d entries came in the batches %v, want 1004 in few", total, batches)
	}
	if s := tl.Stats().Total(); s.Recorded != 502 || s.Delivered != 1004+1 {
		t.Errorf("stats are %+v, want 502 recorded, and delivered twice and one once more", s)
	}
}

func TestTimelinesRunNothingWhileIdle(t *testing.T) {
	own := func() int { // the runtime's, which run cleanups of other tests, come and go
		stacks := make([]byte, 1<<20)
		return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("created by github.com/perfline/perfline/observer."))
	}
	before := own()
	for range 100 {
		tl := observer.NewTimeline(observer.TimelineOptions{})
		watch(t, tl, marksOnly)
		tl.NewChild().Entries()
		tl.Stats()
	}
	if n := own(); n > before {
		t.Errorf("%d goroutines more after 100 timelines were made", n-before)
	}
}
