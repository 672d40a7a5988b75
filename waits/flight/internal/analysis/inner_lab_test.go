//go:build lab

package analysis_test

import (
	"context"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/internal/tracelog"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

var _ = add(map[string]func(*recorder){
	"inner": func(r *recorder) {
		r.trace(func() {
			r.want(do("GET /", func() {
				rest()
				within("outer", func() {
					within("first", rest)
					rest()
					rest()
					within("second", func() {
						for range 4 {
							rest()
						}
					})
					elsewhere(func() { within("worker", rest) })
				})
			}))
		})
	},
	"inner-others": func(r *recorder) {
		r.trace(func() {
			jobs, results := make(chan func()), make(chan int)
			go work(jobs, results)
			time.Sleep(long / 4) // until the worker waits
			r.want(do("GET /", func() {
				within("load", func() {
					done := make(chan int)
					late(done)
					receive(done)
				})
				within("job", func() {
					jobs <- func() { time.Sleep(3 * long) }
					receive(results)
				})
			}))
			close(jobs)
		})
	},
	"inner-before-trace": func(r *recorder) {
		x := start("GET /")
		r.trace(func() {
			within("load", rest)
			x.end()
			do("GET /other", func() { within("load", rest) })
		})
		r.want(x)
	},
	"inner-out-of-order": func(r *recorder) {
		r.trace(func() {
			r.want(do("GET /", func() {
				first, second := newSpan().SpanID(), newSpan().SpanID()
				goroutine, began := goruntime.GoroutineID(), goruntime.Nanotime()
				rest()
				then := goruntime.Nanotime()
				rest()
				ended := goruntime.Nanotime()
				rest()
				tracelog.Inner(second, goroutine, then, goruntime.Nanotime(), "second")
				elsewhere(func() { tracelog.Inner(first, goroutine, began, ended, "first") })
			}))
		})
	},
	"inner-earlier-request": func(r *recorder) {
		r.trace(func() {
			goroutine, began := goruntime.GoroutineID(), int64(0)
			do("GET /a", func() { began = goruntime.Nanotime() })
			r.want(do("GET /b", func() {
				rest()
				late := newSpan().SpanID()
				elsewhere(func() { tracelog.Inner(late, goroutine, began, goruntime.Nanotime(), "of GET /a") })
			}))
		})
	},
	"inner-before-root": func(r *recorder) {
		r.trace(func() {
			began := goruntime.Nanotime()
			r.want(do("GET /", func() {
				rest()
				tracelog.Inner(newSpan().SpanID(), goruntime.GoroutineID(), began, goruntime.Nanotime(), "all")
				rest()
			}))
		})
	},
	"inner-function": func(r *recorder) {
		r.trace(func() {
			r.want(do("GET /", func() {
				within("page", func() { sink.Add(hash(2_000_000)) })
			}))
		})
	},
	"provider": func(r *recorder) {
		provider := bridge.NewTracerProvider(bridge.TracerProviderConfig{
			Timeline:   observer.NewTimeline(observer.TimelineOptions{}),
			Processors: []sdk.SpanProcessor{tracetest.NewSpanRecorder()},
		})
		defer func() { _ = provider.Shutdown(context.Background()) }()
		tracedBy(r, provider.Tracer("test"), func(ctx context.Context) func() {
			timer := marks.Time(ctx, "measure")
			return func() { timer.End() }
		})
	},
	"provider-sdk": func(r *recorder) {
		processor := bridge.NewProcessor(bridge.ProcessorConfig{
			Timeline: observer.NewTimeline(observer.TimelineOptions{}),
		})
		provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(processor))
		defer func() { _ = provider.Shutdown(context.Background()) }()
		tracer := provider.Tracer("test")
		tracedBy(r, tracer, func(ctx context.Context) func() {
			_, span := tracer.Start(ctx, "measure")
			return func() { span.End() }
		})
	},
})

// within runs f as an inner span of this goroutine.
//
//go:noinline
func within(name string, f func()) {
	goroutine, began := goruntime.GoroutineID(), goruntime.Nanotime()
	f()
	tracelog.Inner(newSpan().SpanID(), goroutine, began, goruntime.Nanotime(), name)
}

// tracedBy makes spans with a tracer, and a measure. Each has another number of rests.
func tracedBy(r *recorder, tracer trace.Tracer, measure func(context.Context) (end func())) {
	ctx := trace.ContextWithRemoteSpanContext(context.Background(), trace.NewSpanContext(
		trace.SpanContextConfig{TraceID: traceID, SpanID: id(1), TraceFlags: trace.FlagsSampled}))
	goruntime.GoroutineID() // the first call finds out where the runtime has it
	r.trace(func() {
		began := time.Now()
		ctx, span := tracer.Start(ctx, "GET /", trace.WithSpanKind(trace.SpanKindServer))
		func() {
			defer measure(ctx)()
			rest()
		}()
		func() {
			ctx, span := tracer.Start(ctx, "same")
			defer span.End()
			time.Sleep(2 * long)
			elsewhere(func() {
				ctx, span := tracer.Start(ctx, "other")
				defer span.End()
				_, inside := tracer.Start(ctx, "inside")
				time.Sleep(4 * long)
				inside.End()
				time.Sleep(3 * long)
			})
		}()
		took := time.Since(began)
		span.End()
		r.roots = append(r.roots, root{id: span.SpanContext().SpanID(), began: began, took: took, name: "GET /"})
	})
}
