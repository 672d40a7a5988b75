package queue_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/internal/queue"
)

// Flush neither waits for a batch to fill nor for a pause to end.
func TestFlushAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config{Delay: time.Hour, BatchCount: 3}, away)
		s.add("ab")
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		s.set(fine)
		began := time.Now()
		for range 2 {
			s.add("cd")
			if err := s.Flush(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("Flush waited %v for a receiver that answers", waited)
		}
		// It does not shorten pauses to come.
		s.set(away)
		s.add("xyz")
		synctest.Wait()
		n := s.requests()
		time.Sleep(minPause/2 - 1)
		synctest.Wait()
		if s.requests() != n {
			t.Error("sent again before the pause was over")
		}
		s.set(fine)
		s.stop()
	})
}

// A flush during an attempt that fails is followed by another attempt at once, or after 3 s if the receiver asks for time.
func TestFlushDuringAnAttempt(t *testing.T) {
	for after, want := range map[time.Duration]time.Duration{0: 0, time.Minute: maxPause} {
		testFlushDuringAnAttempt(t, after, want)
	}
}

func testFlushDuringAnAttempt(t *testing.T, after, want time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan queue.Answer)
		s := start(t, config{}, func(context.Context, []item) queue.Answer { return <-release })
		s.add("a")
		synctest.Wait()
		flushed := make(chan error)
		go func() { flushed <- s.Flush(t.Context()) }()
		synctest.Wait()
		s.set(fine)
		began := time.Now()
		release <- queue.Answer{Err: errors.New("429"), Retry: true, After: after}
		if err := <-flushed; err != nil || time.Since(began) != want {
			t.Errorf("error %v after %v, want none after %v", err, time.Since(began), want)
		}
		s.stop()
	})
}

// Flush does not wait for what comes after it.
func TestFlushOfWhatWasThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := start(t, config{BatchCount: 1}, func(context.Context, []item) queue.Answer {
			<-release
			return queue.Answer{}
		})
		s.add("a")
		flushed := make(chan error)
		go func() { flushed <- s.Flush(t.Context()) }()
		synctest.Wait()
		s.add("bc")
		release <- struct{}{}
		if err := <-flushed; err != nil {
			t.Error(err)
		}
		s.wantStats(queue.Stats{Accepted: 3, Delivered: 1, Pending: 2, PendingBytes: 2})
		close(release)
		s.stop()
	})
}

// Each flush says what of its own items was lost.
func TestFlushesCountTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan queue.Answer)
		s := start(t, config{BatchCount: 4, MaxCount: 100, Delay: time.Hour}, func(context.Context, []item) queue.Answer { return <-release })
		s.add("abcd")
		synctest.Wait()
		s.add("e")
		var errs [2]error
		var flushes sync.WaitGroup
		for i := range errs {
			flushes.Go(func() { errs[i] = s.Flush(t.Context()) })
			synctest.Wait()
			s.add("fg")
		}
		release <- queue.Answer{}                            // abcd
		release <- queue.Answer{Err: errors.New("refused")}  // efgf: e is of both, f and g of the second
		release <- queue.Answer{Rejected: 9, Message: "old"} // g of neither
		synctest.Wait()                                      // until the queue has counted it: a Shutdown before that tells it
		flushes.Wait()
		wantError(t, errs[0], "1 letters not delivered to http://receiver: refused")
		wantError(t, errs[1], "3 letters not delivered to http://receiver: refused")
		s.stop()
		s.wantStats(queue.Stats{Accepted: 9, Delivered: 4, Failed: 5})
	})
}

// A flush is over when its items were dropped, and returns the number.
func TestFlushOfDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config{MaxBytes: 4, BatchCount: 1, DropOldest: true}, away)
		s.add("ab")
		synctest.Wait()
		flushed := make(chan error)
		go func() { flushed <- s.Flush(t.Context()) }()
		synctest.Wait()
		began := time.Now()
		s.add("cdefgh")
		if wantError(t, <-flushed, "2 letters not delivered to http://receiver: the queue is full"); time.Since(began) != 0 {
			t.Errorf("it took %v", time.Since(began))
		}
		s.set(fine)
		s.stop()
	})
}

// Flush ends with its context. The items go on waiting.
func TestFlushEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config{}, away)
		if err := s.Flush(t.Context()); err != nil {
			t.Errorf("nothing waits: %v", err)
		}
		s.add("a")
		ctx, cancel := context.WithTimeoutCause(t.Context(), minPause/4, errors.New("enough"))
		defer cancel()
		wantError(t, s.Flush(ctx), "1 letters still wait for http://receiver: enough")
		s.set(fine)
		s.stop()
		if got := s.Stats(); got.Delivered != 1 {
			t.Errorf("books are %+v", got)
		}
	})
}

// Flush gives up when attempts fail so often in a row. Those before it do not count.
func TestFlushGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config{GiveUp: 3, BatchCount: 1}, away)
		s.add("a")
		time.Sleep(time.Hour)
		n := s.requests()
		wantError(t, s.Flush(t.Context()), "1 letters still wait for http://receiver after 3 failed attempts: connection refused")
		if got := s.requests() - n; got != 3 {
			t.Errorf("%d attempts", got)
		}
		tries := 0
		s.set(func(context.Context, []item) queue.Answer { // every other attempt fails: it goes on
			if tries++; tries%2 == 0 {
				return queue.Answer{}
			}
			return queue.Answer{Err: errors.New("503"), Retry: true}
		})
		s.add("bcdef")
		if err := s.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		s.set(func(ctx context.Context, batch []item) queue.Answer {
			time.Sleep(time.Millisecond) // passes when Flush waits
			return refuse(ctx, batch)
		})
		s.add("ghi") // settled by the third failure: nothing is left to give up
		wantError(t, s.Flush(t.Context()), "3 letters not delivered to http://receiver: 401 Unauthorized")
		s.stop()
	})
}

// Shutdown delivers the waiting items without delay or pause. Later items are dropped.
func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config{Delay: time.Hour, BatchCount: 2}, away)
		s.add("abc")
		time.Sleep(time.Minute)
		synctest.Wait()
		s.set(fine)
		began := time.Now()
		for range 2 {
			s.stop()
			s.add("late")
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("it took %v", took)
		}
		if err := s.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		got := s.Stats()
		s.wantStats(queue.Stats{Accepted: 11, Delivered: 3, Dropped: 8, Retries: got.Retries})
		s.log.want(t, "not delivered", "delivered again")
	})
}

// Shutdown of a queue that never had anything to do ends at once, even with a context that is over.
func TestShutdownOfNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := start(t, config{Delay: time.Hour}, fine)
	if err := s.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// Shutdown gives up with its context or after some attempts. The items stay pending, unless the receiver may have them.
func TestShutdownGivesUp(t *testing.T) {
	over := "the context of Shutdown: context deadline exceeded"
	for _, c := range []struct {
		name   string
		giveUp int
		answer func(context.Context, []item) queue.Answer
		took   time.Duration
		want   queue.Stats
		err    string
	}{
		{"hanging", 0, hang, 5 * time.Second, queue.Stats{Pending: 4}, "4 letters not delivered to http://receiver: " + over},
		{"hanging, with any error", 0, func(ctx context.Context, _ []item) queue.Answer {
			<-ctx.Done()
			return queue.Answer{Err: ctx.Err()}
		}, 5 * time.Second, queue.Stats{Pending: 4}, "4 letters not delivered to http://receiver: " + over},
		{"hanging with the request sent", 0, func(ctx context.Context, _ []item) queue.Answer {
			<-ctx.Done()
			return queue.Answer{Err: context.Cause(ctx), Unanswered: true}
		}, 5 * time.Second, queue.Stats{Failed: 1, Unanswered: 1, Pending: 3}, "4 letters not delivered to http://receiver: " + over},
		{"hanging with the request sent, as OTLP's sender answers", 0, func(ctx context.Context, _ []item) queue.Answer {
			<-ctx.Done()
			return queue.Answer{Err: context.Cause(ctx), Retry: true, Unanswered: true}
		}, 5 * time.Second, queue.Stats{Failed: 1, Unanswered: 1, Pending: 3}, "4 letters not delivered to http://receiver: " + over},
		{"silent, and away afterwards", 0, silentOnce(queue.Answer{Err: errors.New("connection refused"), Retry: true}), 5 * time.Second,
			queue.Stats{Failed: 1, Unanswered: 1, Pending: 3}, "4 letters not delivered to http://receiver: " + over},
		{"silent, and asking for an hour afterwards", 0, silentOnce(queue.Answer{Err: errors.New("429"), Retry: true, After: time.Hour}), 5 * time.Second,
			queue.Stats{Failed: 1, Unanswered: 1, Pending: 3}, "4 letters not delivered to http://receiver: " + over},
		{"silent, with items set aside", 0, always(queue.Answer{Err: errors.New("no answer"), Retry: true, Unanswered: true, Defer: true}), 5 * time.Second,
			queue.Stats{Failed: 4, Unanswered: 4}, "4 letters not delivered to http://receiver: " + over},
		{"taking it at last", 0, func(ctx context.Context, _ []item) queue.Answer {
			<-ctx.Done()
			return queue.Answer{}
		}, 5 * time.Second, queue.Stats{Delivered: 1, Pending: 3}, "3 letters not delivered to http://receiver: " + over},
		{"away", 0, away, 5 * time.Second, queue.Stats{Pending: 4}, "4 letters not delivered to http://receiver: " + over},
		{"away, three times", 3, away, 750 * time.Millisecond, queue.Stats{Pending: 4}, "4 letters not delivered to http://receiver: connection refused"},
		{"asking for an hour", 3, always(queue.Answer{Err: errors.New("429"), Retry: true, After: time.Hour}), 5 * time.Second, queue.Stats{Pending: 4}, "4 letters not delivered to http://receiver: " + over},
		{"refusing", 3, refuse, 0, queue.Stats{Failed: 3, Pending: 1}, "4 letters not delivered to http://receiver: 401 Unauthorized"},
		{"refusing, as long as there is something", 0, refuse, 0, queue.Stats{Failed: 4}, "4 letters not delivered to http://receiver: 401 Unauthorized"},
		{"silent", 3, silence, 0, queue.Stats{Failed: 3, Unanswered: 3, Pending: 1}, "4 letters not delivered to http://receiver: no answer"},
		{"ignoring its context", 0, func(context.Context, []item) queue.Answer {
			time.Sleep(time.Minute)
			return queue.Answer{}
		}, 5250 * time.Millisecond, queue.Stats{Failed: 1, Unanswered: 1, Pending: 3}, "4 letters not delivered to http://receiver: " + over},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := start(t, config{GiveUp: c.giveUp, BatchCount: 1, Delay: time.Hour, MaxCount: 4}, away)
				s.add("abcd")
				time.Sleep(time.Minute)
				s.set(c.answer)
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				began := time.Now()
				var calls sync.WaitGroup
				for _, ctx := range []context.Context{ctx, context.Background(), ctx} {
					calls.Go(func() { wantError(t, s.Shutdown(ctx), c.err) })
					if c.took > 0 {
						synctest.Wait() // the context of the first call counts
					}
				}
				calls.Wait()
				if took := time.Since(began); took > c.took || c.took >= 5*time.Second && took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
				for range 2 {
					got := s.Stats()
					c.want.Accepted, c.want.PendingBytes, c.want.Retries = 4, int(c.want.Pending), got.Retries
					s.wantStats(c.want)
					time.Sleep(time.Hour) // nothing changes any more
				}
				if err := s.Flush(t.Context()); err == nil {
					t.Error("Flush says nothing of what was given up")
				}
			})
		})
	}
}

// A later caller of Shutdown has the time of its own context, and ends nothing.
func TestShutdownOfAHastyCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config{}, func(ctx context.Context, _ []item) queue.Answer {
			select {
			case <-ctx.Done():
				return queue.Answer{Err: ctx.Err()}
			case <-time.After(10 * time.Second):
				return queue.Answer{}
			}
		})
		s.add("ab")
		var patient sync.WaitGroup
		patient.Go(s.stop)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		wantError(t, s.Shutdown(ctx), "2 letters still wait for http://receiver: context deadline exceeded")
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the second caller waited %v, one second longer than its context at most", took)
		}
		patient.Wait()
		s.want(t, "ab")
	})
}

// silentOnce does not answer the first attempt, and answers a to the others.
func silentOnce(a queue.Answer) func(context.Context, []item) queue.Answer {
	attempts := 0
	return func(context.Context, []item) queue.Answer {
		if attempts++; attempts == 1 {
			return queue.Answer{Err: errors.New("no answer"), Retry: true, Unanswered: true}
		}
		return a
	}
}

// Neither Flush nor Shutdown wait as long as a receiver asks: their contexts would end before. They do not end the pause, either.
func TestReceiverThatAsksForTime(t *testing.T) {
	for name, call := range map[string]func(*setUp) error{
		"flush":    func(s *setUp) error { return s.Flush(s.t.Context()) },
		"shutdown": func(s *setUp) error { return s.Shutdown(s.t.Context()) },
	} {
		t.Run(name, func(t *testing.T) { testAsksForTime(t, call) })
	}
}

func testAsksForTime(t *testing.T, call func(*setUp) error) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		s := start(t, config{}, func(context.Context, []item) queue.Answer {
			if n++; n < 3 {
				return queue.Answer{Err: errors.New("429"), Retry: true, After: time.Hour}
			}
			return queue.Answer{}
		})
		s.add("a")
		time.Sleep(time.Minute)
		began := time.Now()
		if err := call(s); err != nil || time.Since(began) != 2*maxPause {
			t.Errorf("error %v after %v", err, time.Since(began))
		}
		s.stop()
	})
}

// Flushes in a row shorten a pause once. One that ends soon is not made longer.
func TestFlushesShortenAPauseOnce(t *testing.T) {
	for after, want := range map[time.Duration]time.Duration{time.Minute: time.Second + maxPause, 2 * time.Second: 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s := start(t, config{}, always(queue.Answer{Err: errors.New("429"), Retry: true, After: after}))
			s.add("a")
			synctest.Wait()
			s.set(fine)
			time.Sleep(time.Second)
			for s.Stats().Pending > 0 {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				_ = s.Flush(ctx)
				cancel()
			}
			if got := s.when(1).Sub(s.when(0)); got < want || got > want+jitter(2*time.Second) {
				t.Errorf("asked for %v, sent again after %v, want %v", after, got, want)
			}
			s.stop()
		})
	}
}

// Flushes during the pauses of a receiver that throttles leave the queue's own pauses long.
func TestFlushKeepsPausesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config{}, away)
		s.add("a")
		time.Sleep(time.Minute) // the pauses are long now
		s.set(always(queue.Answer{Err: errors.New("429"), Retry: true, After: time.Minute}))
		time.Sleep(maxPause)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_ = s.Flush(ctx)
		s.set(away)
		time.Sleep(maxPause)
		n := s.requests() - 1
		s.set(fine)
		time.Sleep(maxPause)
		if got := s.when(n + 1).Sub(s.when(n)); got < maxPause/2 {
			t.Errorf("the pause after a flush is %v, want %v or more", got, maxPause/2)
		}
		s.stop()
	})
}

// A flush that Shutdown overtakes ends.
func TestFlushDuringShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config{GiveUp: 3}, away)
		s.add("a")
		flushed := make(chan error)
		go func() { flushed <- s.Flush(context.Background()) }()
		synctest.Wait()
		go func() { _ = s.Shutdown(context.Background()) }()
		wantError(t, <-flushed, "1 letters still wait for http://receiver: the queue is shut down")
		synctest.Wait()
	})
}

// Everything may be called from everywhere.
func TestConcurrently(t *testing.T) {
	var n int
	s := start(t, config{MaxCount: 1000, BatchCount: 50, Delay: time.Microsecond}, func(context.Context, []item) queue.Answer {
		n++
		switch n % 7 {
		case 1:
			return queue.Answer{Err: errors.New("503"), Retry: true}
		case 3:
			return queue.Answer{Err: errors.New("400")}
		case 5:
			return queue.Answer{Rejected: 5, Message: "old"}
		}
		return queue.Answer{}
	})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 2000 {
				s.add("a")
				if i%100 == 0 {
					_ = s.Flush(t.Context())
				}
				balance(t, s.Stats())
			}
		})
	}
	all.Wait()
	for range 4 {
		all.Go(func() { _ = s.Shutdown(t.Context()) })
		all.Go(func() { s.add("b") })
	}
	all.Wait()
	got := s.Stats()
	if balance(t, got); got.Pending != 0 || got.Accepted != 8004 || strings.Count(strings.Join(s.got, ""), "a") == 0 {
		t.Errorf("books are %+v", got)
	}
}

// Items that Shutdown gives up are not released: a Sender that ignores its context still reads them. New items that
// are dropped are released.
func TestGivenUpItemsAreNotReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var released string
		proceed := make(chan struct{})
		s := start(t, config{
			MaxCount:   4,
			BatchCount: 2,
			Release:    func(i item) { released += i.name },
		}, func(context.Context, []item) queue.Answer {
			<-proceed
			return queue.Answer{}
		})
		s.add("abcdef") // two are sent, two wait, two find the queue full
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Shutdown(ctx); err == nil {
			t.Error("Shutdown returned no error")
		}
		s.add("g")
		close(proceed)
		synctest.Wait()
		if released != "efg" {
			t.Errorf("%q were released, want efg", released)
		}
	})
}
