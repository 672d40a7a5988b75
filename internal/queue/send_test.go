package queue_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/internal/queue"
)

const (
	minPause = 300 * time.Millisecond
	maxPause = 3 * time.Second
)

// While the receiver is away, attempts come after pauses that grow to 3 s. When it is back, what waits is delivered in order.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config{BatchCount: 2}, away)
		s.add("a")
		time.Sleep(time.Minute)
		s.mu.Lock()
		pause := minPause
		for i := 1; i < len(s.at); i++ {
			if got := s.at[i].Sub(s.at[i-1]); got < pause/2 || got > pause {
				t.Errorf("attempt %d comes after %v, want between %v and %v", i, got, pause/2, pause)
			}
			pause = min(pause*3/2, maxPause)
		}
		n := len(s.at)
		s.mu.Unlock()
		if pause != maxPause {
			t.Errorf("%d attempts in a minute", n)
		}
		s.add("bcd")
		s.set(fine)
		time.Sleep(maxPause)
		s.want(t, strings.Repeat("a ", n)+"a bc d")
		s.wantStats(queue.Stats{Accepted: 4, Delivered: 4, Retries: uint64(n)})

		// The next time the pauses begin anew.
		s.set(away)
		s.add("e")
		time.Sleep(minPause)
		s.set(fine)
		time.Sleep(2 * minPause)
		if got := s.Stats(); got.Delivered != 5 {
			t.Errorf("books are %+v", got)
		}
		s.stop()
		s.log.want(t, "not delivered", "delivered again", "not delivered", "delivered again")
	})
}

// Programs that lost their receiver together, or were throttled together, do not come back together.
func TestPausesDiffer(t *testing.T) {
	for _, after := range []time.Duration{0, time.Minute, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			seen := map[time.Duration]bool{}
			for range 8 {
				s := start(t, config{}, always(queue.Answer{Err: errors.New("503"), Retry: true, After: after}))
				s.add("a")
				time.Sleep(max(minPause, min(after, 5*time.Minute)+jitter(5*time.Minute)))
				seen[s.when(1).Sub(s.when(0))] = true
				s.set(fine)
				s.stop()
			}
			if len(seen) < 2 {
				t.Errorf("asked for %v, 8 queues all waited %v", after, seen)
			}
		})
	}
}

// jitter is the most that is added to a pause that the receiver asks for.
func jitter(pause time.Duration) time.Duration { return pause / 10 }

// The pause that a receiver asks for is kept, up to 5 minutes, and is no shorter than the queue's own.
func TestAfter(t *testing.T) {
	for _, c := range []struct{ after, least, most time.Duration }{
		{2 * time.Minute, 2 * time.Minute, 2*time.Minute + jitter(2*time.Minute)},
		{time.Hour, 5 * time.Minute, 5*time.Minute + jitter(5*time.Minute)},
		{math.MaxInt64, 5 * time.Minute, 5*time.Minute + jitter(5*time.Minute)},
		{1, minPause / 2, minPause},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := start(t, config{}, always(queue.Answer{Err: errors.New("429"), Retry: true, After: c.after}))
			began := time.Now()
			s.add("a")
			synctest.Wait()
			s.set(fine)
			time.Sleep(time.Hour)
			if got := s.when(1).Sub(began); got < c.least || got > c.most {
				t.Errorf("asked for %v, sent again after %v, want between %v and %v", c.after, got, c.least, c.most)
			}
			s.stop()
		})
	}
}

// A receiver that asks for nearly no time does not make the queue spin.
func TestAfterNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config{Timeout: 30 * time.Second}, func(context.Context, []item) queue.Answer {
			time.Sleep(time.Millisecond) // on the way
			return queue.Answer{Err: errors.New("429"), Retry: true, After: 1}
		})
		s.add("a")
		time.Sleep(31 * time.Second) // an attempt may begin a moment before the end of Timeout
		if n := s.requests(); n > 40 {
			t.Errorf("%d attempts in 30 s", n)
		}
		s.stop()
	})
}

// A batch is given up when its time is over. The receiver's pause lasts for the next one, too.
func TestTimeout(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer func(context.Context, []item) queue.Answer
		tries  int // 0: several
		took   time.Duration
	}{
		{"hanging", hang, 1, 10 * time.Second},
		{"away", away, 0, 10 * time.Second},
		{"asking for more time", always(queue.Answer{Err: errors.New("429"), Retry: true, After: 10 * time.Second}), 1, 0},
		{"asking for less time", always(queue.Answer{Err: errors.New("429"), Retry: true, After: 6 * time.Second}), 2, 6 * time.Second}, // and a little by chance
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := start(t, config{Timeout: 10 * time.Second, Delay: time.Second, BatchCount: 2}, c.answer)
				began := time.Now()
				s.add("ab")
				for s.Stats().Failed == 0 {
					time.Sleep(time.Millisecond)
					synctest.Wait()
				}
				if took := time.Since(began); took > c.took+jitter(c.took)+time.Millisecond || c.tries > 0 && took < c.took {
					t.Errorf("given up after %v, want %v", took, c.took)
				}
				if n := s.requests(); n != c.tries && c.tries > 0 || n < 1 {
					t.Errorf("%d attempts, want %d", n, c.tries)
				}
				gaveUp, n := time.Now(), s.requests()
				s.wantStats(queue.Stats{Accepted: 2, Failed: 2, Retries: uint64(n - 1)})
				s.set(fine)
				s.add("cd")
				time.Sleep(time.Minute)
				if got := s.when(n).Sub(gaveUp); c.tries == 1 && c.took == 0 && got < 9*time.Second {
					t.Errorf("the next batch is sent after %v", got)
				}
				s.stop()
				s.log.want(t, "not delivered", "delivered again\" to=http://receiver lost=2")
			})
		})
	}
}

// Every answer has its effect on the books and on the log.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer func(context.Context, []item) queue.Answer
		want   queue.Stats
		flush  string
		log    []string
	}{
		{"taken", fine, queue.Stats{Accepted: 4, Delivered: 4}, "<nil>", nil},
		{"refused", refuse, queue.Stats{Accepted: 4, Failed: 3, Delivered: 1}, "3 letters not delivered to http://receiver: 401 Unauthorized",
			[]string{"letters are refused and dropped; requests are not affected, the error names the cause\" to=http://receiver error=\"401 Unauthorized\"", "lost=3"}},
		{"unanswered", silence, queue.Stats{Accepted: 4, Failed: 3, Unanswered: 3, Delivered: 1}, "3 letters not delivered to http://receiver: no answer",
			[]string{"letters are not delivered", "lost=3"}},
		{"in part", always(queue.Answer{Rejected: 2, Message: "too old"}), queue.Stats{Accepted: 4, Failed: 2, Delivered: 2}, "2 letters not delivered to http://receiver: too old",
			[]string{"the receiver turned down some letters; more of them for the same reason are only counted\" to=http://receiver lost=2 reason=\"too old\""}},
		{"in part, without a reason", always(queue.Answer{Rejected: 1}), queue.Stats{Accepted: 4, Failed: 1, Delivered: 3}, "1 letters not delivered to http://receiver: the receiver gave no reason",
			[]string{"lost=1 reason=\"the receiver gave no reason\""}},
		{"more than there was", always(queue.Answer{Rejected: 1 << 62, Message: "no"}), queue.Stats{Accepted: 4, Failed: 3, Delivered: 1}, "3 letters not delivered to http://receiver: no",
			[]string{"lost=3"}},
		{"less than none", always(queue.Answer{Rejected: -5}), queue.Stats{Accepted: 4, Delivered: 4}, "<nil>", nil},
		{"with a warning", always(queue.Answer{Message: "deprecated"}), queue.Stats{Accepted: 4, Delivered: 4}, "<nil>",
			[]string{"the receiver of letters warns\" to=http://receiver warning=deprecated"}},
		{"with a long warning", always(queue.Answer{Message: strings.Repeat("x", 1<<20)}), queue.Stats{Accepted: 4, Delivered: 4}, "<nil>",
			[]string{"warning=" + strings.Repeat("x", 1000)}},
		{"a panic", func(context.Context, []item) queue.Answer { panic("oops") }, queue.Stats{Accepted: 4, Failed: 3, Unanswered: 3, Delivered: 1}, "3 letters not delivered to http://receiver: panic: oops",
			[]string{"letters are not delivered", "lost=3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := start(t, config{BatchCount: 4, Delay: time.Second}, c.answer)
				s.add("abc")
				wantError(t, s.Flush(t.Context()), c.flush)
				if why := s.Reason(); (why == nil) != (c.flush == "<nil>") || why != nil && !strings.HasSuffix(c.flush, why.Error()) {
					t.Errorf("the reason is %v", why)
				}
				s.set(fine)
				s.add("d")
				s.stop()
				s.want(t, "abc d")
				s.wantStats(c.want)
				s.log.want(t, c.log...)
				if s.log.buf.Len() > 2000 {
					t.Errorf("a log of %d bytes", s.log.buf.Len())
				}
			})
		})
	}
}

// The receiver may have taken a batch at an attempt that it did not answer, whatever it says to the next ones. That is of this
// batch alone, and lasts while an item is set aside.
func TestUnansweredAttempt(t *testing.T) {
	for _, aside := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			attempt := 0
			s := start(t, config{BatchCount: 3, Delay: time.Hour}, func(context.Context, []item) queue.Answer {
				if attempt++; attempt == 1 {
					return queue.Answer{Err: errors.New("no answer"), Unanswered: true, Retry: true, Defer: aside}
				}
				return queue.Answer{Err: errors.New("401 Unauthorized")}
			})
			s.add("a")
			wantError(t, s.Flush(t.Context()), "1 letters not delivered to http://receiver: 401 Unauthorized")
			s.add("b")
			wantError(t, s.Flush(t.Context()), "1 letters not delivered to http://receiver: 401 Unauthorized")
			s.stop()
			s.want(t, "a a b")
			s.wantStats(queue.Stats{Accepted: 2, Failed: 2, Unanswered: 1, Retries: 1})
		})
	}
}

// An item that may be at fault goes behind the others, and the items of its batch travel alone from then on.
func TestAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := func(_ context.Context, batch []item) queue.Answer {
			for _, i := range batch {
				if i.name == "b" {
					return queue.Answer{Err: errors.New("500"), Retry: true, Defer: true}
				}
			}
			return queue.Answer{}
		}
		s := start(t, config{BatchCount: 3, Delay: time.Second}, bad)
		s.add("abcdefg")
		time.Sleep(10 * time.Second)
		s.mu.Lock()
		got := strings.Join(s.got, " ")
		s.mu.Unlock()
		if !strings.HasPrefix(got, "abc def a b c b b") && !strings.HasPrefix(got, "abc def g a b c b b") {
			t.Errorf("the receiver got %q", got)
		}
		flushed := make(chan error)
		go func() { flushed <- s.Flush(t.Context()) }()
		synctest.Wait()
		s.add("h")
		s.set(refuse)
		s.add("ij")
		wantError(t, <-flushed, "1 letters not delivered to http://receiver: 401 Unauthorized")
		s.stop()
	})
}

// An item that was put aside has no more time than the others.
func TestTimeoutOfAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config{Timeout: 3 * time.Second}, always(queue.Answer{Err: errors.New("500"), Retry: true, Defer: true}))
		s.add("a")
		time.Sleep(3 * time.Second)
		if got := s.Stats(); got.Failed != 1 {
			t.Errorf("books are %+v", got)
		}
		s.stop()
	})
}

// An item that was put aside is the oldest one.
func TestDropAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config{MaxBytes: 4, BatchCount: 1, DropOldest: true}, always(queue.Answer{Err: errors.New("500"), Retry: true, Defer: true}))
		s.add("abcd")
		time.Sleep(time.Second)
		s.add("ef")
		s.set(fine)
		time.Sleep(maxPause)
		s.mu.Lock()
		sent := strings.Join(s.got[len(s.got)-4:], "")
		s.mu.Unlock()
		if strings.ContainsAny(sent, "ab") {
			t.Errorf("sent are %q, want the newest", sent)
		}
		if got := s.Stats(); got.Dropped != 2 || got.Delivered != 4 {
			t.Errorf("books are %+v", got)
		}
		s.stop()
	})
}

// A logger may use the queue, and its panics end nothing.
func TestLoggers(t *testing.T) {
	for name, say := range map[string]func(*setUp){
		"that uses the queue": func(s *setUp) {
			s.add("x")
			_ = s.Stats()
		},
		"that panics": func(*setUp) { panic("oops") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s *setUp
				s = start(t, config{Logger: handler(func() { say(s) })}, refuse)
				s.add("a")
				synctest.Wait()
				s.set(fine)
				s.add("b")
				s.stop()
				if got := s.Stats(); got.Failed < 1 || got.Delivered < 1 {
					t.Errorf("books are %+v", got)
				}
			})
		})
	}
}

// A Sender that ends its goroutine ends the queue: nothing waits for it for ever.
func TestSenderEndsItsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goexit := func(context.Context, []item) queue.Answer {
			runtime.Goexit()
			return queue.Answer{}
		}
		s := start(t, config{}, goexit)
		s.add("a")
		synctest.Wait()
		s.add("b")
		wantError(t, s.Flush(t.Context()), "1 letters not delivered to http://receiver: the sender ended its goroutine")
		s.wantStats(queue.Stats{Accepted: 2, Failed: 2, Unanswered: 2})
		s.set(fine)
		s.add("c")
		if err := s.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		s.set(goexit)
		s.add("d")
		wantError(t, s.Shutdown(t.Context()), "1 letters not delivered to http://receiver: the sender ended its goroutine")
		s.want(t, "a b c d")
		s.wantStats(queue.Stats{Accepted: 4, Failed: 3, Unanswered: 3, Delivered: 1})
	})
}

// A receiver that takes no large requests gets smaller ones: the size that it takes is found by halving, and remembered. An item that
// is too large by itself is lost alone.
func TestReceiverOfSmallRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const kib = 1 << 10
		limit, refused, taken := 100*kib, 0, 0
		s := start(t, config{BatchBytes: 512 * kib, Delay: time.Second}, func(_ context.Context, batch []item) queue.Answer {
			bytes := 0
			for _, i := range batch {
				bytes += i.bytes
			}
			if bytes > limit {
				refused++
				return queue.Answer{Err: errors.New("413"), TooLarge: true}
			}
			taken++
			return queue.Answer{}
		})
		for i, c := range []struct{ refused, taken int }{{3, 8}, {3, 16}, {3, 24}} { // of 512, 256 and 128 KiB, once
			for range 64 {
				s.Add(item{"a", 1, 8 * kib})
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if refused != c.refused || taken != c.taken {
				t.Errorf("after %d batches, %d requests were refused and %d taken, want %+v", i+1, refused, taken, c)
			}
		}
		s.wantStats(queue.Stats{Accepted: 192, Delivered: 192, Retries: 3})
		s.Add(item{"b", 1, 8 * kib})
		s.Add(item{"L", 1, 101 * kib})
		s.Add(item{"c", 1, 8 * kib})
		wantError(t, s.Flush(t.Context()), "1 letters not delivered to http://receiver: 413")
		s.wantStats(queue.Stats{Accepted: 195, Delivered: 194, Failed: 1, Retries: 3})
		limit, refused = -1, 0 // it refuses everything in these words, so that the size is not the reason
		s.Add(item{"d", 1, kib})
		wantError(t, s.Flush(t.Context()), "1 letters not delivered to http://receiver: 413")
		limit, refused, taken = 512*kib, 0, 0
		for range 64 {
			s.Add(item{"a", 1, 8 * kib})
		}
		s.stop()
		if refused != 0 || taken != 1 {
			t.Errorf("%d requests of a batch were refused and %d taken", refused, taken)
		}
	})
}

// The same reason has a line an hour, and there are eight in an hour.
func TestReasonsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config{}, nil)
		lines := func() int {
			s.log.mu.Lock()
			defer s.log.mu.Unlock()
			defer s.log.buf.Reset()
			return strings.Count(s.log.buf.String(), "\n")
		}
		for _, c := range []struct{ reasons, want int }{{1, 1}, {100, 8}, {3, 3}} {
			for i := range 1000 {
				s.set(always(queue.Answer{Rejected: 1, Message: strings.Repeat("x", 1+i%c.reasons)}))
				s.add("a")
				synctest.Wait()
			}
			if got := lines(); got != c.want {
				t.Errorf("%d lines for %d reasons, want %d", got, c.reasons, c.want)
			}
			time.Sleep(time.Hour)
		}
		s.stop()
	})
}

// A receiver that fails every other time does not fill the log, and one that goes on failing is in it. No loss is left out.
func TestWarningsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config{}, nil)
		for i := range 100 {
			s.set(refuse)
			s.add("a")
			synctest.Wait()
			if i < 99 {
				s.set(fine)
			} else {
				s.set(away)
			}
			s.add("b")
			synctest.Wait()
		}
		time.Sleep(2 * time.Minute)
		s.set(fine)
		s.stop()
		s.wantStats(queue.Stats{Accepted: 200, Delivered: 100, Failed: 100, Retries: s.Stats().Retries})
		first := []string{"refused", "again\" to=http://receiver lost=1"}
		s.log.want(t, append(slices.Repeat(first, 5), "not delivered", "again\" to=http://receiver lost=95")...)
	})
}

// A queue that drops while delivery works logs it.
func TestDropsAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config{MaxCount: 2}, func(context.Context, []item) queue.Answer {
			time.Sleep(time.Second)
			return queue.Answer{}
		})
		for range 3 {
			s.add("abcdef")
			time.Sleep(3 * time.Second)
		}
		s.stop()
		s.add("late")
		s.wantStats(queue.Stats{Accepted: 22, Delivered: 6, Dropped: 16})
		s.log.want(t, "letters are dropped because the queue is full; requests are not affected, such losses are counted\" to=http://receiver dropped=4")
	})
}
