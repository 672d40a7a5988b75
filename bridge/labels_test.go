package bridge_test

import (
	"context"
	"runtime/pprof"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/internal/spanlabels"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
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

// labelling returns a rig whose spans label their goroutines. The SDK's need package profiling for it.
func labelling(open func(bothproviders.Options) *rig, o bothproviders.Options) *rig {
	r := open(o)
	if !r.own {
		spanlabels.WrapTracerProvider(r.provider)
	}
	return r
}

// A measure begun with marks.Start labels its goroutine until its end.
func TestMeasuresAreLabelled(t *testing.T) {
	overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
		r := labelling(open, bothproviders.Options{})
		ctx, span := r.tracer.Start(r.ctx, "span")
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
		rootCtx, root := marks.Start(r.ctx, "a root")
		wantLabel(t, "in a measure under no span", "a root", rootCtx)
		root.End()
		wantLabel(t, "after it", "", nil)
	})
}

// A request under a span of the program, such as one in the server's BaseContext, is a local root of its own for a profiler of local roots.
func TestRequestsUnderASpanAreLabelled(t *testing.T) {
	defer spanlabels.Hold(spanlabels.LocalRoots)()
	p := bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: observer.NewTimeline(observer.TimelineOptions{})})
	defer func() { _ = p.Shutdown(context.Background()) }()
	tracer := p.Tracer("test")
	base, program := tracer.Start(t.Context(), "program")
	ctx, request := tracer.Start(base, "GET /", trace.WithSpanKind(trace.SpanKindServer))
	wantLabel(t, "in the request", "GET /", ctx)
	_, child := tracer.Start(ctx, "child")
	wantLabel(t, "in its child", "GET /", ctx)
	child.End()
	request.End()
	program.End()
	wantLabel(t, "after it", "", nil)
}

// Measures label no goroutine with a provider of the SDK that does not.
func TestMeasuresOfAnUnlabelledProvider(t *testing.T) {
	r := newRig(t, bothproviders.SDK, bothproviders.Options{})
	defer spanlabels.Hold(spanlabels.EverySpan)()
	_, measure := marks.Start(r.ctx, "measure")
	wantLabel(t, "in the measure", "", nil)
	measure.End()
}

// Measures of unsampled spans label nothing.
func TestUnsampledMeasuresAreNotLabelled(t *testing.T) {
	defer spanlabels.Hold(spanlabels.EverySpan)()
	overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
		for name, sampler := range map[string]sdktrace.Sampler{"dropped": never, "recorded only": recordOnly} {
			t.Run(name, func(t *testing.T) {
				r := labelling(open, bothproviders.Options{Sampler: sampler})
				ctx, span := r.tracer.Start(r.ctx, "span")
				_, measure := marks.Start(ctx, "measure")
				wantLabel(t, "in the measure", "", nil)
				measure.End()
				span.End()
			})
		}
	})
}

// Processors get the span of a measure with its profile id, within the limits of spans. Attributes that other code sets win.
func TestProfileIDsOfMeasures(t *testing.T) {
	own := attribute.String("pyroscope.profile.id", "own")
	a, b := attribute.Int64("a", 1), attribute.Int64("b", 2)
	id := func(span trace.SpanID) attribute.KeyValue {
		return attribute.String("pyroscope.profile.id", span.String())
	}
	none := func(trace.SpanID) []attribute.KeyValue { return nil }
	for name, c := range map[string]struct {
		hold    func(spanlabels.Selection) func() // of profile ids
		spans   spanlabels.Selection
		set     []attribute.KeyValue // in the measure, by other code
		want    func(trace.SpanID) []attribute.KeyValue
		dropped int
	}{
		"none":                 {nil, 0, nil, none, 0},
		"every span":           {spanlabels.HoldProfileIDs, spanlabels.EverySpan, nil, func(s trace.SpanID) []attribute.KeyValue { return []attribute.KeyValue{id(s)} }, 0},
		"local roots":          {spanlabels.HoldProfileIDs, spanlabels.LocalRoots, nil, none, 0},
		"set by other code":    {spanlabels.HoldProfileIDs, spanlabels.EverySpan, []attribute.KeyValue{own}, func(trace.SpanID) []attribute.KeyValue { return []attribute.KeyValue{own} }, 0},
		"more than a span has": {spanlabels.HoldProfileIDs, spanlabels.EverySpan, []attribute.KeyValue{a, b}, func(s trace.SpanID) []attribute.KeyValue { return []attribute.KeyValue{id(s), a} }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
				defer spanlabels.Hold(spanlabels.EverySpan)()
				if c.hold != nil {
					defer c.hold(c.spans)()
				}
				r := labelling(open, bothproviders.Options{Limits: limits(func(l *sdktrace.SpanLimits) { l.AttributeCountLimit = 2 })})
				ctx, span := r.tracer.Start(r.ctx, "span")
				in, measure := marks.Start(ctx, "measure")
				trace.SpanFromContext(in).SetAttributes(c.set...)
				measure.End()
				span.End()
				r.flush(t)
				s := r.got.one(t, "measure")
				if want := c.want(s.SpanContext().SpanID()); !slices.Equal(s.Attributes(), want) || s.DroppedAttributes() != c.dropped {
					t.Errorf("the attributes are %v, %d dropped; want %v, %d dropped", s.Attributes(), s.DroppedAttributes(), want, c.dropped)
				}
			})
		})
	}
}

// A span that is made of a measure at its end has no samples: it carries no profile id and labels nothing.
func TestFinishedMeasuresAreNotLabelled(t *testing.T) {
	overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
		defer spanlabels.Hold(spanlabels.EverySpan)()
		defer spanlabels.HoldProfileIDs(spanlabels.EverySpan)()
		r := labelling(open, bothproviders.Options{})
		ctx, span := r.tracer.Start(r.ctx, "span")
		marks.Time(ctx, "child").End()
		span.End()
		marks.Time(r.ctx, "root").End()
		r.flush(t)
		for name, want := range map[string]int{"span": 1, "child": 0, "root": 0} {
			if s := r.got.one(t, name); len(s.Attributes()) != want {
				t.Errorf("%q has the attributes %v, want %d", name, s.Attributes(), want)
			}
		}
	})
}
