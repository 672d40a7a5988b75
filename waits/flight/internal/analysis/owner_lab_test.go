//go:build lab

package analysis_test

import (
	"context"
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
