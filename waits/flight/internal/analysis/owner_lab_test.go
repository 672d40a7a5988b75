//go:build lab

package analysis_test

import (
	"context"
	rt "runtime/trace"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/tracelog"
)

var _ = add(map[string]func(*recorder){
	"children": func(r *recorder) {
		r.trace(func() {
			x := start("GET /")
			loadAll(x, newSpan().SpanID())
			x.end()
			r.want(x)
		})
	},
	"worker": func(r *recorder) {
		r.trace(func() {
			jobs, results := make(chan func()), make(chan int)
			go work(jobs, results)
			for _, name := range []string{"GET /1", "GET /2"} {
				time.Sleep(long / 4) // until the worker waits
				r.want(do(name, func() {
					jobs <- rest
					receive(results)
				}))
			}
			close(jobs)
		})
	},
	"handed-over": handedOver,
	"within-before-trace": func(r *recorder) {
		span := newSpan()
		beforeTraced(r, func(x *request) {
			elsewhere(func() {
				tracelog.Within(x.span.SpanID(), span, "load")
				rest()
				tracelog.End(span.SpanID(), "load")
			})
		})
	},
	"task-before-trace": func(r *recorder) {
		beforeTraced(r, func(x *request) {
			elsewhere(func() { loadItem(x.ctx) })
		})
	},
	"span-before-trace": func(r *recorder) { // before the tracer began, the request had no task
		beforeTraced(r, func(*request) { elsewhere(func() { loadItem(context.Background()) }) })
	},
	"holder-before-trace": func(r *recorder) {
		var x index
		traced, locked, done := make(chan bool), make(chan bool), make(chan bool)
		began := make(chan bool)
		go func() {
			do("GET /old", func() {
				y := startCalled("GET", id(1), func() {}) // another instrumentation, inside
				close(began)
				<-traced
				x.rebuild(locked)
				y.end()
			})
			close(done)
		}()
		<-began
		r.trace(func() {
			close(traced)
			<-locked
			r.want(do("GET /", x.lookUp))
			<-done
		})
	},
	"task-of-another": func(r *recorder) {
		r.trace(func() {
			x := start("GET /")
			ctx, task := rt.NewTask(x.ctx, "load")
			elsewhere(func() { loadItem(ctx) })
			task.End()
			x.end()
			r.want(x)
		})
	},
	"instrumented-twice": func(r *recorder) {
		r.trace(func() {
			x := start("GET /")
			y := startCalled("GET /items", x.span.SpanID(), func() {})
			elsewhere(func() { loadItem(y.ctx) })
			y.end()
			x.end()
			r.want(x, y)
		})
	},
	"unknown-root": func(r *recorder) {
		old := start("GET /old")
		r.trace(func() {
			var x index
			locked, done := make(chan bool), make(chan bool)
			go func() {
				span, inside := newSpan().SpanID(), newSpan().SpanID()
				tracelog.Start(old.ctx, span, "load")
				tracelog.Start(context.Background(), inside, "inside") // of a tracer without tasks
				x.rebuild(locked)
				tracelog.End(inside, "inside")
				tracelog.End(span, "load")
				close(done)
			}()
			<-locked
			r.want(do("GET /", x.lookUp))
			<-done
		})
		old.end()
	},
	"ends-elsewhere": func(r *recorder) {
		r.trace(func() {
			done := make(chan bool)
			go func() {
				x := start("message")
				go func() {
					rest()
					x.end()
					r.want(x)
					close(done)
				}()
			}()
			<-done
		})
	},
	"serves-another": func(r *recorder) {
		r.trace(func() {
			served := make(chan bool)
			elsewhere(func() {
				x := start("message 1")
				go func() {
					rest()
					x.end()
					r.want(x)
					close(served)
				}()
				do("message 2", func() { time.Sleep(2 * long) })
			})
			<-served
		})
	},
})

// beforeTraced begins a request, and runs f for the request in a trace.
func beforeTraced(r *recorder, f func(*request)) {
	started, traced, done := make(chan bool), make(chan bool), make(chan bool)
	go func() {
		x := start("GET /")
		close(started)
		<-traced
		f(x)
		x.end()
		r.want(x)
		close(done)
	}()
	<-started
	r.trace(func() {
		close(traced)
		<-done
	})
}

// handedOver ends the waits of requests that began before the trace, in a request of the trace.
func handedOver(r *recorder) {
	blockers, closed := r.blockers()
	defer closed()
	blockers = slices.DeleteFunc(blockers, func(b blocker) bool { return b.name == "sleep" })
	var all sync.WaitGroup
	var requests []*request
	for i := range blockers {
		block := blockers[i].block
		blockers[i].block = func() {
			block()
			time.Sleep(2 * long)
		}
		requests = append(requests, blockers[i].blockIn(&all))
	}
	time.Sleep(long) // until all wait
	r.trace(func() {
		r.want(do("GET /", func() {
			for i := range blockers {
				blockers[i].release()
			}
			rest()
		}))
		all.Wait()
	})
	r.want(requests...)
}

// loadItem has a span.
func loadItem(ctx context.Context) {
	span := newSpan().SpanID()
	tracelog.Start(ctx, span, "load")
	rest()
	tracelog.End(span, "load")
}

// loadAll has a span, whose work is done by a goroutine of a goroutine.
func loadAll(x *request, span trace.SpanID) {
	tracelog.Start(x.ctx, span, "load")
	done := make(chan int)
	go func() {
		go func() {
			rest()
			done <- 1
		}()
	}()
	receive(done)
	tracelog.End(span, "load all")
}

// work does jobs until there are no more.
func work(jobs <-chan func(), results chan<- int) {
	for job := range jobs {
		job()
		results <- 1
	}
}
