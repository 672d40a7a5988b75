package bridge

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// A begun is a span that a fakeLabeler labelled.
type begun struct {
	name    string
	span    trace.SpanContext
	root    bool
	ends    int
	endName string
	endedBy string // the stack
}

// A fakeLabeler notes what it is asked for.
type fakeLabeler struct {
	off        bool // nobody profiles
	needless   bool // the goroutines' labels do
	attributes func(*begun) []attribute.KeyValue
	mu         sync.Mutex // guards all and what is in it
	all        []*begun
	live       int
}

func (f *fakeLabeler) Enabled() bool { return !f.off }

func (f *fakeLabeler) Begin(_ context.Context, span trace.SpanContext, name string, root bool) any {
	if f.needless {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	l := &begun{name: name, span: span, root: root}
	f.all = append(f.all, l)
	f.live++
	return l
}

func (f *fakeLabeler) End(token any, name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := token.(*begun)
	if l.ends++; l.ends == 1 {
		l.endName = name
		f.live--
		buf := make([]byte, 8<<10)
		l.endedBy = string(buf[:runtime.Stack(buf, false)])
	}
}

// Attributes are none unless told.
func (f *fakeLabeler) Attributes(token any) []attribute.KeyValue {
	if f.attributes == nil {
		return nil
	}
	return f.attributes(token.(*begun))
}

type labelKey struct{}

func (f *fakeLabeler) Value(ctx context.Context, token, key any) any {
	if key == (labelKey{}) {
		return token
	}
	return ctx.Value(key)
}

func (f *fakeLabeler) names() (names []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.all {
		names = append(names, l.name)
	}
	return names
}

// running are those that have not ended.
func (f *fakeLabeler) running() (names []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.all {
		if l.ends == 0 {
			names = append(names, l.name)
		}
	}
	return names
}

func carried(ctx context.Context) string {
	if l, ok := ctx.Value(labelKey{}).(*begun); ok {
		return l.name
	}
	return ""
}

// setUpLabels is a provider with a processor for each labeler.
func setUpLabels(t *testing.T, labelers []Labeler, opts ...sdktrace.TracerProviderOption) ([]*Processor, *sdktrace.TracerProvider, context.Context) {
	t.Helper()
	tl := observer.NewTimeline(observer.TimelineOptions{})
	var all []*Processor
	for _, l := range labelers {
		p := NewProcessor(&capture{}, WithTimeline(tl), WithLabeler(l))
		all = append(all, p)
		opts = append(opts, sdktrace.WithSpanProcessor(p))
	}
	tp := sdktrace.NewTracerProvider(opts...)
	for _, p := range all {
		p.Bind(tp)
	}
	t.Cleanup(func() {
		if err := tp.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return all, tp, observer.NewContext(context.Background(), tl)
}

func wantNames(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// Every kind of span is labelled when it begins, once, and the label has ended when the
// call returns that ends the span.
func TestLabelsBeginAndEndWithSpans(t *testing.T) {
	f := &fakeLabeler{}
	p, tp, base := setUpLabels(t, []Labeler{f})
	tracer := tp.Tracer("t")

	ctx, outer := tracer.Start(base, "outer")
	inside, inner := tracer.Start(ctx, "inner\xff")
	wantNames(t, "two spans", f.running(), "outer", "inner\uFFFD")
	if got := f.all[1].span; !got.Equal(inner.SpanContext()) {
		t.Errorf("the label is for %v, want %v", got, inner.SpanContext())
	}
	mctx, timing := marks.Start(inside, "measure")
	wantNames(t, "and a measure", f.running(), "outer", "inner\uFFFD", "measure")
	if got := f.all[2].span; !got.Equal(trace.SpanContextFromContext(mctx)) {
		t.Errorf("the measure's label is for %v, want %v", got, trace.SpanContextFromContext(mctx))
	}
	if carried(inside) != "" || carried(mctx) != "measure" {
		t.Errorf("contexts carry %q and %q", carried(inside), carried(mctx))
	}
	marks.Time(mctx, "leaf").End() // without a label
	outer.End()
	wantNames(t, "the outer ended", f.running(), "inner\uFFFD", "measure")
	timing.End()
	timing.End()
	wantNames(t, "and the measure", f.running(), "inner\uFFFD")
	inner.End()
	wantNames(t, "and all", f.running())

	rctx, root := marks.Start(base, "root measure") // a span of the tracer's at once
	if got := carried(rctx); got != "root measure" {
		t.Errorf("the root measure's context carries %q", got)
	}
	root.End()
	wantNames(t, "a root measure ended", f.running())

	request := observer.FromContext(base).NewChild()
	_, foreign := tracer.Start(observer.NewContext(base, request), "foreign")
	wantNames(t, "under a request's timeline", f.running(), "foreign")
	foreign.End()
	if n := len(request.EntriesByName("foreign")); n != 1 {
		t.Errorf("the foreign span is %d entries of the request's timeline", n)
	}
	wantNames(t, "after it", f.running())

	if err := tp.ForceFlush(context.Background()); err != nil {
		t.Fatal(err)
	}
	wantNames(t, "all labelled", f.names(), "outer", "inner\uFFFD", "measure", "root measure", "foreign")
	if n := p[0].hub.foreign.waiting(); n != 0 {
		t.Errorf("%d are kept", n)
	}
}

func endHere(end func()) { end() }

// The label is told of the end on the goroutine that ends the span.
func TestLabelsEndElsewhere(t *testing.T) {
	f := &fakeLabeler{}
	_, tp, base := setUpLabels(t, []Labeler{f})
	ctx, span := tp.Tracer("t").Start(base, "span")
	_, timing := marks.Start(ctx, "measure")
	_, root := marks.Start(base, "root")
	done := make(chan struct{})
	go func() {
		defer close(done)
		endHere(func() { timing.End() })
		endHere(func() { root.End() })
		endHere(func() { span.End() })
	}()
	<-done
	for _, l := range f.all {
		if !strings.Contains(l.endedBy, "endHere") {
			t.Errorf("%q was ended by %s", l.name, l.endedBy)
		}
	}
}

func TestLabelsOfSeveralProcessors(t *testing.T) {
	for name, c := range map[string]struct{ first, second *fakeLabeler }{
		"both label":       {&fakeLabeler{}, &fakeLabeler{}},
		"the second alone": {nil, &fakeLabeler{}},
	} {
		t.Run(name, func(t *testing.T) {
			labelers := []Labeler{nil, c.second}
			by := c.second
			if c.first != nil {
				labelers[0], by = c.first, c.first
			}
			p, tp, base := setUpLabels(t, labelers)
			ctx, span := tp.Tracer("t").Start(observer.NewContext(base, observer.FromContext(base).NewChild()), "span")
			_, timing := marks.Start(ctx, "measure")
			wantNames(t, "labelled", by.names(), "span", "measure")
			if by == c.first {
				wantNames(t, "by the second", c.second.names())
			}
			timing.End()
			span.End()
			wantNames(t, "not ended", by.running())
			if n := p[0].hub.foreign.waiting(); n != 0 {
				t.Errorf("%d are kept", n)
			}
			// When the one that labels is gone, the other does.
			request := observer.FromContext(base).NewChild()
			_, span = tp.Tracer("t").Start(observer.NewContext(base, request), "before")
			if err := p[0].Shutdown(context.Background()); err != nil {
				t.Fatal(err)
			}
			_, after := tp.Tracer("t").Start(base, "after")
			wantNames(t, "labelled by the second", c.second.names()[len(c.second.names())-1:], "after")
			span.End()
			after.End()
			if n := len(request.EntriesByName("before")); n != 1 {
				t.Errorf("the span is %d entries of its request's timeline, want 1", n)
			}
			wantNames(t, "not ended in the end", append(by.running(), c.second.running()...))
		})
	}
}

func TestNoLabels(t *testing.T) {
	recordOnly := recordOnlySampler{}
	for name, c := range map[string]struct {
		off, needless bool
		sampler       sdktrace.Sampler
	}{
		"nobody profiles":           {true, false, sdktrace.AlwaysSample()},
		"none is needed":            {false, true, sdktrace.AlwaysSample()},
		"not sampled":               {false, false, sdktrace.NeverSample()},
		"recorded, but not sampled": {false, false, recordOnly},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeLabeler{off: c.off, needless: c.needless}
			p, tp, base := setUpLabels(t, []Labeler{f}, sdktrace.WithSampler(c.sampler))
			ctx, span := tp.Tracer("t").Start(base, "span")
			_, timing := marks.Start(ctx, "measure")
			_, root := marks.Start(base, "root")
			if n := p[0].hub.foreign.waiting(); n != 0 || len(f.names()) != 0 {
				t.Errorf("%d are kept, %q labelled", n, f.names())
			}
			root.End()
			timing.End()
			span.End()
		})
	}
}

type recordOnlySampler struct{}

func (recordOnlySampler) ShouldSample(sdktrace.SamplingParameters) sdktrace.SamplingResult {
	return sdktrace.SamplingResult{Decision: sdktrace.RecordOnly}
}
func (recordOnlySampler) Description() string { return "record only" }

// A processor that is shut down ends the labels of what goes on, its own or with the
// span, and labels no more.
func TestLabelsOfAStoppedProcessor(t *testing.T) {
	f, other := &fakeLabeler{}, &fakeLabeler{}
	p, tp, base := setUpLabels(t, []Labeler{f})
	second := NewProcessor(&capture{}, WithTimeline(observer.FromContext(base)), WithLabeler(other)) // of another provider
	_, span := tp.Tracer("t").Start(base, "first")
	if err := p[0].Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	span.End()
	wantNames(t, "of a provider whose processor has stopped", f.running())
	tp.Tracer("t").Start(base, "after")
	wantNames(t, "labelled", f.names(), "first")
	p[0].hub.starts(base, span.(sdktrace.ReadOnlySpan), p[0]) // that was on its way
	wantNames(t, "labelled meanwhile", f.names(), "first")

	tp2 := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(second))
	tp2.Tracer("t").Start(base, "goes on")
	wantNames(t, "of the second", other.running(), "goes on")
	if err := tp2.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	wantNames(t, "of the second, when no processor is left", other.running())
}

// Spans that never end lose their labels in the end, counted, and are told so.
func TestLabelsUnderWayAreBounded(t *testing.T) {
	f := &fakeLabeler{}
	p, tp, base := setUpLabels(t, []Labeler{f})
	const bound = 16 * maxUnderWay
	const total = bound + 4<<10
	for range total {
		tp.Tracer("t").Start(base, "never ends")
	}
	s := p[0].Stats()
	if f.live > bound || f.live < bound*9/10 || int(s.Unlabelled)+f.live != total || s.Unjoined != 0 {
		t.Errorf("%d have labels of %d, %d made room, %d unjoined; the bound is %d", f.live, total, s.Unlabelled, s.Unjoined, bound)
	}
	if n := p[0].hub.foreign.labels(); n != f.live {
		t.Errorf("%d are counted, %d have labels", n, f.live)
	}
}
