package bridge

import (
	"context"
	"slices"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// exported keeps the attributes of the spans it is handed, by name.
type exported struct {
	capture
	mu      sync.Mutex // guards what follows
	attrs   map[string][]attribute.KeyValue
	dropped map[string]int
}

func (e *exported) OnEnd(s sdktrace.ReadOnlySpan) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.attrs == nil {
		e.attrs, e.dropped = map[string][]attribute.KeyValue{}, map[string]int{}
	}
	e.attrs[s.Name()], e.dropped[s.Name()] = s.Attributes(), s.DroppedAttributes()
}

func (e *exported) want(t *testing.T, name string, dropped int, want ...attribute.KeyValue) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if got, ok := e.attrs[name]; !ok || !slices.Equal(got, want) || e.dropped[name] != dropped {
		t.Errorf("%q has the attributes %v, %d dropped, want %v, %d", name, got, e.dropped[name], want, dropped)
	}
}

// byName labels with an attribute that says which span it was begun for.
func byName() *fakeLabeler {
	return &fakeLabeler{attributes: func(l *begun) []attribute.KeyValue {
		if l.name == "none" {
			return nil
		}
		return []attribute.KeyValue{attribute.String("label", l.name)}
	}}
}

// Spans of every kind reach all processors of their provider with the attributes of
// their labels.
func TestLabelAttributes(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	var next [2]exported
	limits := sdktrace.NewSpanLimits()
	limits.AttributeCountLimit, limits.AttributeValueLengthLimit = 2, 8
	first := NewProcessor(&next[0], WithTimeline(tl), WithLabeler(byName()), WithSpanLimits(limits))
	second := NewProcessor(&next[1], WithTimeline(tl), WithSpanLimits(limits))
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(first), sdktrace.WithSpanProcessor(second), sdktrace.WithRawSpanLimits(limits))
	first.Bind(tp)
	second.Bind(tp)
	base := observer.NewContext(context.Background(), tl)
	tracer := tp.Tracer("t")
	a, own := attribute.Int("a", 1), attribute.String("label", "own")

	ctx, span := tracer.Start(base, "span", trace.WithAttributes(a))
	marks.Mark(ctx, "a mark")
	_, timing := marks.Start(ctx, "measure")
	timing.End()
	_, none := tracer.Start(ctx, "none", trace.WithAttributes(a))
	none.End()
	_, has := tracer.Start(ctx, "has", trace.WithAttributes(own))
	has.End()
	_, full := tracer.Start(ctx, "full", trace.WithAttributes(a, attribute.Int("b", 2)))
	full.End()
	_, long := tracer.Start(ctx, "long name")
	long.End()
	_, other := tracer.Start(observer.NewContext(ctx, tl.NewChild()), "of a request", trace.WithAttributes(a))
	other.SetName("renamed")
	other.End()
	span.End()
	_, root := marks.Start(base, "root")
	root.End()
	if err := tp.ForceFlush(context.Background()); err != nil {
		t.Fatal(err)
	}
	label := func(v string) attribute.KeyValue { return attribute.String("label", v) }
	for i := range next {
		next[i].want(t, "span", 0, a, label("span"))
		next[i].want(t, "measure", 0, label("measure"))
		next[i].want(t, "none", 0, a)
		next[i].want(t, "has", 0, own)
		next[i].want(t, "full", 1, a, attribute.Int("b", 2))
		next[i].want(t, "long name", 0, label("long nam"))
		next[i].want(t, "renamed", 0, a, label("of a req"))
		next[i].want(t, "root", 0, label("root"))
	}
	if n := first.hub.foreign.waiting(); n != 0 {
		t.Errorf("%d are kept", n)
	}
	if err := tp.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

// A span that does not find room to wait for its marks has its label's attributes.
func TestLabelAttributesInAHurry(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {}, MaxPending: 1})
	var next exported
	p := NewProcessor(&next, WithTimeline(tl), WithLabeler(byName()))
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p))
	base := observer.NewContext(context.Background(), tl)
	for p.Stats().Hurried == 0 {
		_, span := tp.Tracer("t").Start(base, "span")
		span.End()
	}
	next.want(t, "span", 0, attribute.String("label", "span"))
	if err := tp.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

// A labeler is told which spans have no parent in this process, and their names at the end.
func TestLabelsKnowRootsAndNames(t *testing.T) {
	f := &fakeLabeler{}
	_, tp, base := setUpLabels(t, []Labeler{f})
	tracer := tp.Tracer("t")
	remote := trace.ContextWithRemoteSpanContext(base, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled, Remote: true}))
	ctx, server := tracer.Start(remote, "GET")
	_, child := tracer.Start(ctx, "child")
	mctx, measure := marks.Start(ctx, "measure")
	_, asItIs := marks.Start(ctx, "as it is")
	_, anew := tracer.Start(ctx, "anew", trace.WithNewRoot())
	_, root := marks.Start(base, "root")
	server.SetName("GET /\xff")
	trace.SpanFromContext(mctx).SetName("renamed")
	for _, end := range []func(){func() { root.End() }, func() { anew.End() }, func() { asItIs.End() }, func() { measure.End() }, func() { child.End() }, func() { server.End() }} {
		end()
	}
	type told struct {
		name, end string
		root      bool
	}
	var got []told
	for _, l := range f.all {
		got = append(got, told{l.name, l.endName, l.root})
	}
	want := []told{{"GET", "GET /\uFFFD", true}, {"child", "child", false}, {"measure", "renamed", false}, {"as it is", "", false},
		{"anew", "anew", true}, {"root", "root", true}}
	if !slices.Equal(got, want) {
		t.Errorf("the labeler was told %v, want %v", got, want)
	}
}
