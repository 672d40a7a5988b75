package queue_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/internal/garbage"
	"github.com/perfline/perfline/internal/queue"
)

// A span is as large as the exporter's item.
type span struct {
	group *int
	bytes []byte
	count int
	_     *int // the storage of its bytes
}

func (s span) Count() int   { return s.count }
func (s span) Bytes() int   { return len(s.bytes) }
func (s span) Request() int { return len(s.bytes) }

func spans(c queue.Config[span]) *queue.Queue[span] {
	if c.Send == nil {
		c.Send = func(context.Context, []span) queue.Answer { return queue.Answer{} }
	}
	return queue.New(c)
}

// Add allocates nothing once there are blocks for a batch.
func TestAllocOfAdd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := spans(queue.Config[span]{MaxCount: 2048, BatchCount: 512, Delay: time.Hour})
		item := span{group: new(int), bytes: make([]byte, 300), count: 1}
		batch := func() {
			for range 512 {
				q.Add(item)
			}
			synctest.Wait()
		}
		batch()
		if n := testing.AllocsPerRun(100, batch); n > 0 {
			t.Errorf("%v allocations for 512 items", n)
		}
		if err := q.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A queue retains no item that was delivered, however many waited.
func TestDeliveredItemsAreFreed(t *testing.T) {
	q := spans(queue.Config[span]{BatchCount: 1 << 20, Delay: time.Hour})
	for _, items := range []int{10_000, 100} {
		var delivered garbage.Objects
		for range items {
			bytes := make([]byte, 64)
			garbage.Watch(&delivered, "item", &bytes[0])
			q.Add(span{bytes: bytes, count: 1})
		}
		if err := q.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		delivered.Wait(t)
	}
	if err := q.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// The cost of an item: Add, and its share of the batch that the other goroutine takes out and sends nowhere.
func BenchmarkAdd(b *testing.B) {
	q := spans(queue.Config[span]{MaxCount: 8192, MaxBytes: 32 << 20, BatchCount: 512, Delay: time.Hour})
	item := span{group: new(int), bytes: make([]byte, 300), count: 1}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if q.Add(item); i%4096 == 0 {
			_ = q.Flush(b.Context()) // so that none is dropped
		}
	}
	_ = q.Shutdown(b.Context())
	if s := q.Stats(); s.Dropped > 0 {
		b.Errorf("books are %+v", s)
	}
}

func BenchmarkAddToFullQueue(b *testing.B) {
	q := spans(queue.Config[span]{MaxCount: 512, BatchCount: 512, Send: func(ctx context.Context, _ []span) queue.Answer {
		<-ctx.Done()
		return queue.Answer{Err: ctx.Err()}
	}})
	item := span{group: new(int), bytes: make([]byte, 300), count: 1}
	for range 1000 {
		q.Add(item)
	}
	b.ReportAllocs()
	for b.Loop() {
		q.Add(item)
	}
	ctx, cancel := context.WithCancel(b.Context())
	cancel()
	_ = q.Shutdown(ctx)
}
