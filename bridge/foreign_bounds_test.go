package bridge_test

import (
	"context"
	"runtime"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/internal/garbage"
	"github.com/perfline/perfline/internal/underway"
	"github.com/perfline/perfline/observer"
)

// Spans of the SDK that never end take up some room and no more, and keep no others from joining. Those that made room are
// counted. All go their way to the exporter.
func TestForeignSpansUnderWayAreBounded(t *testing.T) {
	r := newRig(t, bothproviders.SDK, bothproviders.Options{})
	ctx, end := r.request()
	defer end()
	const bound = underway.Max
	total := bound + 8<<10
	for range total {
		r.tracer.Start(ctx, "never ends")
	}
	if n := int(r.stats().SpansOffTimeline); n < total-bound || n > total-bound*9/10 {
		t.Errorf("%d made room, of %d; the bound is %d", n, total, bound)
	}
	for range 100 {
		_, span := r.tracer.Start(ctx, "ends")
		span.End()
	}
	if n := len(observer.FromContext(ctx).EntriesByName("ends")); n != 100 || len(r.got.all()) != 100 {
		t.Errorf("%d of 100 joined, %d arrived", n, len(r.got.all()))
	}
}

// sameIDs gives all spans the same id, in traces of their own.
type sameIDs struct{ traces byte }

func (s *sameIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	s.traces++
	return trace.TraceID{s.traces}, s.NewSpanID(ctx, trace.TraceID{})
}

func (*sameIDs) NewSpanID(context.Context, trace.TraceID) trace.SpanID { return trace.SpanID{7: 1} }

// Ids of spans need be unique in their trace only.
func TestForeignSpansOfEqualIDs(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	tp := sdktrace.NewTracerProvider(sdktrace.WithIDGenerator(&sameIDs{}), sdktrace.WithSpanProcessor(bridge.NewProcessor(bridge.ProcessorConfig{Timeline: tl})))
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

// A processor that was shut down while its provider goes on keeps no timeline of a request, however many processors there were.
func TestForeignSpansAfterShutdown(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	tp := sdktrace.NewTracerProvider()
	var all []*bridge.Processor
	for range 2 {
		p := bridge.NewProcessor(bridge.ProcessorConfig{Timeline: tl})
		tp.RegisterSpanProcessor(p)
		all = append(all, p)
	}
	var requests garbage.Objects
	start := func() {
		request := tl.NewChild()
		garbage.Watch(&requests, "timeline", request)
		tp.Tracer("t").Start(observer.NewContext(context.Background(), request), "never ends")
	}
	start()
	for _, p := range all {
		if err := p.Shutdown(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	start()
	requests.Wait(t)
	runtime.KeepAlive(all)
	runtime.KeepAlive(tp)
}
