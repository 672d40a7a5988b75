package timeline_test

import (
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/perfline/perfline/observer"
)

// A request's attributes do not stay in memory because an entry of another timeline does.
func TestAttributesOfRequestsAreFreed(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {}})
	const requests, each = 50, 20
	var freed atomic.Int64
	for range requests {
		request := tl.NewChild()
		for range each {
			value := new([64]byte)
			runtime.AddCleanup(value, func(struct{}) { freed.Add(1) }, struct{}{})
			rec(request).Record(observer.Mark, "of the request", 0, 0, []slog.Attr{slog.Any("held", value)})
		}
		rec(tl).Record(observer.Mark, "of the process", 0, 0, []slog.Attr{slog.Int("n", 1)})
		rec(tl).Flush() // the request is long: its entries are in its buffer now
		request.Close()
	}
	for range 200 {
		runtime.GC()
		if freed.Load() == requests*each {
			break
		}
		runtime.Gosched()
	}
	if n := freed.Load(); n != requests*each {
		t.Errorf("%d of %d values were freed", n, requests*each)
	}
	if n := len(tl.Entries()); n != requests {
		t.Errorf("the process's buffer has %d entries, want %d", n, requests)
	}
}

// An inlet without a writer does not hold the timelines of the entries that a pass took from it.
func TestTimelinesAreFreedAfterAPass(t *testing.T) {
	tl := undelivered()
	obs, _ := watch(t, tl, marksOnly)
	const requests = 200
	var freed atomic.Int64
	var all sync.WaitGroup
	for range requests { // goroutines write to many inlets
		spawn(&all, func() {
			request := tl.NewChild()
			runtime.AddCleanup(request, func(struct{}) { freed.Add(1) }, struct{}{})
			add(request, observer.Mark, "m")
			request.Close()
		})
	}
	all.Wait()
	if n := len(obs.TakeRecords()); n != requests {
		t.Fatalf("%d marks came, want %d", n, requests)
	}
	for range 200 {
		runtime.GC()
		if freed.Load() == requests {
			break
		}
		runtime.Gosched()
	}
	if n := freed.Load(); n != requests {
		t.Errorf("%d of %d timelines were freed", n, requests)
	}
	runtime.KeepAlive(tl)
}
