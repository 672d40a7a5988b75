package queue_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/leaktest"
	"github.com/perfline/perfline/internal/queue"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// An item has a name by which the receiver knows it.
type item struct {
	name         string
	count, bytes int
}

func (i item) Count() int   { return i.count }
func (i item) Bytes() int   { return i.bytes }
func (i item) Request() int { return i.bytes }

type config = queue.Config[item]

// A receiver answers as the test says, and remembers what it was sent.
type receiver struct {
	mu     sync.Mutex
	answer func(ctx context.Context, batch []item) queue.Answer
	got    []string // the names of each request
	at     []time.Time
}

func (r *receiver) Send(ctx context.Context, batch []item) queue.Answer {
	var names []string
	for _, i := range batch {
		names = append(names, i.name)
	}
	r.mu.Lock()
	r.got, r.at = append(r.got, strings.Join(names, "")), append(r.at, time.Now())
	answer := r.answer
	r.mu.Unlock()
	return answer(ctx, batch)
}

func (r *receiver) set(answer func(context.Context, []item) queue.Answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func (r *receiver) want(t *testing.T, requests string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if got := strings.Join(r.got, " "); got != requests {
		t.Errorf("the receiver got %q, want %q", got, requests)
	}
	r.got, r.at = nil, nil
}

// when returns the time of request n.
func (r *receiver) when(n int) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at[n]
}

func (r *receiver) requests() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.got)
}

// A setUp is a queue, its receiver and its log.
type setUp struct {
	*queue.Queue[item]
	receiver
	t   *testing.T
	log logged
}

func start(t *testing.T, c config, answer func(context.Context, []item) queue.Answer) *setUp {
	s := &setUp{t: t}
	s.set(answer)
	c.What, c.To, c.Send = "letters", "http://receiver", s.Send
	if c.Logger == nil {
		c.Logger = slog.New(slog.NewTextHandler(&s.log, nil))
	}
	s.Queue = queue.New(c)
	return s
}

// add adds items of one letter each.
func (s *setUp) add(names string) {
	for _, name := range names {
		s.Add(item{string(name), 1, 1})
	}
}

func (s *setUp) stop() {
	s.t.Helper()
	if err := s.Shutdown(s.t.Context()); err != nil {
		s.t.Errorf("Shutdown: %v", err)
	}
}

func (s *setUp) wantStats(want queue.Stats) {
	s.t.Helper()
	got := s.Stats()
	balance(s.t, got)
	if got != want {
		s.t.Errorf("books are %+v, want %+v", got, want)
	}
}

func balance(t testing.TB, s queue.Stats) {
	t.Helper()
	if s.Accepted != s.Delivered+s.Failed+s.Dropped+s.Pending || s.Unanswered > s.Failed || s.PendingBytes < 0 {
		t.Errorf("books do not balance: %+v", s)
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if fmt.Sprint(err) != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// always answers the same.
func always(a queue.Answer) func(context.Context, []item) queue.Answer {
	return func(context.Context, []item) queue.Answer { return a }
}

var (
	fine    = always(queue.Answer{})
	away    = always(queue.Answer{Err: errors.New("connection refused"), Retry: true})
	refuse  = always(queue.Answer{Err: errors.New("401 Unauthorized")})
	silence = always(queue.Answer{Err: errors.New("no answer"), Unanswered: true})
)

// hang answers when its context is over.
func hang(ctx context.Context, _ []item) queue.Answer {
	<-ctx.Done()
	return queue.Answer{Err: context.Cause(ctx), Retry: true}
}

// logged is a log.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// want fails unless the lines contain these texts, one each.
func (l *logged) want(t *testing.T, texts ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := strings.FieldsFunc(l.buf.String(), func(r rune) bool { return r == '\n' })
	bad := len(lines) != len(texts)
	for i := range min(len(lines), len(texts)) {
		bad = bad || !strings.Contains(lines[i], texts[i])
	}
	if bad {
		t.Errorf("log:\n%s\nwant %d lines with %q", l.buf.String(), len(texts), texts)
	}
}

// handler returns a logger that calls f for each line.
func handler(f func()) *slog.Logger { return slog.New(calling{slog.DiscardHandler, f}) }

type calling struct {
	slog.Handler
	f func()
}

func (c calling) Enabled(context.Context, slog.Level) bool { return true }

func (c calling) Handle(context.Context, slog.Record) error {
	c.f()
	return nil
}
