package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// Marks made on other goroutines, up to the moment before End, arrive on their
// own span, whichever buffer they went through.
func TestNoMarkIsMissing(t *testing.T) {
	const inFlight, rounds = 64, 40
	r := withProcessor(t)
	var wg sync.WaitGroup
	for w := range inFlight {
		wg.Go(func() {
			for round := range rounds {
				id := slog.Int("id", w*rounds+round)
				ctx, span := r.tracer.Start(r.ctx, "span", trace.WithAttributes(attribute.Int("id", w*rounds+round)))
				if round%2 == 0 { // half of them on a request's timeline
					child := r.tl.NewChild()
					ctx = observer.NewContext(ctx, child)
					defer child.Close()
				}
				var helpers sync.WaitGroup
				for range 3 {
					helpers.Go(func() { marks.Mark(ctx, "m", id) })
				}
				inner, started := marks.Start(ctx, "started", id)
				helpers.Go(func() { marks.Mark(inner, "m", id) })
				helpers.Wait()
				started.End()
				marks.Mark(ctx, "m", id)
				span.End()
			}
		})
	}
	wg.Wait()
	r.flush(t)
	count := map[string]int{}
	for _, s := range r.got.all() {
		count[s.Name()]++
		want := map[string]int{"span": 4, "started": 1}[s.Name()]
		if len(s.Events()) != want {
			t.Errorf("%q has %d events, want %d", s.Name(), len(s.Events()), want)
		}
		for _, e := range s.Events() {
			if e.Attributes[0] != s.Attributes()[0] {
				t.Errorf("a mark of %v is on span %v", e.Attributes[0], s.Attributes()[0])
			}
		}
	}
	if n := inFlight * rounds; count["span"] != n || count["started"] != n {
		t.Errorf("spans: %v, want %d each", count, n)
	}
	if s := r.proc.Stats(); s.Lost() != 0 || s.Events != 5*inFlight*rounds {
		t.Errorf("stats %+v, want %d events and nothing lost", s, 5*inFlight*rounds)
	}
}

func TestLateMarks(t *testing.T) {
	r := withProcessor(t)
	ctx, span := r.tracer.Start(r.ctx, "span")
	marks.Mark(ctx, "in time")
	span.End()
	marks.Mark(ctx, "late")
	r.flush(t)
	marks.Mark(ctx, "after hand-over")
	startedCtx, started := marks.Start(ctx, "started")
	started.End()
	marks.Mark(startedCtx, "late too")
	if err := r.provider.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := events(r.got.one(t, "span")); !slices.Equal(got, []string{"in time"}) {
		t.Errorf("events %v", got)
	}
	if s := r.proc.Stats(); s.Late != 3 || s.Events != 1 {
		t.Errorf("stats %+v, want 3 late, 1 event", s)
	}
}

func TestSpanLimits(t *testing.T) {
	limits := sdktrace.NewSpanLimits()
	limits.EventCountLimit = 3
	limits.AttributePerEventCountLimit = 2
	limits.AttributeCountLimit = 2
	limits.AttributeValueLengthLimit = 2
	r := &rig{tl: observer.NewTimeline(observer.TimelineOptions{}), got: &recorder{}}
	r.proc = bridge.NewProcessor(r.got, bridge.WithTimeline(r.tl), bridge.WithSpanLimits(limits))
	r.provider = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r.proc), sdktrace.WithRawSpanLimits(limits))
	r.ready(t)
	ctx, span := r.tracer.Start(r.ctx, "span")
	span.AddEvent("own")
	for i := range 5 {
		marks.Mark(ctx, fmt.Sprint(i), slog.String("a", "äöü"), slog.Any("b", []string{"xyz", "x"}), slog.Int("c", 3))
	}
	marks.Time(ctx, "leaf", slog.String("a", "äöü"), slog.Any("b", []byte("xyz")), slog.Int("c", 3)).End()
	span.End()
	r.flush(t)
	s := r.got.one(t, "span")
	if !slices.Equal(events(s), []string{"2", "3", "4"}) || s.DroppedEvents() != 3 {
		t.Errorf("events %v, %d dropped; want the newest three and 3 dropped", events(s), s.DroppedEvents())
	}
	if e := s.Events()[0]; text(e.Attributes) != "a=STRING:äö b=STRINGSLICE:[xy x]" || e.DroppedAttributeCount != 1 {
		t.Errorf("event attributes %s, %d dropped", text(e.Attributes), e.DroppedAttributeCount)
	}
	if leaf := r.got.one(t, "leaf"); text(leaf.Attributes()) != "a=STRING:äö b=BYTESLICE:[120 121]" || leaf.DroppedAttributes() != 1 {
		t.Errorf("measure's attributes %s, %d dropped", text(leaf.Attributes()), leaf.DroppedAttributes())
	}
	if st := r.proc.Stats(); st.Events != 3 || st.Limited != 2 {
		t.Errorf("stats %+v, want 3 Events and 2 Limited", st)
	}
}

func TestTwoProviders(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	base := observer.NewContext(context.Background(), tl)
	build := func(name string) (*recorder, *sdktrace.TracerProvider) {
		got := &recorder{}
		tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(bridge.NewProcessor(got, bridge.WithTimeline(tl))),
			sdktrace.WithResource(resource.NewSchemaless(attribute.String("p", name))))
		return got, tp
	}
	gotA, a := build("a")
	gotB, b := build("b")
	for name, tp := range map[string]*sdktrace.TracerProvider{"a": a, "b": b} {
		ctx, span := tp.Tracer("t").Start(base, "span "+name)
		everything(t, ctx)
		span.End()
	}
	for _, tp := range []*sdktrace.TracerProvider{a, b} {
		if err := tp.Shutdown(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	for name, got := range map[string]*recorder{"a": gotA, "b": gotB} {
		names := got.names()
		slices.Sort(names)
		if !slices.Equal(names, []string{"leaf", "measured", "span " + name, "started"}) {
			t.Errorf("provider %s got %v", name, names)
		}
		for _, s := range got.all() {
			if s.Resource().String() != "p="+name {
				t.Errorf("provider %s got a span of %v", name, s.Resource())
			}
		}
		if ev := events(got.one(t, "span "+name)); !slices.Equal(ev, []string{"mark"}) {
			t.Errorf("provider %s: events %v", name, ev)
		}
	}
}

func TestTwoProcessorsOfOneProvider(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	one, two := &recorder{}, &recorder{}
	tp := sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(bridge.NewProcessor(one, bridge.WithTimeline(tl))),
		sdktrace.WithSpanProcessor(bridge.NewProcessor(two, bridge.WithTimeline(tl))))
	ctx, span := tp.Tracer("t").Start(observer.NewContext(context.Background(), tl), "span")
	everything(t, ctx)
	span.End()
	if err := tp.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, got := range []*recorder{one, two} {
		if n := len(got.all()); n != 4 {
			t.Errorf("%d spans, want 4: %v", n, got.names())
		}
		if ev := events(got.one(t, "span")); !slices.Equal(ev, []string{"mark"}) {
			t.Errorf("events %v", ev)
		}
		if ev := events(got.one(t, "started")); !slices.Equal(ev, []string{"inside"}) {
			t.Errorf("events of started %v", ev)
		}
	}
}

func TestForeignProvider(t *testing.T) {
	r := withProcessor(t)
	got := &recorder{}
	foreign := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(got))
	ctx, span := foreign.Tracer("t").Start(r.ctx, "foreign")
	marks.Mark(ctx, "mark")
	marks.Time(ctx, "leaf").End()
	inside, started := marks.Start(ctx, "started")
	marks.Mark(inside, "inside")
	started.End()
	span.End()
	r.flush(t)
	if n := r.got.names(); len(n) != 0 {
		t.Errorf("our provider got %v", n)
	}
	for _, name := range []string{"leaf", "started"} {
		if s := got.one(t, name); s.Parent().SpanID() != span.SpanContext().SpanID() {
			t.Errorf("%q is under %v, want the foreign span", name, s.Parent().SpanID())
		}
	}
	if s := r.proc.Stats(); s.Unattached != 2 || s.Lost() != 0 {
		t.Errorf("stats %+v, want 2 Unattached", s)
	}
}

func TestNeverEnded(t *testing.T) {
	r := withProcessor(t)
	ctx, _ := r.tracer.Start(r.ctx, "never ended")
	marks.Mark(ctx, "m")
	inside, _ := marks.Start(ctx, "nor this")
	marks.Mark(inside, "m")
	r.flush(t)
	if err := r.provider.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := r.got.names(); len(got) != 0 {
		t.Errorf("spans %v", got)
	}
	if s := r.proc.Stats(); s.AgedOut != 2 {
		t.Errorf("stats %+v, want 2 AgedOut", s)
	}
}

func TestShutdown(t *testing.T) {
	r := withProcessor(t)
	ctx, span := r.tracer.Start(r.ctx, "span")
	marks.Mark(ctx, "m")
	span.End()
	_, open := r.tracer.Start(r.ctx, "ends too late")
	for range 2 {
		if err := r.proc.Shutdown(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	open.End()
	if err := r.proc.ForceFlush(context.Background()); err != nil {
		t.Error(err)
	}
	if got := r.got.names(); !slices.Equal(got, []string{"span"}) || r.got.downs != 1 {
		t.Errorf("spans %v, next was shut down %d times", got, r.got.downs)
	}
	marks.Mark(r.ctx, "the timeline goes on")
	if len(r.tl.EntriesByName("the timeline goes on")) != 1 {
		t.Error("after Shutdown the timeline does not record")
	}

	again := &recorder{}
	p := bridge.NewProcessor(again, bridge.WithTimeline(r.tl))
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p))
	ctx, span = tp.Tracer("t").Start(r.ctx, "second life")
	marks.Mark(ctx, "m")
	span.End()
	if err := tp.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := events(again.one(t, "second life")); !slices.Equal(got, []string{"m"}) {
		t.Errorf("events %v", got)
	}
}

// The SDK's provider makes no spans once it shuts down: what would need one is
// counted, and nothing is lost after a ForceFlush.
func TestMeasuresRightBeforeShutdown(t *testing.T) {
	r := withProcessor(t)
	everything(t, r.ctx)
	r.flush(t)
	if n := len(r.got.all()); n != 3 {
		t.Errorf("%d spans after ForceFlush, want 3", n)
	}
	everything(t, r.ctx)
	if err := r.provider.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if s := r.proc.Stats(); len(r.got.all()) != 3 || s.Unmade != 3 {
		t.Errorf("%d spans, stats %+v, want 3 Unmade", len(r.got.all()), s)
	}
}

func TestOneBridgeATimeline(t *testing.T) {
	r := withProcessor(t)
	if _, err := bridge.Sync(r.provider, bridge.WithTimeline(r.tl)); err == nil {
		t.Error("Sync beside a Processor: no error")
	}
	s := withSync(t, sdktrace.NewTracerProvider())
	stop, err := bridge.Sync(s.provider, bridge.WithTimeline(s.tl))
	if err == nil {
		stop()
		t.Error("Sync twice: no error")
	}
}

// blocking is a next processor that hangs until it is released.
type blocking struct {
	recorder
	entered chan struct{}
	release chan struct{}
}

func (b *blocking) OnEnd(s sdktrace.ReadOnlySpan) {
	select {
	case b.entered <- struct{}{}:
	default:
	}
	<-b.release
	b.recorder.OnEnd(s)
}

func TestNextThatHangs(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	base := observer.NewContext(context.Background(), tl)
	next := &blocking{entered: make(chan struct{}, 1), release: make(chan struct{})}
	proc := bridge.NewProcessor(next, bridge.WithTimeline(tl))
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
	one := func() {
		ctx, span := tp.Tracer("t").Start(base, "span")
		marks.Mark(ctx, "m")
		marks.Time(ctx, "leaf").End()
		span.End()
	}
	one()
	<-next.entered
	for range 1000 { // would never end if anything here waited for next
		one()
	}
	if n := len(tl.EntriesByName("m")); n != 1001 {
		t.Errorf("reading the timeline: %d marks, want 1001", n)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := proc.ForceFlush(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ForceFlush returned %v, want the deadline", err)
	}
	close(next.release)
	if err := tp.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := len(next.all()); n != 2002 {
		t.Errorf("%d spans after all, want 2002", n)
	}
	if s := proc.Stats(); s.Events != 1001 || s.Lost() != 0 {
		t.Errorf("stats %+v, want 1001 events", s)
	}
}

// Whatever happens to marks is counted, once.
func TestConservation(t *testing.T) {
	limits := sdktrace.NewSpanLimits()
	limits.EventCountLimit = 5
	r := &rig{tl: observer.NewTimeline(observer.TimelineOptions{}), got: &recorder{}}
	r.proc = bridge.NewProcessor(r.got, bridge.WithTimeline(r.tl), bridge.WithSpanLimits(limits))
	r.provider = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r.proc), sdktrace.WithRawSpanLimits(limits))
	r.ready(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 500 {
				ctx, span := r.tracer.Start(r.ctx, "span")
				for range i % 9 {
					marks.Mark(ctx, "m")
				}
				if i%7 != 0 { // some never end
					span.End()
				}
				if i%5 == 0 {
					marks.Mark(ctx, "late, unless the span never ends")
				}
				if i%3 == 0 {
					marks.Mark(r.ctx, "no span")
				}
			}
		})
	}
	wg.Wait()
	if err := r.provider.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	recorded := r.tl.Stats()[observer.Mark]
	s := r.proc.Stats()
	delivered := 0
	for _, span := range r.got.all() {
		delivered += len(span.Events())
	}
	if got := s.Events + s.Unattached + s.Lost(); got != recorded.Recorded || recorded.Overflow != 0 || int(s.Events) != delivered {
		t.Errorf("%+v is %d in all; recorded %+v, on spans %d", s, got, recorded, delivered)
	}
}
