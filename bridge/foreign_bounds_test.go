package bridge

import (
	"context"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/underway"
	"github.com/perfline/perfline/observer"
)

// Spans that never end take up some room and no more, and keep no others from
// joining; those that made room are counted, and all go their way to the next
// processor.
func TestForeignSpansUnderWayAreBounded(t *testing.T) {
	p, tp, base := setUp(&capture{})
	tl := observer.FromContext(base).NewChild()
	ctx := observer.NewContext(context.Background(), tl)
	const bound = underway.Max
	total := bound + 8<<10
	for range total {
		tp.Tracer("t").Start(ctx, "never ends")
	}
	waiting := p.hub.foreign.Len()
	if unjoined := p.Stats().Unjoined; waiting > bound || waiting < bound*9/10 || int(unjoined)+waiting != total {
		t.Errorf("%d wait, %d made room, of %d; the bound is %d", waiting, unjoined, total, bound)
	}
	for range 100 {
		_, span := tp.Tracer("t").Start(ctx, "ends")
		span.End()
	}
	if err := tp.ForceFlush(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n, s := len(tl.EntriesByName("ends")), p.Stats(); n != 100 || s.Spans != 100 || s.Lost() != 0 {
		t.Errorf("%d of 100 joined, %+v", n, s)
	}
	if err := tp.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// numbered numbers the spans of each trace from 1.
type numbered struct{ traces byte }

func (n *numbered) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	n.traces++
	return trace.TraceID{n.traces}, n.NewSpanID(ctx, trace.TraceID{})
}

func (n *numbered) NewSpanID(context.Context, trace.TraceID) trace.SpanID { return trace.SpanID{7: 1} }

// Ids of spans need be unique in their trace only.
func TestForeignSpansOfEqualIDs(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	tp := sdktrace.NewTracerProvider(sdktrace.WithIDGenerator(&numbered{}), sdktrace.WithSpanProcessor(NewProcessor(&capture{}, WithTimeline(tl))))
	var timelines []*observer.Timeline
	var spans []trace.Span
	for _, name := range []string{"a", "b"} {
		child := tl.NewChild()
		_, span := tp.Tracer("t").Start(observer.NewContext(context.Background(), child), name)
		timelines, spans = append(timelines, child), append(spans, span)
	}
	for i, name := range []string{"a", "b"} {
		spans[i].End()
		if got := timelines[i].Entries(); len(got) != 1 || got[0].Name() != name {
			t.Errorf("the timeline of %q has %v", name, got)
		}
	}
	if err := tp.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// A processor that was shut down while its provider goes on keeps nothing.
func TestForeignSpansAfterShutdown(t *testing.T) {
	p, tp, base := setUp(&capture{})
	ctx := observer.NewContext(context.Background(), observer.FromContext(base).NewChild())
	tp.Tracer("t").Start(ctx, "before")
	if n := p.hub.foreign.Len(); n != 1 {
		t.Errorf("%d wait before", n)
	}
	if err := p.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	tp.Tracer("t").Start(ctx, "after")
	if n := p.hub.foreign.Len(); n != 0 {
		t.Errorf("%d wait after", n)
	}
}
