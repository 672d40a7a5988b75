package queue_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/internal/queue"
)

// A batch travels when it is full, by count or bytes, or when its oldest item has waited for Delay.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config{BatchCount: 4, BatchBytes: 10, Delay: time.Second}, fine)
		defer s.stop()
		s.add("abc")
		synctest.Wait()
		s.want(t, "")
		s.add("d")
		synctest.Wait()
		s.want(t, "abcd")
		s.add("e")
		time.Sleep(time.Second - time.Nanosecond)
		synctest.Wait()
		s.want(t, "")
		s.add("f")
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		s.want(t, "ef")
		s.Add(item{"g", 1, 6})
		s.Add(item{"h", 1, 6}) // more than fits: it waits for the next one
		synctest.Wait()
		s.want(t, "g")
		s.Add(item{"i", 3, 1})
		s.Add(item{"j", 9, 1}) // travels alone
		synctest.Wait()
		s.want(t, "hi j")
		s.Add(item{"k", 1, 99}) // so does this
		s.add("l")
		synctest.Wait()
		s.want(t, "k")
		time.Sleep(time.Second)
		synctest.Wait()
		s.want(t, "l")
		s.wantStats(queue.Stats{Accepted: 6 + 2 + 3 + 9 + 2, Delivered: 6 + 2 + 3 + 9 + 2})
		s.log.want(t)
	})
}

// A sized item takes more of a request than of memory, or less.
type sized struct{ bytes, request int }

func (sized) Count() int     { return 1 }
func (s sized) Bytes() int   { return s.bytes }
func (s sized) Request() int { return s.request }

// BatchBytes bounds what items add to a request, and MaxBytes what they take of memory.
func TestBytesOfRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var batches []int
		release := make(chan struct{})
		q := queue.New(queue.Config[sized]{MaxBytes: 30, BatchBytes: 10, Delay: time.Second, Send: func(_ context.Context, batch []sized) queue.Answer {
			batches = append(batches, len(batch))
			<-release
			return queue.Answer{}
		}})
		q.Add(sized{bytes: 1, request: 5})
		q.Add(sized{bytes: 1, request: 5}) // a batch
		synctest.Wait()
		q.Add(sized{bytes: 12, request: 1})
		q.Add(sized{bytes: 12, request: 1})
		q.Add(sized{bytes: 12, request: 1}) // no room
		if s := q.Stats(); s.PendingBytes != 26 || s.Dropped != 1 {
			t.Errorf("books are %+v", s)
		}
		close(release)
		if err := q.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if !slices.Equal(batches, []int{2, 2}) {
			t.Errorf("batches of %v items, want two of 2", batches)
		}
	})
}

// The delay of an item begins when the item is added, not with items that are sent.
func TestDelayBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config{BatchCount: 2, Delay: time.Second}, fine)
		s.add("a")
		time.Sleep(500 * time.Millisecond)
		s.add("b")
		time.Sleep(100 * time.Millisecond)
		s.add("c")
		time.Sleep(900 * time.Millisecond)
		synctest.Wait()
		s.want(t, "ab")
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		s.want(t, "c")
		s.stop()
	})
}

// An item that comes while others are sent, whose delay is over, has a delay of its own.
func TestDelayWhileSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan queue.Answer)
		s := start(t, config{BatchBytes: 10, Delay: time.Second}, func(context.Context, []item) queue.Answer { return <-release })
		s.Add(item{"a", 1, 5})
		s.Add(item{"b", 1, 4}) // with a less than a batch
		time.Sleep(time.Second)
		synctest.Wait()
		s.Add(item{"c", 1, 6})
		s.Add(item{"d", 1, 5}) // with c more than a batch
		release <- queue.Answer{}
		synctest.Wait()
		s.Add(item{"e", 1, 1})
		s.set(fine)
		release <- queue.Answer{}
		time.Sleep(time.Second)
		synctest.Wait()
		s.want(t, "ab c de")
		s.stop()
	})
}

// Without Delay an item is sent at once.
func TestNoDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config{BatchCount: 2}, fine)
		s.add("a")
		synctest.Wait()
		s.want(t, "a")
		s.stop()
	})
}

// A burst that fits is sent whole, though a batch may be larger than what may wait.
func TestBatchLargerThanQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config{MaxCount: 4, BatchCount: 100, MaxBytes: 1000, BatchBytes: 5000, Delay: time.Hour}, fine)
		for range 50 {
			s.add("ab")
			synctest.Wait()
		}
		s.wantStats(queue.Stats{Accepted: 100, Delivered: 100})
		s.stop()
	})
}

// A queue that drops does not wait for the delay.
func TestFullBeforeABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config{MaxCount: 10, BatchCount: 5, Delay: time.Hour}, fine)
		s.Add(item{"a", 4, 1})
		s.Add(item{"b", 7, 1})
		synctest.Wait()
		s.want(t, "a")
		s.wantStats(queue.Stats{Accepted: 11, Delivered: 4, Dropped: 7})
		s.stop()
	})
}

// At a bound the newest item is dropped. The batch that is being sent counts.
func TestBounds(t *testing.T) {
	for name, c := range map[string]config{
		"count": {MaxCount: 4, BatchCount: 2},
		"bytes": {MaxBytes: 4, BatchBytes: 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan queue.Answer)
				s := start(t, c, func(context.Context, []item) queue.Answer { return <-release })
				s.add("a")
				synctest.Wait()
				s.add("bcdef")
				s.wantStats(queue.Stats{Accepted: 6, Dropped: 2, Pending: 4, PendingBytes: 4})
				release <- queue.Answer{Err: errors.New("503"), Retry: true}
				synctest.Wait()
				s.add("g")
				s.wantStats(queue.Stats{Accepted: 7, Dropped: 3, Pending: 4, PendingBytes: 4})
				s.set(fine)
				time.Sleep(time.Second)
				s.want(t, "a a bc d")
				s.wantStats(queue.Stats{Accepted: 7, Delivered: 4, Dropped: 3, Retries: 1})
				s.stop()
				s.log.want(t, `letters are not delivered; requests are not affected, what does not fit the queue is dropped and counted" to=http://receiver error=503`,
					`letters are delivered again" to=http://receiver lost=3`)
			})
		})
	}
}

// An item larger than a bound is dropped, also when it is alone, and takes nobody's place.
func TestTooLarge(t *testing.T) {
	for name, large := range map[string]item{"count": {"L", 11, 1}, "bytes": {"L", 1, 11}} {
		for _, oldest := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := start(t, config{MaxCount: 10, MaxBytes: 10, Delay: time.Second, DropOldest: oldest}, fine)
					s.Add(large) // the queue is empty
					s.add("ab")
					s.Add(large)
					synctest.Wait()
					n := uint64(large.count)
					s.wantStats(queue.Stats{Accepted: 2*n + 2, Dropped: 2 * n, Delivered: 2}) // what is dropped ends the delay
					s.want(t, "ab")
					s.stop()
				})
			})
		}
	}
}

// With DropOldest the oldest items make room, except those that are being sent.
func TestDropOldest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan queue.Answer)
		s := start(t, config{MaxBytes: 10, BatchCount: 1, DropOldest: true}, func(context.Context, []item) queue.Answer { return <-release })
		s.Add(item{"a", 1, 4})
		synctest.Wait()
		s.Add(item{"b", 1, 3})
		s.Add(item{"c", 1, 3})
		s.wantStats(queue.Stats{Accepted: 3, Pending: 3, PendingBytes: 10})
		s.Add(item{"d", 1, 1}) // instead of b
		s.wantStats(queue.Stats{Accepted: 4, Dropped: 1, Pending: 3, PendingBytes: 8})
		s.Add(item{"e", 1, 7}) // no room while a is being sent: nothing is dropped for it
		s.wantStats(queue.Stats{Accepted: 5, Dropped: 2, Pending: 3, PendingBytes: 8})
		release <- queue.Answer{Err: errors.New("503"), Retry: true}
		synctest.Wait()
		s.Add(item{"f", 1, 8}) // a waits for its next attempt and makes room, as c does
		s.wantStats(queue.Stats{Accepted: 6, Dropped: 4, Pending: 2, PendingBytes: 9})
		s.Add(item{"g", 1, 11})
		s.wantStats(queue.Stats{Accepted: 7, Dropped: 5, Pending: 2, PendingBytes: 9})
		s.set(fine)
		time.Sleep(time.Second)
		s.want(t, "a d f")
		s.wantStats(queue.Stats{Accepted: 7, Delivered: 2, Dropped: 5})
		s.stop()
		s.log.want(t, "not delivered", "delivered again\" to=http://receiver lost=5")
	})
}

// However many items come and go, they keep their order.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config{BatchCount: 7, Delay: time.Second}, fine)
		var want strings.Builder
		for i := range 5000 {
			name := string(rune('a' + i%26))
			want.WriteString(name)
			s.add(name)
			if i%1000 == 0 {
				synctest.Wait()
			}
		}
		s.stop()
		if got := strings.Join(s.got, ""); got != want.String() {
			t.Errorf("the receiver got %q", got)
		}
		s.wantStats(queue.Stats{Accepted: 5000, Delivered: 5000})
	})
}

// The program's mistakes show at once.
func TestNoSend(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("New without Send did not panic")
		}
	}()
	queue.New(config{})
}

// A body's buffer is used again after an answer, unless it is large. After an error the transport may still read it.
func TestEncoded(t *testing.T) {
	var bodies [][]byte
	var answer queue.Answer
	send := queue.Encoded(func(body []byte, batch []item) []byte {
		for _, i := range batch {
			body = append(body, i.name...)
		}
		return body
	}, senderFunc(func(_ context.Context, body []byte) queue.Answer {
		bodies = append(bodies, body)
		return answer
	}))
	call := func(names ...string) []byte {
		t.Helper()
		var batch []item
		for _, name := range names {
			batch = append(batch, item{name: name})
		}
		send(t.Context(), batch)
		return bodies[len(bodies)-1]
	}
	same := func(a, b []byte) bool { return &a[:1][0] == &b[:1][0] }
	first := call("abc", "d")
	if string(first) != "abcd" {
		t.Errorf("body %q", first)
	}
	second := call("x")
	if string(second) != "x" || !same(first, second) {
		t.Errorf("body %q in a buffer of its own", second)
	}
	answer.Err = errors.New("cancelled")
	call("y")
	answer.Err = nil
	after := call("z")
	if same(second, after) {
		t.Error("the buffer of a request that failed is used again")
	}
	large := call(strings.Repeat("l", 2<<20))
	if last := call("m"); same(large, last) || same(after, last) {
		t.Error("a large buffer is kept")
	}
}

// A request after one whose buffer is given away has as much room from the beginning: a failed batch is sent again.
func TestEncodedGrowsOnce(t *testing.T) {
	for _, c := range []struct {
		name   string
		size   int
		answer queue.Answer
	}{
		{"after an error", 100_000, queue.Answer{Err: errors.New("503"), Retry: true}},
		{"after a large request", 3 << 20, queue.Answer{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			room := 0
			send := queue.Encoded(func(body []byte, _ []item) []byte {
				room = cap(body)
				return append(body, make([]byte, c.size)...)
			}, senderFunc(func(context.Context, []byte) queue.Answer { return c.answer }))
			for range 3 {
				send(t.Context(), nil)
			}
			if room < c.size {
				t.Errorf("room for %d bytes of %d", room, c.size)
			}
		})
	}
}

type senderFunc func(context.Context, []byte) queue.Answer

func (f senderFunc) Send(ctx context.Context, body []byte) queue.Answer { return f(ctx, body) }
