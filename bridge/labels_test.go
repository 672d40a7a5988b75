package bridge

import (
	"context"
	"runtime/pprof"
	"slices"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/spanlabels"
)

// wantLabel compares the goroutine's label, and the label that ctx carries, with a span's. nil means no label.
func wantLabel(t *testing.T, what, name string, ctx context.Context) {
	t.Helper()
	now := spanlabels.Innermost()
	switch {
	case ctx == nil && now == nil:
		return
	case ctx == nil:
		t.Errorf("%s: the goroutine works for %q, want no span", what, now.Name())
		return
	case now == nil:
		t.Fatalf("%s: the goroutine works for no span, want %q", what, name)
	}
	sc := trace.SpanContextFromContext(ctx)
	if now.Name() != name || now.SpanID() != sc.SpanID() || now.TraceID() != sc.TraceID() {
		t.Errorf("%s: the goroutine works for %q, want %q with the ids of its context", what, now.Name(), name)
	}
	if got, _ := pprof.Label(ctx, "span_name"); got != name {
		t.Errorf("%s: the context carries a label of %q, want %q", what, got, name)
	}
}

// A measure begun with marks.Start labels its goroutine until its end, on a provider that does not label.
func TestMeasuresAreLabelled(t *testing.T) {
	_, tp, base := setUp(&capture{})
	defer shutDown(t, tp)
	ctx, span := tp.Tracer("t").Start(base, "span")
	off, unlabelled := marks.Start(ctx, "no profiler runs")
	wantLabel(t, "without a profiler", "", nil)
	if got, _ := pprof.Label(off, "span_name"); got != "" {
		t.Errorf("without a profiler, the context carries a label of %q", got)
	}
	defer spanlabels.Hold(spanlabels.EverySpan)()
	outerCtx, outer := marks.Start(ctx, "outer")
	wantLabel(t, "in a measure", "outer", outerCtx)
	innerCtx, inner := marks.Start(outerCtx, "in\xffner")
	wantLabel(t, "in a measure in a measure", "in\uFFFDner", innerCtx)
	marks.Time(innerCtx, "leaf").End()
	wantLabel(t, "after a leaf", "in\uFFFDner", innerCtx)
	label := spanlabels.Innermost()
	trace.SpanFromContext(innerCtx).SetName("renamed")
	inner.End()
	inner.End()
	if label.Name() != "renamed" {
		t.Errorf("the label's name is %q, want the measure's name at its end", label.Name())
	}
	wantLabel(t, "after the inner", "outer", outerCtx)
	done := make(chan struct{})
	go func() { // which inherits the labels
		defer close(done)
		outer.End()
	}()
	<-done
	wantLabel(t, "after an end elsewhere", "", nil)
	unlabelled.End()
	span.End()
	_, root := marks.Start(base, "a root, whose span the provider makes")
	wantLabel(t, "with a provider that does not label", "", nil)
	root.End()
}

// Measures of unsampled spans label nothing.
func TestUnsampledMeasuresAreNotLabelled(t *testing.T) {
	defer spanlabels.Hold(spanlabels.EverySpan)()
	tl := observer.NewTimeline(observer.TimelineOptions{})
	for name, sampler := range map[string]sdktrace.Sampler{"dropped": sdktrace.NeverSample(), "recorded only": recordOnlySampler{}} {
		t.Run(name, func(t *testing.T) {
			tp := sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler), sdktrace.WithSpanProcessor(NewProcessor(&capture{}, WithTimeline(tl))))
			defer shutDown(t, tp)
			ctx, span := tp.Tracer("t").Start(observer.NewContext(t.Context(), tl), "span")
			_, measure := marks.Start(ctx, "measure")
			wantLabel(t, "in the measure", "", nil)
			measure.End()
			span.End()
		})
	}
}

type recordOnlySampler struct{}

func (recordOnlySampler) ShouldSample(sdktrace.SamplingParameters) sdktrace.SamplingResult {
	return sdktrace.SamplingResult{Decision: sdktrace.RecordOnly}
}
func (recordOnlySampler) Description() string { return "record only" }

// Processors get the span of a measure with its profile id, within the limits of spans. What other code sets wins.
func TestProfileIDsOfMeasures(t *testing.T) {
	own := attribute.String("pyroscope.profile.id", "own")
	a, b := attribute.Int64("a", 1), attribute.Int64("b", 2)
	id := func(span trace.SpanID) attribute.KeyValue {
		return attribute.String("pyroscope.profile.id", span.String())
	}
	for name, c := range map[string]struct {
		scope   spanlabels.Scope
		set     []attribute.KeyValue // in the measure, by other code
		want    func(trace.SpanID) []attribute.KeyValue
		dropped int
	}{
		"none":                 {0, nil, func(trace.SpanID) []attribute.KeyValue { return nil }, 0},
		"every span":           {spanlabels.EverySpan, nil, func(s trace.SpanID) []attribute.KeyValue { return []attribute.KeyValue{id(s)} }, 0},
		"local roots":          {spanlabels.LocalRoots, nil, func(s trace.SpanID) []attribute.KeyValue { return []attribute.KeyValue{id(s)} }, 0}, // the span did not label
		"set by other code":    {spanlabels.EverySpan, []attribute.KeyValue{own}, func(trace.SpanID) []attribute.KeyValue { return []attribute.KeyValue{own} }, 0},
		"more than a span has": {spanlabels.EverySpan, []attribute.KeyValue{a, b}, func(s trace.SpanID) []attribute.KeyValue { return []attribute.KeyValue{id(s), a} }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			defer spanlabels.Hold(spanlabels.EverySpan)()
			limits := sdktrace.NewSpanLimits()
			limits.AttributeCountLimit = 2
			tl := observer.NewTimeline(observer.TimelineOptions{})
			var got [2]measures
			tp := sdktrace.NewTracerProvider(
				sdktrace.WithSpanProcessor(NewProcessor(&got[0], WithTimeline(tl), WithSpanLimits(limits), WithProfileIDs(c.scope))),
				sdktrace.WithSpanProcessor(NewProcessor(&got[1], WithTimeline(tl))))
			defer shutDown(t, tp)
			ctx, span := tp.Tracer("t").Start(observer.NewContext(t.Context(), tl), "span")
			mctx, measure := marks.Start(ctx, "measure")
			trace.SpanFromContext(mctx).SetAttributes(c.set...)
			measure.End()
			span.End()
			if err := tp.ForceFlush(t.Context()); err != nil {
				t.Fatal(err)
			}
			for i := range got {
				s := got[i].named(t, "measure")
				if want := c.want(s.SpanContext.SpanID()); !slices.Equal(s.Attributes, want) || s.DroppedAttributes != c.dropped {
					t.Errorf("processor %d gets the attributes %v, %d dropped; want %v, %d dropped", i, s.Attributes, s.DroppedAttributes, want, c.dropped)
				}
			}
		})
	}
}

// measures keeps the spans that it is handed.
type measures struct {
	capture
	mu  sync.Mutex // guards all
	all tracetest.SpanStubs
}

func (m *measures) OnEnd(s sdktrace.ReadOnlySpan) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(m.all, tracetest.SpanStubFromReadOnlySpan(s))
}

func (m *measures) named(t *testing.T, name string) tracetest.SpanStub {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.all {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("there is no span %q", name)
	return tracetest.SpanStub{}
}

// A span that is made of a measure at its end has no samples: it carries no profile id and labels nothing.
func TestFinishedMeasuresAreNotLabelled(t *testing.T) {
	defer spanlabels.Hold(spanlabels.EverySpan)()
	tl := observer.NewTimeline(observer.TimelineOptions{})
	var got measures
	tp := NewTracerProvider(TracerProviderConfig{Processors: []sdktrace.SpanProcessor{&got}, ProfileIDs: spanlabels.EverySpan})
	stop, err := Sync(tp, WithTimeline(tl))
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	base := observer.NewContext(t.Context(), tl)
	ctx, span := tp.Tracer("t").Start(base, "span")
	marks.Time(ctx, "child").End()
	span.End()
	marks.Time(base, "root").End()
	if err := tp.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"span": 1, "child": 0, "root": 0} {
		if s := got.named(t, name); len(s.Attributes) != want {
			t.Errorf("%q has the attributes %v, want %d", name, s.Attributes, want)
		}
	}
}

func shutDown(t *testing.T, tp *sdktrace.TracerProvider) {
	t.Helper()
	if err := tp.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}
