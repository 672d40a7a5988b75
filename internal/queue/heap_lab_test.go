//go:build lab

package queue_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/queue"
)

// 100 000 items that wait take little more than their own room, and leave little behind.
func TestLabHeapOfWaiting(t *testing.T) {
	const items = 100_000
	q := spans(queue.Config[span]{BatchCount: 2 * items, Delay: time.Hour})
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	before := heap()
	for range items {
		q.Add(span{bytes: make([]byte, 64), count: 1})
	}
	per := (heap()-before)/items - 64 // without its bytes
	t.Logf("%.1f bytes for an item of 48", per)
	if per > 56 {
		t.Errorf("%.1f bytes for an item of 48", per)
	}
	if err := q.Flush(t.Context()); err != nil {
		t.Error(err)
	}
	if left := heap() - before; left > 150_000 {
		t.Errorf("%.0f bytes are left", left)
	}
	if err := q.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
