package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/lab/internal/response"
)

// A stuck receiver takes nothing until it is released. It is a receiver for both exporters.
type stuck struct {
	released chan struct{}
	spans    atomic.Uint64 // of the SDK
}

func (s *stuck) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	<-s.released
	s.spans.Add(uint64(len(spans)))
	return nil
}

func (*stuck) Shutdown(context.Context) error { return nil }

func (s *stuck) Send(context.Context, []byte) exporter.Answer {
	<-s.released
	return exporter.Answer{}
}

// A queue is a delivery whose receiver is stuck.
type queue struct {
	name string
	open func(size int, to *stuck) (p sdktrace.SpanProcessor, arrived func() uint64, err error)
}

var queues = []queue{
	{"BatchSpanProcessor",
		func(size int, to *stuck) (sdktrace.SpanProcessor, func() uint64, error) {
			return sdktrace.NewBatchSpanProcessor(to, sdktrace.WithMaxQueueSize(size),
				sdktrace.WithExportTimeout(0)), to.spans.Load, nil
		}},
	{"exporter.Delivery", func(size int, to *stuck) (sdktrace.SpanProcessor, func() uint64, error) {
		d, err := exporter.NewDelivery(
			exporter.Config{Sender: to, QueueSize: size, QueueBytes: 1 << 30})
		if err != nil {
			return nil, nil, err
		}
		return d, func() uint64 { return d.Stats().Delivered }, nil
	}},
}

// heap returns the live heap that so many requests' spans take while they wait.
func (q queue) heap(ctx context.Context, requests int) (bytes uint64, err error) {
	spans := requests * int(shapes[0].spans)
	before := liveHeap()
	to := &stuck{released: make(chan struct{})}
	var arrived func() uint64
	p, err := sdk(func(context.Context, setting) (p sdktrace.SpanProcessor, err error) {
		p, arrived, err = q.open(spans, to)
		return p, err
	})(ctx, setting{sampler: always})
	if err != nil {
		return 0, err
	}
	load, err := openHTTP(contrib())
	if err != nil {
		return 0, errors.Join(err, p.shutdown(ctx))
	}
	w := response.NewDiscard()
	for range requests {
		w.Reset()
		load.handler.ServeHTTP(w, load.next())
	}
	bytes = liveHeap() - before
	close(to.released)
	if err := p.shutdown(ctx); err != nil {
		return 0, err
	}
	if n := arrived(); n != uint64(spans) { //nolint:gosec // not negative
		return 0, fmt.Errorf("%s: %d spans waited, want %d", q.name, n, spans)
	}
	return bytes, nil
}

// liveHeap returns the size of the live heap.
func liveHeap() uint64 {
	runtime.GC()
	runtime.GC() // what the first one made free for pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// heaps returns how many bytes the waiting spans take in each of the queues, and how many spans
// wait.
func heaps(ctx context.Context, atLeast int) (bytes []float64, spans int, err error) {
	each := int(shapes[0].spans)
	requests := (atLeast + each - 1) / each
	for _, q := range queues {
		n, err := q.heap(ctx, requests)
		if err != nil {
			return nil, 0, err
		}
		bytes = append(bytes, float64(n))
	}
	return bytes, requests * each, nil
}

// runHeap compares the heap of waiting spans.
func runHeap(ctx context.Context, o options) error {
	bytes, spans, err := heaps(ctx, o.waiting)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.out, "%s. Both queues have room for all spans.\n\n| %d spans wait in | MB | bytes a span | × |\n|---|---:|---:|---:|\n", platform(), spans)
	for i, q := range queues {
		fmt.Fprintf(o.out, "| %s | %.1f | %.0f | %.2f |\n", q.name, bytes[i]/1e6,
			bytes[i]/float64(spans), bytes[i]/bytes[0])
	}
	return addFigures(o, heapBudgetsOf(bytes))
}

func heapBudgets(ctx context.Context, o options) ([]budget, error) {
	bytes, _, err := heaps(ctx, o.waiting)
	if err != nil {
		return nil, err
	}
	return heapBudgetsOf(bytes), nil
}

func heapBudgetsOf(bytes []float64) []budget {
	return []budget{{oursAlone + heapRatio, bytes[1] / bytes[0], ""}}
}
