package queue_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/perfline/perfline/internal/queue"
)

// A step is something that happens to a queue.
type step struct {
	what         string
	items        int           // that are added
	count, bytes int           // of each one
	wait         time.Duration // of sleep, and of the contexts of flush and shutdown
}

// maxAdded is how many items one call adds at most.
const maxAdded = 3

// An answering is how the receiver answers an attempt.
type answering struct {
	what string
	took time.Duration
	a    queue.Answer
}

var anyStep = rapid.Custom(func(t *rapid.T) step {
	s := step{what: rapid.SampledFrom([]string{"add", "add", "add", "add", "add", "add", "sleep", "sleep", "flush", "shutdown"}).Draw(t, "what")}
	switch s.what {
	case "add":
		s.items = rapid.SampledFrom([]int{1, 1, 2, maxAdded}).Draw(t, "items")
		s.count, s.bytes = rapid.IntRange(1, 4).Draw(t, "count"), rapid.IntRange(0, 30).Draw(t, "bytes")
		if rapid.IntRange(0, 20).Draw(t, "large") == 0 {
			s.bytes = 500
		}
	case "shutdown":
		if rapid.IntRange(0, 5).Draw(t, "really") > 0 {
			s.what = "sleep"
		}
	}
	s.wait = time.Duration(rapid.SampledFrom([]int{0, 1, 50, 300, 1000, 5000, 20000}).Draw(t, "ms")) * time.Millisecond
	return s
})

var anyAnswering = rapid.Custom(func(t *rapid.T) answering {
	a := answering{what: rapid.SampledFrom([]string{"ok", "ok", "partial", "retry", "retry", "retry after", "aside", "unanswered retry", "refuse", "unknown", "unanswered", "hang", "panic", "goexit", "too large", "too large"}).Draw(t, "answer")}
	a.took = time.Duration(rapid.SampledFrom([]int{0, 0, 10, 2000}).Draw(t, "ms")) * time.Millisecond
	err := errors.New(a.what)
	switch a.what {
	case "partial":
		a.a = queue.Answer{Rejected: rapid.Int64Range(-1, 10).Draw(t, "rejected"), Message: "no"}
	case "retry":
		a.a = queue.Answer{Err: err, Retry: true}
	case "retry after":
		a.a = queue.Answer{Err: err, Retry: true, After: 4 * time.Second}
	case "aside":
		a.a = queue.Answer{Err: err, Retry: true, Defer: true}
	case "unanswered retry":
		a.a = queue.Answer{Err: err, Retry: true, Unanswered: true}
	case "refuse":
		a.a = queue.Answer{Err: err}
	case "unknown":
		a.a = queue.Answer{Err: err, Unknown: true}
	case "unanswered":
		a.a = queue.Answer{Err: err, Unanswered: true}
	case "too large":
		a.a = queue.Answer{Err: err, TooLarge: true}
	}
	return a
})

// Items are added, flushed, answered and shut down at random. At each step the books balance and agree with the receiver,
// bounds and order are kept, and no item arrives twice. After an answer that is Unknown, nothing waits, and items are dropped for
// a while. Requests of several items are halved after an answer that is TooLarge, down to 64 KiB. The queue releases each item
// once: when it is settled or dropped, also a new one.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := config{
			MaxCount: rapid.SampledFrom([]int{0, 4, 20}).Draw(rt, "MaxCount"), MaxBytes: rapid.SampledFrom([]int{0, 100}).Draw(rt, "MaxBytes"),
			BatchCount: rapid.SampledFrom([]int{0, 1, 5}).Draw(rt, "BatchCount"), BatchBytes: rapid.SampledFrom([]int{0, 40 * kib4}).Draw(rt, "BatchBytes"),
			DropOldest: rapid.Bool().Draw(rt, "DropOldest"), GiveUp: rapid.SampledFrom([]int{0, 3}).Draw(rt, "GiveUp"),
			Delay: rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(rt, "Delay"), Timeout: rapid.SampledFrom([]time.Duration{0, 3 * time.Second}).Draw(rt, "Timeout"),
			UnknownPause: rapid.SampledFrom([]time.Duration{0, 0, 10 * time.Second}).Draw(rt, "UnknownPause"),
		}
		steps := rapid.SliceOfN(anyStep, 1, 40).Draw(rt, "steps")
		answers := rapid.SliceOfN(anyAnswering, 0, 30).Draw(rt, "answers")
		var wrong string
		synctest.Test(t, func(t *testing.T) { wrong = play(t, c, steps, answers) })
		if wrong != "" {
			rt.Fatal(wrong)
		}
	})
}

// A model is what the books should say, of what the receiver saw.
type model struct {
	c       config
	mu      sync.Mutex // guards what follows
	wrongs  []string
	answers []answering
	newest  int          // of the items that were sent for the first time
	sent    map[int]bool // every item that was sent
	done    map[int]bool // every item whose batch was answered for good
	perhaps map[int]int  // the counts of items that are not, and of which an attempt was not answered
	want    queue.Stats  // Delivered, Failed, Unanswered
	unknown bool         // an answer since the last check was Unknown
	limit   int          // of a request of several items, in bytes, because the receiver has refused a larger one; 0: none
	pause   time.Time    // when the last pause for that ends
	added   int          // the newest item
	failed  int          // the newest item that failed for that
}

// wrong notes what is wrong. m.mu is held.
func (m *model) wrong(format string, args ...any) {
	m.wrongs = append(m.wrongs, fmt.Sprintf(format, args...))
}

// kib4 is what an item of the model takes of a request, in bytes, for each byte that it has in the queue.
const kib4 = 4 << 10

// A numbered item has a number for a name.
type numbered struct {
	number, count, bytes int
	stored               *int // the number, until the queue releases the item
}

// storage is what the caller has given the queue. Its memory is used again after the release.
type storage struct {
	mu     sync.Mutex // guards what follows
	free   []*int
	counts map[int]int // of the items that are not released
	wrongs []string
}

func (s *storage) keep(n numbered) numbered {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := len(s.free) - 1; last >= 0 {
		n.stored, s.free = s.free[last], s.free[:last]
	} else {
		n.stored = new(int)
	}
	*n.stored, s.counts[n.number] = n.number, n.count
	return n
}

func (s *storage) release(n numbered) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.counts[n.number]; !ok {
		s.wrongs = append(s.wrongs, fmt.Sprintf("item %d was released, but is not kept", n.number))
		return
	}
	delete(s.counts, n.number)
	*n.stored = -1
	s.free = append(s.free, n.stored)
}

// check compares what is kept with the books. After Shutdown has given up, more may be kept.
func (s *storage) check(when string, books queue.Stats, down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var count uint64
	for _, n := range s.counts {
		count += uint64(n)
	}
	if count < books.Pending || count > books.Pending && !down {
		s.wrongs = append(s.wrongs, fmt.Sprintf("%s: %d are kept, books are %+v", when, count, books))
	}
}

// checkStored checks that the queue keeps the items while the receiver reads them. m.mu is held.
func (m *model) checkStored(when string, batch []numbered) {
	for _, i := range batch {
		if *i.stored != i.number {
			m.wrong("%s: item %d was released while it was sent", when, i.number)
		}
	}
}

func (n numbered) Count() int   { return n.count }
func (n numbered) Bytes() int   { return n.bytes }
func (n numbered) Request() int { return n.bytes * kib4 }

func (m *model) send(ctx context.Context, batch []numbered) queue.Answer {
	m.mu.Lock()
	defer m.mu.Unlock()
	count, bytes := 0, 0
	for _, i := range batch {
		count += i.count
		bytes += i.Request()
		if m.done[i.number] || i.number <= m.failed {
			m.wrong("item %d was sent again after it was settled", i.number)
		}
		if !m.sent[i.number] && i.number <= m.newest {
			m.wrong("item %d was sent after %d", i.number, m.newest)
		}
		m.newest, m.sent[i.number] = max(m.newest, i.number), true
	}
	if m.c.BatchCount > 0 && count > m.c.BatchCount && len(batch) > 1 || m.c.BatchBytes > 0 && bytes > m.c.BatchBytes && len(batch) > 1 {
		m.wrong("a batch of %d items has count %d and %d bytes", len(batch), count, bytes)
	}
	if m.limit > 0 && bytes > m.limit && len(batch) > 1 {
		m.wrong("a request of %d bytes was sent after the receiver refused one of %d", bytes, 2*m.limit)
	}
	given := answering{what: "ok"}
	if len(m.answers) > 0 {
		given, m.answers = m.answers[0], m.answers[1:]
	}
	m.checkStored("at first", batch)
	m.mu.Unlock()
	if given.what == "hang" {
		<-ctx.Done()
	}
	select {
	case <-time.After(given.took):
	case <-ctx.Done():
		given.what = "hang"
	}
	m.mu.Lock()
	m.checkStored("in the end", batch)
	a := given.a
	switch given.what {
	case "hang":
		return queue.Answer{Err: context.Cause(ctx), Retry: true}
	case "ok", "partial":
		rejected := min(max(a.Rejected, 0), int64(count))
		m.want.Delivered += uint64(count) - uint64(rejected)
		m.want.Failed += uint64(rejected)
	case "unanswered retry":
		for _, i := range batch {
			m.perhaps[i.number] = i.count
		}
		return a
	case "too large":
		if m.limit = max(bytes/2, 64<<10); bytes <= 64<<10 {
			m.limit = 0
		}
		if m.limit > 0 && len(batch) > 1 {
			return a
		}
		fallthrough
	case "refuse", "unknown":
		if given.what == "unknown" && m.c.UnknownPause > 0 {
			m.unknown, m.pause = true, time.Now().Add(m.c.UnknownPause)
		}
		m.want.Failed += uint64(count)
		for _, i := range batch {
			m.want.Unanswered += uint64(m.perhaps[i.number])
		}
	case "unanswered", "panic", "goexit":
		m.want.Failed += uint64(count)
		m.want.Unanswered += uint64(count)
	default:
		return a
	}
	for _, i := range batch {
		m.done[i.number] = true
		delete(m.perhaps, i.number)
	}
	switch given.what {
	case "panic":
		panic("on purpose")
	case "goexit":
		runtime.Goexit()
	}
	return a
}

// check compares the books with what the receiver saw, while the queue does nothing.
func (m *model) check(when string, s queue.Stats, accepted uint64, down bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.Accepted != accepted || s.Accepted != s.Delivered+s.Failed+s.Dropped+s.Pending || s.PendingBytes < 0 || s.Pending == 0 && s.PendingBytes != 0 {
		m.wrong("%s: books of %d do not balance: %+v", when, accepted, s)
	}
	if s.Delivered != m.want.Delivered {
		m.wrong("%s: the receiver took %d, books are %+v", when, m.want.Delivered, s)
	}
	// Items that a Timeout gives up have failed without the receiver's doing; items that are refused while Shutdown ends may be given up.
	perhaps := 0
	for _, count := range m.perhaps {
		perhaps += count
	}
	if s.Failed < m.want.Failed && !down || s.Failed > m.want.Failed+uint64(perhaps) && m.c.Timeout == 0 && !m.unknown {
		m.wrong("%s: the receiver turned down %d, books are %+v", when, m.want.Failed, s)
	}
	if s.Unanswered < m.want.Unanswered || s.Unanswered > m.want.Unanswered+uint64(perhaps) {
		m.wrong("%s: the receiver did not answer for %d, and perhaps %d, books are %+v", when, m.want.Unanswered, perhaps, s)
	}
	if m.unknown && s.Pending > 0 && !down {
		m.wrong("%s: the receiver does not know the items, and there wait %+v", when, s)
	}
	if m.unknown { // all that waited has failed
		m.unknown, m.failed, m.want.Failed, m.want.Unanswered = false, m.added, s.Failed, s.Unanswered
		clear(m.perhaps)
	}
	if m.c.MaxCount > 0 && s.Pending > uint64(m.c.MaxCount) || m.c.MaxBytes > 0 && s.PendingBytes > m.c.MaxBytes {
		m.wrong("%s: more waits than may: %+v", when, s)
	}
}

// add notes the next item, and reports whether it is dropped because the receiver does not know the items.
func (m *model) add(number int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.added = number
	return time.Now().Before(m.pause)
}

// checkUnanswered checks that nothing is left pending that the receiver may have. Items that were dropped are left out.
func (m *model) checkUnanswered(s queue.Stats) {
	if m.c.DropOldest {
		return
	}
	for _, count := range m.perhaps {
		m.want.Unanswered += uint64(count)
	}
	if s.Unanswered != m.want.Unanswered {
		m.wrong("in the end: the receiver did not answer for %d, books are %+v", m.want.Unanswered, s)
	}
}

// play plays steps and returns what was wrong.
func play(t *testing.T, c config, steps []step, answers []answering) string {
	m := &model{c: c, answers: answers, newest: -1, failed: -1, sent: map[int]bool{}, done: map[int]bool{}, perhaps: map[int]int{}}
	store := &storage{counts: map[int]int{}}
	q := queue.New(queue.Config[numbered]{
		Release: store.release,
		What:    "items", To: "model", MaxCount: c.MaxCount, MaxBytes: c.MaxBytes, BatchCount: c.BatchCount, BatchBytes: c.BatchBytes,
		DropOldest: c.DropOldest, GiveUp: c.GiveUp, Delay: c.Delay, Timeout: c.Timeout, UnknownPause: c.UnknownPause, Send: m.send, Logger: slog.New(slog.DiscardHandler),
	})
	var accepted uint64
	down := false
	var calls sync.WaitGroup
	for i, s := range steps {
		before := q.Stats()
		switch s.what {
		case "add":
			var items []numbered
			for k := range s.items {
				items = append(items, store.keep(numbered{number: i*maxAdded + k, count: s.count, bytes: s.bytes}))
			}
			paused := m.add(items[len(items)-1].number)
			q.Add(items...)
			count := uint64(s.items * s.count)
			accepted += count
			after := q.Stats()
			if after.Dropped != before.Dropped && c.MaxCount == 0 && c.MaxBytes == 0 && !down && !paused {
				t.Errorf("step %d: dropped without a bound: %+v", i, after)
			}
			if paused && after.Dropped != before.Dropped+count {
				t.Errorf("step %d: not dropped in the pause: %+v", i, after)
			}
		case "sleep":
			time.Sleep(s.wait)
		case "flush":
			calls.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), s.wait)
				defer cancel()
				began := q.Stats()
				err := q.Flush(ctx)
				after := q.Stats()
				m.mu.Lock()
				defer m.mu.Unlock()
				if err == nil && after.Pending > after.Accepted-began.Accepted {
					m.wrong("step %d: Flush returned with %+v, having begun with %+v", i, after, began)
				}
				lost, waited := after.Failed+after.Dropped-began.Failed-began.Dropped, after.Pending
				if err != nil && strings.Contains(err.Error(), " items still wait for model after ") { // they may have arrived since
					_, _ = fmt.Sscan(err.Error(), &waited)
				}
				if err != nil && lost+waited == 0 && began.Pending > 0 && ctx.Err() == nil {
					m.wrong("step %d: Flush said %v of %+v", i, err, after)
				}
			})
		case "shutdown":
			down = true
			calls.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), s.wait)
				defer cancel()
				err := q.Shutdown(ctx)
				m.mu.Lock()
				defer m.mu.Unlock()
				if after := q.Stats(); after.Pending > 0 && err == nil {
					m.wrong("step %d: Shutdown said nothing of %+v", i, after)
				}
			})
		}
		synctest.Wait()
		m.check(fmt.Sprintf("step %d, %s", i, s.what), q.Stats(), accepted, down)
		store.check(fmt.Sprintf("step %d, %s", i, s.what), q.Stats(), down)
	}
	if !down {
		// A receiver that works gets the rest.
		calls.Wait()
		time.Sleep(time.Hour)
		if s := q.Stats(); s.Pending > 0 && !slices.ContainsFunc(answers, func(a answering) bool { return a.what == "hang" }) {
			t.Errorf("an hour later there wait %+v", s)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_ = q.Shutdown(ctx)
	calls.Wait()
	synctest.Wait()
	m.check("in the end", q.Stats(), accepted, true)
	m.checkUnanswered(q.Stats())
	store.check("in the end", q.Stats(), true)
	return strings.Join(append(m.wrongs, store.wrongs...), "\n")
}
