package bridge_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"
	"weak"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/internal/garbage"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// Marks made on other goroutines, up to the moment before End, arrive on their own span.
func TestNoMarkIsMissing(t *testing.T) {
	overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
		noMarkIsMissing(t, open(bothproviders.Options{}))
	})
}

func noMarkIsMissing(t *testing.T, r *rig) {
	const inFlight, rounds = 64, 40
	var wg sync.WaitGroup
	for w := range inFlight {
		wg.Go(func() {
			for round := range rounds {
				id := slog.Int("id", w*rounds+round)
				ctx, span := r.tracer.Start(r.ctx, "span", trace.WithAttributes(attribute.Int("id", w*rounds+round)))
				if round%2 == 0 { // half of them with a child timeline below
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
	if s := r.stats(); s.Lost() != 0 || s.MarkEvents != 5*inFlight*rounds || s.MeasureSpans != inFlight*rounds {
		t.Errorf("stats %+v, want %d events and nothing lost", s, 5*inFlight*rounds)
	}
}

// A mark after the end of its span is lost, and counted. It is in no span.
func TestLateMarks(t *testing.T) {
	overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
		r := open(bothproviders.Options{})
		ctx, span := r.tracer.Start(r.ctx, "span")
		marks.Mark(ctx, "in time")
		childCtx, child := r.tracer.Start(ctx, "child")
		child.End()
		marks.Mark(childCtx, "late, while the root is open")
		span.End()
		marks.Mark(ctx, "late")
		r.flush(t)
		marks.Mark(ctx, "after hand-over")
		startedCtx, started := marks.Start(ctx, "started")
		started.End()
		marks.Mark(startedCtx, "late too")
		alone, only := r.tracer.Start(r.ctx, "without a mark in time")
		only.End()
		marks.Mark(alone, "late, too")
		if err := r.provider.Shutdown(context.Background()); err != nil {
			t.Fatal(err)
		}
		if got := events(r.got.one(t, "span")); !slices.Equal(got, []string{"in time"}) {
			t.Errorf("events %v", got)
		}
		for _, name := range []string{"child", "started", "without a mark in time"} {
			if got := events(r.got.one(t, name)); len(got) != 0 {
				t.Errorf("%q has the events %v", name, got)
			}
		}
		if s := r.stats(); s.MarksAfterEnd != 5 || s.MarkEvents != 1 || s.Lost() != 5 {
			t.Errorf("stats %+v, want 5 late, 1 event", s)
		}
	})
}

// Measures that end after their parent, and after its root, are spans all the same.
func TestMeasuresAfterTheEnd(t *testing.T) {
	overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
		r := open(bothproviders.Options{})
		ctx, span := r.tracer.Start(r.ctx, "span")
		timed := marks.Time(ctx, "timed")
		startedCtx, started := marks.Start(ctx, "started")
		span.End()
		timed.End()
		marks.Mark(startedCtx, "in time")
		marks.Time(startedCtx, "below").End()
		started.End(slog.Int("n", 1))
		_, err := marks.Measure(ctx, "measured", marks.MeasureOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r.flush(t)
		root := span.SpanContext().SpanID()
		for name, parent := range map[string]trace.SpanID{
			"timed": root, "started": root, "measured": root, "below": trace.SpanContextFromContext(startedCtx).SpanID(),
		} {
			if got := r.got.one(t, name).Parent().SpanID(); got != parent {
				t.Errorf("%q is under %v, want %v", name, got, parent)
			}
		}
		if s := r.got.one(t, "started"); !slices.Equal(events(s), []string{"in time"}) || text(s.Attributes()) != "n=INT64:1" {
			t.Errorf("the measure has the events %v and the attributes %s", events(s), text(s.Attributes()))
		}
		if s := r.stats(); s.MeasureSpans != 4 || s.MarkEvents != 1 || s.Lost() != 0 {
			t.Errorf("stats %+v, want 4 measures and 1 event", s)
		}
	})
}

// Marks and own events of a span share its limits: the newest stay. Limits of attributes hold for both.
func TestSpanLimits(t *testing.T) {
	overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
		r := open(bothproviders.Options{Limits: limits(func(l *sdktrace.SpanLimits) {
			l.EventCountLimit, l.AttributePerEventCountLimit, l.AttributeCountLimit, l.AttributeValueLengthLimit = 4, 2, 2, 2
		})})
		ctx, span := r.tracer.Start(r.ctx, "span")
		span.AddEvent("own 1")
		for i := range 5 {
			marks.Mark(ctx, fmt.Sprint(i), slog.String("a", "äöü"), slog.Any("b", []string{"xyz", "x"}), slog.Int("c", 3))
		}
		span.AddEvent("own 2")
		marks.Mark(ctx, "last")
		marks.Time(ctx, "leaf", slog.String("a", "äöü"), slog.Any("b", []byte("xyz")), slog.Int("c", 3)).End()
		in, started := marks.Start(ctx, "started", slog.String("a", "äöü"))
		trace.SpanFromContext(in).SetAttributes(attribute.Int("theirs", 1))
		started.End(slog.Int("c", 3), slog.Int("theirs", 2))
		span.End()
		r.flush(t)
		s := r.got.one(t, "span")
		if !slices.Equal(events(s), []string{"3", "4", "own 2", "last"}) || s.DroppedEvents() != 4 {
			t.Errorf("events %v, %d dropped; want the newest four and 4 dropped", events(s), s.DroppedEvents())
		}
		if e := s.Events()[0]; text(e.Attributes) != "a=STRING:äöü b=STRINGSLICE:[xyz x]" || e.DroppedAttributeCount != 1 {
			t.Errorf("event attributes %s, %d dropped", text(e.Attributes), e.DroppedAttributeCount)
		}
		if leaf := r.got.one(t, "leaf"); text(leaf.Attributes()) != "a=STRING:äö b=BYTESLICE:[120 121]" || leaf.DroppedAttributes() != 1 {
			t.Errorf("the measure has the attributes %s, %d dropped", text(leaf.Attributes()), leaf.DroppedAttributes())
		}
		if s := r.got.one(t, "started"); text(s.Attributes()) != "theirs=INT64:2 a=STRING:äö" || s.DroppedAttributes() != 1 {
			t.Errorf("the started measure has the attributes %s, %d dropped", text(s.Attributes()), s.DroppedAttributes())
		}
		if s := r.stats(); s.MarkEvents+s.MarksOverLimit != 6 {
			t.Errorf("stats %+v, want 6 in MarkEvents and in MarksOverLimit", s)
		}
	})
}

// Marks of a span that never ends are counted when the provider shuts down. With a provider whose marks are events at once, they count as MarkEvents.
func TestNeverEnded(t *testing.T) {
	overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
		r := open(bothproviders.Options{})
		wait := waits(r)
		ctx, _ := r.tracer.Start(r.ctx, "never ended")
		marks.Mark(ctx, "m")
		inside, _ := marks.Start(ctx, "nor this")
		marks.Mark(inside, "m")
		r.flush(t)
		if s := r.stats(); s.MarksOfOpenSpans != 0 {
			t.Errorf("before Shutdown, stats %+v", s)
		}
		if err := r.provider.Shutdown(context.Background()); err != nil {
			t.Fatal(err)
		}
		if got := r.got.names(); len(got) != 0 {
			t.Errorf("spans %v", got)
		}
		if s := r.stats(); s.MarksOfOpenSpans+s.MarkEvents != 2 || (s.MarksOfOpenSpans == 2) != wait {
			t.Errorf("stats %+v, want 2 in MarksOfOpenSpans where marks wait, and else 2 in MarkEvents", s)
		}
	})
}

// waits reports whether marks wait in a journal: spans then have no event of a mark while they are open.
func waits(r *rig) bool {
	var p record.Place
	p.Locate(func() context.Context { ctx, _ := r.tracer.Start(r.ctx, "probe"); return ctx }())
	return p.To == record.ToUnit
}

// ForceFlush and Shutdown hand over the marks and the measures of before, also under a root that goes on.
func TestFlushOfMarks(t *testing.T) {
	for name, flush := range map[string]func(anyProvider) error{
		"ForceFlush": func(p anyProvider) error { return p.ForceFlush(context.Background()) },
		"Shutdown":   func(p anyProvider) error { return p.Shutdown(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
				r := open(bothproviders.Options{})
				ctx, root := r.tracer.Start(r.ctx, "root")
				marks.Mark(ctx, "in root")
				everything(t, ctx)
				childCtx, child := r.tracer.Start(ctx, "child")
				marks.Mark(childCtx, "in child")
				child.End()
				marks.Time(r.ctx, "under no span").End()
				if err := flush(r.provider); err != nil {
					t.Fatal(err)
				}
				for _, name := range []string{"leaf", "measured", "started", "child", "under no span"} {
					r.got.one(t, name)
				}
				if got := events(r.got.one(t, "child")); !slices.Equal(got, []string{"in child"}) {
					t.Errorf("the child has the events %v", got)
				}
				if name == "Shutdown" {
					return
				}
				marks.Mark(ctx, "after the flush")
				root.End()
				r.flush(t)
				if got := events(r.got.one(t, "root")); !slices.Equal(got, []string{"in root", "mark", "after the flush"}) {
					t.Errorf("the root has the events %v", got)
				}
			})
		})
	}
}

// Whatever happens to marks is counted, once.
func TestConservation(t *testing.T) {
	overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
		conservation(t, open(bothproviders.Options{Limits: limits(func(l *sdktrace.SpanLimits) { l.EventCountLimit = 5 })}))
	})
}

func conservation(t *testing.T, r *rig) {
	waits := waits(r)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 500 {
				ctx, span := r.tracer.Start(r.ctx, "span")
				for range i % 9 {
					marks.Mark(ctx, "m")
				}
				marks.Time(ctx, "leaf").End()
				if i%7 != 0 { // some never end
					span.End()
				}
				if i%5 == 0 {
					marks.Mark(ctx, "late, unless the span never ends")
				}
				if i%3 == 0 {
					marks.Mark(r.ctx, "no span")
				}
				if i%11 == 0 {
					marks.Mark(observer.NewContext(r.ctx, r.tl.NewChild()), "a child timeline and no span")
				}
			}
		})
	}
	wg.Wait()
	if err := r.provider.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	recorded := r.tl.Stats()
	s := r.stats()
	delivered, dropped := 0, 0
	for _, span := range r.got.all() {
		delivered += len(span.Events())
		dropped += span.DroppedEvents()
	}
	if got := s.MarkEvents + s.MarksWithoutSpan + s.Lost(); got != recorded[observer.Mark].Recorded || recorded[observer.Mark].Overflow != 0 {
		t.Errorf("%+v is %d in all; recorded %+v", s, got, recorded[observer.Mark])
	}
	if s.MeasureSpans != recorded[observer.Measure].Recorded || s.MeasureSpans != 4000 {
		t.Errorf("%d measures became spans, recorded %d, want 4000", s.MeasureSpans, recorded[observer.Measure].Recorded)
	}
	if waits && (int(s.MarkEvents) != delivered || int(s.MarksOverLimit) < dropped) { // some were dropped of spans that never end
		t.Errorf("%+v; %d events arrived, %d were dropped", s, delivered, dropped)
	}
}

type bigKey struct{}

// A context that is kept, with late marks, keeps nothing of the request in memory but what it has itself.
func TestLateMarkKeepsNoRequest(t *testing.T) {
	overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
		r := open(bothproviders.Options{})
		var request garbage.Objects
		func() {
			big := new([1 << 16]byte)
			garbage.Watch(&request, "value of the request's context", big)
			ctx, span := r.tracer.Start(context.WithValue(r.ctx, bigKey{}, big), "parent")
			inside, timing := marks.Start(ctx, "started")
			timing.End()
			marks.Mark(inside, "late")
			span.End()
			marks.Mark(inside, "late")
		}()
		r.flush(t)
		request.Wait(t)
		if s := r.stats(); s.MarksAfterEnd != 2 {
			t.Errorf("stats %+v, want 2 late", s)
		}
	})
}

// A request with many marks leaves nothing in memory that later requests use again.
func TestManyMarksKeepNoRequest(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // each request uses the memory of the one before
	r := newRig(t, bothproviders.Perfline, bothproviders.Options{})
	request := func() weak.Pointer[[1 << 16]byte] {
		big := new([1 << 16]byte)
		ctx, root := r.tracer.Start(context.WithValue(r.ctx, bigKey{}, big), "root")
		for n := range 16 {
			inside, child := r.tracer.Start(ctx, "child")
			for range 120 - n {
				marks.Mark(inside, "mark")
			}
			child.End()
		}
		root.End()
		return weak.Make(big)
	}()
	r.flush(t)
	for range 10 {
		_, small := r.tracer.Start(r.ctx, "small")
		small.End()
		runtime.GC()
	}
	if request.Value() != nil {
		t.Error("the request is still in memory after 10 others, and a collection after each")
	}
}

// The journal of a request, which later requests use again, keeps nothing of the request.
func TestUsedJournalKeepsNoRequest(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // each request uses the memory of the one before
	r := newRig(t, bothproviders.Perfline, bothproviders.Options{})
	request, text := func() (weak.Pointer[[1 << 16]byte], weak.Pointer[byte]) {
		big, text := new([1 << 16]byte), strings.Repeat("x", 100)
		ctx, root := r.tracer.Start(context.WithValue(r.ctx, bigKey{}, big), "root")
		inside, child := r.tracer.Start(ctx, "child")
		for range 50 {
			marks.Mark(inside, "mark", slog.String("text", text))
		}
		child.End()
		root.End()
		return weak.Make(big), weak.Make(unsafe.StringData(text))
	}()
	r.flush(t)
	for range 10 {
		ctx, small := r.tracer.Start(r.ctx, "small")
		marks.Mark(ctx, "mark", slog.Int("n", 1))
		small.End()
		runtime.GC()
	}
	if request.Value() != nil || text.Value() != nil {
		t.Errorf("after 10 others, the request is in memory: %t, and the text of its marks: %t", request.Value() != nil, text.Value() != nil)
	}
}
