package main

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/profiling"
)

const labelGroup = "a span that a profiler can tell"

// Names of rows, that budgets refer to.
const (
	plainSpan   = "OpenTelemetry `Start`/`End`"
	theirLabels = "the same with otel-profiling-go"
	unlabelled  = "OpenTelemetry `Start`/`End` with perfline's provider"
	labelled    = "the same while a session samples"
	rootsOnly   = "the same while a session samples local roots, under one"

	plainRequest      = "a request's five spans, OpenTelemetry"
	theirRequest      = "a request's five spans with otel-profiling-go"
	unlabelledRequest = "a request's five spans with perfline's provider"
	labelledRequest   = "a request's five spans while a session samples"
	rootsRequest      = "a request's five spans while a session samples local roots"
)

// spansOfRequest are a local root and what is in it.
const spansOfRequest = 5

// labelRows are spans whose goroutines are labelled for profilers, and those that are
// not.
func labelRows() (rows []*row) {
	span := func(ctx context.Context, tracer trace.Tracer, n int) {
		for range n {
			_, s := tracer.Start(ctx, "t")
			s.End()
		}
	}
	request := func(ctx context.Context, tracer trace.Tracer, n int) {
		for range n {
			ctx, root := tracer.Start(ctx, "GET /products/{id}")
			span(ctx, tracer, spansOfRequest-1)
			root.End()
		}
	}
	for _, r := range []struct {
		name   string
		own    bool
		whole  bool // the calls are requests, not spans under one
		op     func(context.Context, trace.Tracer, int)
		wrap   func(trace.TracerProvider) trace.TracerProvider
		around func() (func(), error)
	}{
		{plainSpan, false, false, span, nil, nil},
		{theirLabels, false, false, span, profiled, nil},
		{unlabelled, true, false, span, nil, nil},
		{labelled, true, false, span, nil, session(profiling.EverySpan)},
		{rootsOnly, true, false, span, nil, session(profiling.LocalRoots)},
		{plainRequest, false, true, request, nil, nil},
		{theirRequest, false, true, request, profiled, nil},
		{unlabelledRequest, true, true, request, nil, nil},
		{labelledRequest, true, true, request, nil, session(profiling.EverySpan)},
		{rootsRequest, true, true, request, nil, session(profiling.LocalRoots)},
		{"perfline `Start…End`", true, false, ours(startEnd0), nil, nil},
		{"perfline `Start…End` while a session samples", true, false, ours(startEnd0), nil,
			session(profiling.EverySpan)},
	} {
		rows = append(rows, &row{group: labelGroup, name: r.name, procs: 1,
			open: func() (*bench, error) {
				w := newWay(r.own, true, 1)
				if r.wrap != nil {
					w.tracer = r.wrap(w.provider).Tracer("lab")
				}
				if !r.whole {
					w.begin(1)
				}
				b := &bench{
					burst: perSpan, settle: w.settle, around: r.around, check: w.spans(true),
					op:    w.under(func(ctx context.Context, n int) { r.op(ctx, w.tracer, n) }),
					close: func() error { return w.provider.Shutdown(context.Background()) },
				}
				if r.whole {
					b.burst = perSpan / spansOfRequest
					b.op = func(n int) { r.op(context.Background(), w.tracer, n) }
					b.check = w.spansOf(spansOfRequest)
				}
				return b, nil
			}})
	}
	return rows
}

// session samples until the function returned is called.
func session(scope profiling.Selection) func() (stop func(), err error) {
	return func() (func(), error) {
		p, err := profiling.Start(context.Background(), profiling.Options{
			SampleInterval: 10 * time.Millisecond, MaxBufferSize: 1_000_000, Spans: scope})
		if err != nil {
			return nil, err
		}
		return func() { _, _ = p.Stop() }, nil
	}
}
