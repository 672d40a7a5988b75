package bridge

import (
	"context"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// hanging is a next processor that hangs until it is released.
type hanging struct {
	capture
	entered, release chan struct{}
}

func (h *hanging) OnEnd(sdktrace.ReadOnlySpan) {
	select {
	case h.entered <- struct{}{}:
	default:
	}
	<-h.release
}

func setUp(next sdktrace.SpanProcessor) (*Processor, *sdktrace.TracerProvider, context.Context) {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	p := NewProcessor(next, WithTimeline(tl))
	return p, sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p)), observer.NewContext(context.Background(), tl)
}

// Marks of spans that never end wait for some time and in some number.
func TestPendingMarksAreBounded(t *testing.T) {
	p, tp, base := setUp(&capture{})
	total := 0
	for range 700 {
		ctx, _ := tp.Tracer("t").Start(base, "never ends")
		for range 100 {
			marks.Mark(ctx, "m")
			total++
		}
		observer.FromContext(base).Flush() // or the timeline, faster than its collector, drops some itself
	}
	if err := p.ForceFlush(context.Background()); err != nil {
		t.Fatal(err)
	}
	w := &p.hub.worker // at rest after ForceFlush
	dropped := p.Stats().AgedOut
	if w.marks > maxPendingMarks || dropped == 0 || int(dropped)+w.marks != total {
		t.Errorf("%d marks wait, %d were dropped, of %d; the bound is %d", w.marks, dropped, total, maxPendingMarks)
	}
	w.sweep(time.Now())
	if got := p.Stats().AgedOut; got != dropped {
		t.Errorf("a sweep dropped %d marks that are young", got-dropped)
	}
	w.sweep(time.Now().Add(maxPendingAge + time.Second))
	if got := p.Stats().AgedOut; int(got) != total || w.marks != 0 || len(w.pending) != 0 {
		t.Errorf("after %v, %d aged out of %d, %d wait", maxPendingAge, got, total, w.marks)
	}
	if err := tp.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// A next processor that hangs fills the queue, and no more.
func TestQueueIsBounded(t *testing.T) {
	next := &hanging{entered: make(chan struct{}, 1), release: make(chan struct{})}
	p, tp, base := setUp(next)
	ctx, span := tp.Tracer("t").Start(base, "span")
	marks.Time(ctx, "the worker hangs in this one").End()
	<-next.entered
	const total = maxQueued + 50_000
	tl := observer.FromContext(ctx)
	for i := range total {
		marks.Mark(ctx, "m")
		if i%10_000 == 0 {
			tl.Flush() // or the timeline, faster than its collector, drops some itself
		}
	}
	tl.Flush()
	p.hub.mu.Lock()
	queued := p.hub.queued
	p.hub.mu.Unlock()
	if got := p.Stats().Overflow; queued > maxQueued || int(got) < total-maxQueued-1 {
		t.Errorf("%d queued and %d overflowed; the bound is %d of %d", queued, got, maxQueued, total)
	}
	close(next.release)
	span.End()
	if err := tp.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if s := p.Stats(); s.Events+s.Lost() != total || s.Events == 0 {
		t.Errorf("stats %+v are %d marks in all, want %d", s, s.Events+s.Lost(), total)
	}
}

// Spans that find the queue full are counted apart from marks and measures.
func TestSpansBeyondTheQueue(t *testing.T) {
	next := &hanging{entered: make(chan struct{}, 1), release: make(chan struct{})}
	p, tp, base := setUp(next)
	ctx, span := tp.Tracer("t").Start(base, "span")
	marks.Time(ctx, "the worker hangs in this one").End()
	<-next.entered
	const total = 2*maxQueued + 10_000
	tl := observer.FromContext(ctx)
	for i := range total {
		_, s := tp.Tracer("t").Start(base, "s")
		s.End()
		if i%10_000 == 0 {
			tl.Flush()
		}
	}
	tl.Flush()
	s := p.Stats()
	if s.Overflow != 0 || s.Dropped == 0 || s.Lost() != s.Dropped {
		t.Errorf("stats %+v, want spans only", s)
	}
	close(next.release)
	span.End()
	if err := tp.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if s := p.Stats(); s.Spans+s.Dropped != total+1 {
		t.Errorf("stats %+v, want %d spans", s, total+1)
	}
}
