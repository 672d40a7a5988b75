package analysis_test

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/internal/tracelog"
	"github.com/perfline/perfline/profiling/flight/internal/analysis"
)

// A program is what a request does: steps, some of which have programs of their own.
type step struct {
	what     int
	children []step
}

func steps(t *rapid.T, depth int) []step {
	list := make([]step, rapid.IntRange(0, 4).Draw(t, "steps"))
	for i := range list {
		list[i].what = rapid.IntRange(0, 10).Draw(t, "what")
		if depth > 0 && (list[i].what <= 2 || list[i].what == 9) {
			list[i].children = steps(t, depth-1)
		}
	}
	return list
}

// A world is what the requests of a test share.
type world struct {
	mu   sync.Mutex
	jobs chan func()
}

func (w *world) run(ctx context.Context, list []step) {
	var children sync.WaitGroup
	for _, s := range list {
		switch s.what {
		case 0:
			children.Go(func() { w.run(ctx, s.children) })
		case 1:
			id := newSpan().SpanID()
			tracelog.Start(ctx, id, "span")
			w.run(ctx, s.children)
			tracelog.End(id, "span")
		case 2:
			done := make(chan bool)
			w.jobs <- func() { w.run(ctx, s.children); close(done) }
			<-done
		case 3:
			w.mu.Lock()
			time.Sleep(10 * time.Microsecond)
			w.mu.Unlock()
		case 4:
			time.Sleep(50 * time.Microsecond)
		case 5:
			sink.Add(hash(10_000))
		case 6:
			select {
			case <-time.After(20 * time.Microsecond):
			case <-ctx.Done():
			}
		case 7:
			children.Wait()
		case 8:
			// A span that ends on another goroutine.
			id := newSpan().SpanID()
			tracelog.Start(ctx, id, "passed on")
			children.Go(func() { tracelog.End(id, "passed on") })
		case 9:
			id, goroutine, began := newSpan().SpanID(), goruntime.GoroutineID(), goruntime.Nanotime()
			w.run(ctx, s.children)
			tracelog.Inner(id, goroutine, began, goruntime.Nanotime(), "inner")
		case 10:
			// Its times are not within the times of the spans around it.
			now := goruntime.Nanotime()
			tracelog.Inner(newSpan().SpanID(), goruntime.GoroutineID(), now-30_000, now-10_000, "earlier")
		}
	}
	children.Wait()
}

// Whatever requests do, intervals and causes add up, and all requests are found.
func TestAnyRequests(t *testing.T) {
	if tracelog.Enabled() {
		t.Skip("the execution tracer is in use")
	}
	rapid.Check(t, func(rt *rapid.T) {
		programs := [][]step{steps(rt, 3), steps(rt, 3), steps(rt, 3)}
		var requests []*request
		data := record(t, func() { requests = play(programs) })
		var wanted []analysis.Root
		for _, r := range requests {
			wanted = append(wanted, r.root())
		}
		pauses := 0
		results, err := analysis.Read(bytes.NewReader(data), wanted, func() { pauses++ })
		if err != nil {
			rt.Fatal(err)
		}
		if len(results) != len(wanted) {
			rt.Errorf("Read returns %d requests of %d", len(results), len(wanted))
		}
		for i := range results {
			check(t, &results[i])
			if results[i].RootID != wanted[i].SpanID {
				rt.Errorf("request %d is %v, want %v", i, results[i].RootID, wanted[i].SpanID)
			}
		}
	})
}

// play runs one request for each program at the same time.
func play(programs [][]step) []*request {
	w := &world{jobs: make(chan func())}
	for range 2 * len(programs) {
		go func() {
			for job := range w.jobs {
				go job() // a job may wait for other jobs
			}
		}()
	}
	requests := make([]*request, len(programs))
	var all sync.WaitGroup
	for i, p := range programs {
		all.Go(func() {
			requests[i] = start("GET /")
			w.run(requests[i].ctx, p)
			requests[i].end()
		})
	}
	all.Wait()
	close(w.jobs)
	return requests
}
