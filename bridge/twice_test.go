package bridge

import (
	"context"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// collecting counts the events of each span it is given.
type collecting struct {
	capture
	events map[string]int
}

func (c *collecting) OnEnd(s sdktrace.ReadOnlySpan) { c.events[s.Name()] += len(s.Events()) }

// A provider with two processors ends each span twice. The second end may come
// passes later, and must find the marks.
func TestSecondProcessorPassesLater(t *testing.T) {
	t.Run("there from the start", func(t *testing.T) { testSecondProcessor(t, false) })
	t.Run("registered after the mark", func(t *testing.T) { testSecondProcessor(t, true) })
}

func testSecondProcessor(t *testing.T, registeredLate bool) {
	first, second := &collecting{events: map[string]int{}}, &collecting{events: map[string]int{}}
	tl := observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {}})
	base := observer.NewContext(context.Background(), tl)
	p := NewProcessor(first, WithTimeline(tl))
	// Only the first hears of the end by itself; the second's is posted by hand.
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p))
	var q *Processor
	register := func() {
		q = NewProcessor(second, WithTimeline(tl))
		q.Bind(tp)
	}
	pass := func() {
		tl.Flush()
		if err := p.hub.wait(context.Background()); err != nil {
			t.Fatal(err)
		}
	}

	if !registeredLate {
		register()
	}
	ctx, span := tp.Tracer("t").Start(base, "span")
	marks.Mark(ctx, "mark")
	pass()
	if registeredLate {
		register()
	}
	span.End()
	pass()        // brings the first end
	for range 5 { // other traffic, while something slow stands between the two
		_, other := tp.Tracer("t").Start(base, "other")
		other.End()
		pass()
	}
	ended, ok := span.(sdktrace.ReadOnlySpan)
	if !ok || !tl.Post(&postedSpan{span: ended, to: q}) {
		t.Fatal("the second end was not taken")
	}
	pass() // brings the second
	pass() // hands the second over
	for name, c := range map[string]*collecting{"first": first, "second": second} {
		if got := c.events["span"]; got != 1 {
			t.Errorf("the %s processor has %d events, want the mark", name, got)
		}
	}
	marks.Mark(ctx, "late") // a pass that has something to do
	pass()
	if n := len(p.hub.worker.pending); n != 0 || p.Stats().Late != 1 {
		t.Errorf("%d spans are still remembered, %+v", n, p.Stats())
	}
	if err := tp.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := q.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
}
