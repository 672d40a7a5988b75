package timeline_test

import (
	"log/slog"
	"runtime"
	"sync"
	"testing"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

// A request's attributes do not stay in memory because an entry of another timeline does.
func TestAttributesOfRequestsAreFreed(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {}})
	const requests, each = 50, 20
	values := make(freed, requests*each)
	for range requests {
		request := tl.NewChild()
		for range each {
			value := new([64]byte)
			watchFreed(values, value)
			rec(request).Record(record.Mark, "of the request", 0, 0, []slog.Attr{slog.Any("held", value)})
		}
		rec(tl).Record(record.Mark, "of the process", 0, 0, []slog.Attr{slog.Int("n", 1)})
		rec(tl).Flush() // the request is long: its entries are in its buffer now
		request.Close()
	}
	values.wait(t, requests*each)
	if n := len(tl.Entries()); n != requests {
		t.Errorf("the process's buffer has %d entries, want %d", n, requests)
	}
}

// An inlet without a writer does not hold the timelines of the entries that a pass took from it.
func TestTimelinesAreFreedAfterAPass(t *testing.T) {
	tl := undelivered()
	obs, _ := watch(t, tl, marksOnly)
	const requests = 200
	timelines := make(freed, requests)
	var all sync.WaitGroup
	for range requests { // goroutines write to many inlets
		spawn(&all, func() {
			request := tl.NewChild()
			watchFreed(timelines, request)
			add(request, observer.Mark, "m")
			request.Close()
		})
	}
	all.Wait()
	if n := len(obs.TakeRecords()); n != requests {
		t.Fatalf("%d marks came, want %d", n, requests)
	}
	timelines.wait(t, requests)
	runtime.KeepAlive(tl)
}
