package bridge

import (
	"context"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// A provider with two processors ends each span twice. The second end may come a
// pass later, and must find the marks.
func TestSecondProcessorAPassLater(t *testing.T) {
	first, second := &capture{}, &capture{}
	tl := observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {}})
	p := NewProcessor(first, WithTimeline(tl))
	q := NewProcessor(second, WithTimeline(tl))
	// Only the first hears of the end by itself; the second's is posted by hand.
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p))
	q.Bind(tp)
	ctx, span := tp.Tracer("t").Start(observer.NewContext(context.Background(), tl), "span")
	marks.Mark(ctx, "mark")
	span.End()
	pass := func() {
		tl.Flush()
		if err := p.hub.wait(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	pass() // brings the first end
	ended, ok := span.(sdktrace.ReadOnlySpan)
	if !ok || !tl.Post(&endedSpan{span: ended, to: q}) {
		t.Fatal("the second end was not taken")
	}
	pass() // hands the first over, brings the second
	pass() // hands the second over
	for name, c := range map[string]*capture{"first": first, "second": second} {
		if c.span == nil || len(c.span.Events()) != 1 {
			t.Errorf("the %s processor has %v, want the span with its mark", name, c.span)
		}
	}
	pass()
	if n := len(p.hub.worker.pending); n != 0 {
		t.Errorf("%d spans are still remembered", n)
	}
	if err := tp.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := q.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
}
