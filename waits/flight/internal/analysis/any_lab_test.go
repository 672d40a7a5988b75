//go:build lab

package analysis_test

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/internal/tracelog"
)

var _ = add(map[string]func(*recorder){
	"any-1": random(1),
	"any-2": random(2),
	"any-3": random(3),
	"any-4": random(4),
})

// Whatever requests do, intervals and causes add up, and all requests are found.
func TestLabAnyRequests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &recorder{judge: t}
		choose := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }
		programs := [][]step{steps(choose, 3), steps(choose, 3), steps(choose, 3)}
		r.trace(func() { r.want(play(programs)...) })
		r.read(t, r.wanted()...)
	})
}

// random returns a scenario of three requests with random steps. One more does not end.
func random(seed uint64) func(*recorder) {
	return func(r *recorder) {
		r.others = true
		choose := rand.New(rand.NewPCG(seed, 0)).IntN
		programs := [][]step{steps(choose, 3), steps(choose, 3), steps(choose, 3)}
		r.trace(func() {
			r.want(play(programs)...)
			r.want(start("GET /unended"))
		})
	}
}

// A program is what a request does: steps, some of which have programs of their own.
type step struct {
	what     int
	children []step
}

func steps(choose func(int) int, depth int) []step {
	list := make([]step, choose(4))
	for i := range list {
		list[i].what = choose(11)
		if depth > 0 && (list[i].what <= 2 || list[i].what == 9) {
			list[i].children = steps(choose, depth-1)
		}
	}
	return list
}

// A world is what the requests of a program share.
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
			requests[i] = start("GET /" + strconv.Itoa(i+1))
			w.run(requests[i].ctx, p)
			requests[i].end()
		})
	}
	all.Wait()
	close(w.jobs)
	return requests
}
