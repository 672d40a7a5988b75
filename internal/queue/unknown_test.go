package queue_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/internal/queue"
)

const pause = 10 * time.Minute

var unknown = always(queue.Answer{Err: errors.New("404 Not Found"), Unknown: true})

// slow answers a second later.
func slow(answer func(context.Context, []item) queue.Answer) func(context.Context, []item) queue.Answer {
	return func(ctx context.Context, batch []item) queue.Answer {
		time.Sleep(time.Second)
		return answer(ctx, batch)
	}
}

// A receiver that does not know the items is left alone for a while. The items that wait fail, and others are dropped, until an
// item after the pause is tried. The log has one line about it, and one when delivery works.
func TestUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config{BatchCount: 2, Delay: time.Second, UnknownPause: pause}, slow(unknown))
		s.add("abcde") // ab are sent, and the others wait
		time.Sleep(time.Second)
		synctest.Wait()
		s.wantStats(queue.Stats{Accepted: 5, Failed: 5})
		wantError(t, s.Reason(), "404 Not Found")
		s.add("fg")
		time.Sleep(pause - time.Second)
		s.add("h") // a second before the end
		s.wantStats(queue.Stats{Accepted: 8, Failed: 5, Dropped: 3})
		wantError(t, s.Reason(), "404 Not Found")
		time.Sleep(time.Second)
		s.add("i")
		s.wantStats(queue.Stats{Accepted: 9, Failed: 5, Dropped: 3, Pending: 1, PendingBytes: 1})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		s.wantStats(queue.Stats{Accepted: 9, Failed: 6, Dropped: 3})
		s.add("j")
		s.set(fine)
		time.Sleep(pause)
		s.want(t, "ab i")
		s.add("k")
		time.Sleep(time.Second)
		synctest.Wait()
		s.wantStats(queue.Stats{Accepted: 11, Failed: 6, Dropped: 4, Delivered: 1})
		s.add("lm") // without a pause
		s.stop()
		s.want(t, "k lm")
		s.wantStats(queue.Stats{Accepted: 13, Failed: 6, Dropped: 4, Delivered: 3})
		s.log.want(t,
			"the receiver does not know letters; they are dropped and counted, and tried again now and then without a further line\" to=http://receiver pause=10m0s error=\"404 Not Found\"",
			"delivered again\" to=http://receiver lost=10")
	})
}

// Items that were set aside fail with the others.
func TestUnknownAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := start(t, config{BatchCount: 3, UnknownPause: pause}, func(_ context.Context, batch []item) queue.Answer {
			if batch[0].name == "z" {
				<-release
				return queue.Answer{}
			}
			return queue.Answer{Err: errors.New("no answer"), Retry: true, Defer: true, Unanswered: true}
		})
		s.add("z")
		synctest.Wait()
		s.add("abc") // one batch, because the sender is busy
		close(release)
		synctest.Wait() // its next attempt is later
		s.set(unknown)
		s.add("d")
		time.Sleep(time.Second)
		s.stop()
		s.wantStats(queue.Stats{Accepted: 5, Delivered: 1, Failed: 4, Unanswered: 3})
	})
}

// Flush and Shutdown do not wait for the pause. They return what was lost of the items that they wait for.
func TestFlushWhenUnknown(t *testing.T) {
	for name, call := range map[string]func(*setUp) error{
		"Flush":    func(s *setUp) error { return s.Flush(s.t.Context()) },
		"Shutdown": func(s *setUp) error { return s.Shutdown(s.t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := start(t, config{BatchCount: 2, Delay: time.Hour, UnknownPause: pause}, slow(unknown))
				s.add("abc")
				began := time.Now()
				wantError(t, call(s), "3 letters not delivered to http://receiver: 404 Not Found")
				if took := time.Since(began); took != time.Second {
					t.Errorf("it took %v, want the time of one attempt", took)
				}
				_ = s.Shutdown(t.Context())
				s.want(t, "ab")
			})
			synctest.Test(t, func(t *testing.T) {
				s := start(t, config{BatchCount: 1, Delay: time.Hour, UnknownPause: pause}, unknown)
				s.add("a")
				synctest.Wait()
				s.add("b")
				began := time.Now()
				wantError(t, call(s), "<nil>")
				if took := time.Since(began); took != 0 {
					t.Errorf("in the pause, it took %v", took)
				}
				_ = s.Shutdown(t.Context())
				s.wantStats(queue.Stats{Accepted: 2, Failed: 1, Dropped: 1})
			})
		})
	}
}

// Without an UnknownPause, such an answer is a refusal: the items of the batch fail, and the next one is tried at once.
func TestUnknownWithoutAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config{BatchCount: 2, Delay: time.Hour}, slow(unknown))
		s.add("abc")
		time.Sleep(time.Second)
		synctest.Wait()
		s.set(fine)
		s.add("d")
		s.stop()
		s.want(t, "ab cd")
		s.wantStats(queue.Stats{Accepted: 4, Failed: 2, Delivered: 2})
		s.log.want(t, "letters are refused", "lost=2")
	})
}

// The cause is in the log, also if a line about another one came first: the receiver was away, and comes without the signal.
func TestUnknownAfterAnotherFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config{BatchCount: 1, UnknownPause: pause}, away)
		s.add("a")
		time.Sleep(time.Minute)
		s.set(unknown)
		time.Sleep(time.Minute)
		for _, answer := range []func(context.Context, []item) queue.Answer{refuse, unknown, fine} { // no line more but the last one
			s.set(answer)
			time.Sleep(pause)
			s.add("b")
			synctest.Wait()
		}
		for _, answer := range []func(context.Context, []item) queue.Answer{refuse, unknown} {
			s.set(answer)
			s.add("c")
			synctest.Wait()
		}
		s.stop()
		s.log.want(t, "not delivered", "does not know", "delivered again\" to=http://receiver lost=3", "refused", "does not know")
	})
}

// The item after a pause waits for a batch to fill as long as any other.
func TestDelayAfterUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay = time.Hour
		s := start(t, config{BatchCount: 2, Delay: delay, UnknownPause: pause}, slow(unknown))
		s.add("abc")
		time.Sleep(2 * pause)
		s.set(fine)
		s.add("d")
		added := time.Now()
		time.Sleep(delay)
		synctest.Wait()
		if took := s.when(1).Sub(added); took != delay {
			t.Errorf("it was sent after %v, want %v", took, delay)
		}
		s.stop()
	})
}
