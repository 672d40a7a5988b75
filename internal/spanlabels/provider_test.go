//go:build !perfline_portable

package spanlabels_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/perfline/perfline/internal/spanlabels"
	"github.com/perfline/perfline/internal/underway"
	"github.com/perfline/perfline/marks"
)

// worksFor returns the name of the span that the goroutine works for, "" for none.
func worksFor() string {
	if s := spanlabels.Innermost(); s != nil {
		return s.Name()
	}
	return ""
}

func wantWork(t *testing.T, what, want string) {
	t.Helper()
	if got := worksFor(); got != want {
		t.Errorf("%s: the goroutine works for %q, want %q", what, got, want)
	}
}

// The label of a span ends when the call returns that ends the span, on whichever goroutine, in whichever order.
func TestLabelsEndWithSpans(t *testing.T) {
	tp, sdk, base := setUp(t)
	defer spanlabels.Hold(spanlabels.EverySpan)()
	for name, tp := range map[string]trace.TracerProvider{"the provider that labels": tp, "the SDK's in it": sdk} {
		t.Run(name, func(t *testing.T) {
			tracer := tp.Tracer("t")
			ctx, outer := tracer.Start(base, "outer")
			_, inner := tracer.Start(ctx, "in\xffner")
			wantWork(t, "two spans", "in\uFFFDner")
			outer.End()
			wantWork(t, "the outer ended", "in\uFFFDner")
			inner.End()
			wantWork(t, "both ended", "")

			ctx, outer = tracer.Start(base, "outer")
			label := spanlabels.Innermost()
			_, inner = tracer.Start(ctx, "inner")
			_, root := marks.Start(base, "root") // a span of the SDK's
			wantWork(t, "a root measure", "root")
			done := make(chan string)
			go func() {
				_, own := tracer.Start(base, "own")
				defer own.End()
				root.End()
				inner.End()
				done <- worksFor()
			}()
			if got := <-done; got != "own" {
				t.Errorf("the goroutine that ends spans of others works for %q", got)
			}
			wantWork(t, "ended elsewhere", "outer")
			outer.SetName("renamed")
			outer.End()
			outer.End()
			if label.Name() != "renamed" {
				t.Errorf("the label's name is %q, want the span's name at its end", label.Name())
			}
			wantWork(t, "all ended", "")
		})
	}
}

// A span without a parent in this process is a local root.
func TestLocalRootsAreLabelled(t *testing.T) {
	tp, _, base := setUp(t)
	defer spanlabels.Hold(spanlabels.LocalRoots)()
	tracer := tp.Tracer("t")
	remote := trace.ContextWithRemoteSpanContext(base, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled, Remote: true}))
	ctx, server := tracer.Start(remote, "server")
	wantWork(t, "under a remote parent", "server")
	inside, child := tracer.Start(ctx, "child")
	wantWork(t, "under a parent", "server")
	_, anew := tracer.Start(inside, "anew", trace.WithNewRoot())
	wantWork(t, "in a new root", "anew")
	_, again := tracer.Start(remote, "again") // as in a service that calls itself
	wantWork(t, "under the remote parent again", "again")
	for _, span := range []trace.Span{again, anew, child, server} {
		span.End()
	}
	wantWork(t, "after all", "")
}

func TestNotLabelled(t *testing.T) {
	for name, c := range map[string]struct {
		sampler sdktrace.Sampler
		hold    bool
	}{
		"no profiler runs":          {sdktrace.AlwaysSample(), false},
		"not sampled":               {sdktrace.NeverSample(), true},
		"recorded, but not sampled": {recordOnly{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got := &ended{}
			sdk := sdktrace.NewTracerProvider(sdktrace.WithSampler(c.sampler), sdktrace.WithSpanProcessor(got))
			tp := spanlabels.WrapTracerProvider(sdk)
			if c.hold {
				defer spanlabels.Hold(spanlabels.EverySpan)()
			}
			_, span := tp.Tracer("t").Start(t.Context(), "span")
			wantWork(t, "in the span", "")
			span.End()
			for _, s := range got.spans {
				if len(s.Attributes) > 0 {
					t.Errorf("the span has the attributes %v", s.Attributes)
				}
			}
		})
	}
}

type recordOnly struct{}

func (recordOnly) ShouldSample(sdktrace.SamplingParameters) sdktrace.SamplingResult {
	return sdktrace.SamplingResult{Decision: sdktrace.RecordOnly}
}
func (recordOnly) Description() string { return "record only" }

// ended keeps the spans that ended.
type ended struct{ spans tracetest.SpanStubs }

func (*ended) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (e *ended) OnEnd(s sdktrace.ReadOnlySpan) {
	e.spans = append(e.spans, tracetest.SpanStubFromReadOnlySpan(s))
}
func (*ended) Shutdown(context.Context) error   { return nil }
func (*ended) ForceFlush(context.Context) error { return nil }

// After Stop, and after the Shutdown of the SDK's provider, labels of spans that go on have ended, and spans label
// nothing.
func TestNothingIsLabelledAfterTheEnd(t *testing.T) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for name, end := range map[string]func(*spanlabels.TracerProvider, *sdktrace.TracerProvider){
		"Stop": func(tp *spanlabels.TracerProvider, _ *sdktrace.TracerProvider) { tp.Stop(); tp.Stop() },
		"Shutdown": func(_ *spanlabels.TracerProvider, sdk *sdktrace.TracerProvider) {
			_ = sdk.Shutdown(context.Background())
		},
		"a Shutdown without time, then Stop": func(tp *spanlabels.TracerProvider, sdk *sdktrace.TracerProvider) {
			_ = sdk.Shutdown(over)
			tp.Stop()
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer spanlabels.Hold(spanlabels.EverySpan)()
			got := &ended{}
			sdk := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(got))
			tp := spanlabels.WrapTracerProvider(sdk)
			early := tp.Tracer("t")
			_, span := early.Start(t.Context(), "goes on")
			wantWork(t, "before", "goes on")
			end(tp, sdk)
			wantWork(t, "at the end", "")
			_, after := early.Start(t.Context(), "after")
			wantWork(t, "after it", "")
			after.End()
			span.End()
			for _, s := range got.spans {
				if s.Name == "after" && len(s.Attributes) > 0 {
					t.Errorf("the span after the end has the attributes %v", s.Attributes)
				}
			}
		})
	}
}

// Stop takes back what NewTracerProvider registered, from any provider that takes span processors.
func TestStopUnregisters(t *testing.T) {
	r := &registered{TracerProvider: sdktrace.NewTracerProvider()}
	tp := spanlabels.WrapTracerProvider(r)
	if len(r.processors) != 1 {
		t.Errorf("%d processors are registered, want 1", len(r.processors))
	}
	tp.Stop()
	if len(r.processors) != 0 {
		t.Errorf("after Stop, %d processors are registered, want 0", len(r.processors))
	}
}

// A span whose start Stop meets keeps no label.
func TestStopWhileASpanStarts(t *testing.T) {
	defer spanlabels.Hold(spanlabels.EverySpan)()
	defer spanlabels.HoldProfileIDs(spanlabels.EverySpan)()
	r := &registered{TracerProvider: sdktrace.NewTracerProvider()}
	tp := spanlabels.WrapTracerProvider(r)
	_, span := tp.Tracer("t").Start(t.Context(), "span")
	labelled := false
	r.processors[0].OnStart(t.Context(), attributed{span.(sdktrace.ReadWriteSpan), func() {
		labelled = worksFor() == "span"
		tp.Stop()
	}})
	if !labelled {
		t.Error("the span did not label before Stop")
	}
	wantWork(t, "after Stop", "")
}

// registered keeps its span processors apart from the SDK's provider.
type registered struct {
	*sdktrace.TracerProvider
	processors []sdktrace.SpanProcessor
}

func (r *registered) RegisterSpanProcessor(sp sdktrace.SpanProcessor) {
	r.processors = append(r.processors, sp)
}

func (r *registered) UnregisterSpanProcessor(sp sdktrace.SpanProcessor) {
	r.processors = slices.DeleteFunc(r.processors, func(x sdktrace.SpanProcessor) bool { return x == sp })
}

// attributed calls set when it gets attributes.
type attributed struct {
	sdktrace.ReadWriteSpan
	set func()
}

func (a attributed) SetAttributes(...attribute.KeyValue) { a.set() }

// Spans that never end lose their labels, counted, when there are too many. Later spans are labelled.
func TestLabelsAreBounded(t *testing.T) {
	tp, _, base := setUp(t)
	defer spanlabels.Hold(spanlabels.EverySpan)()
	const more = 4 << 10
	done := make(chan struct{})
	go func() { // whose labels go with it
		defer close(done)
		for range underway.Max + more {
			tp.Tracer("t").Start(base, "never ends")
		}
	}()
	<-done
	if n := tp.UnlabelledSpans(); n < more || n > more+underway.Max/10 {
		t.Errorf("%d spans lost their label, want some more than %d", n, more)
	}
	_, span := tp.Tracer("t").Start(base, "span")
	wantWork(t, "in a later span", "span")
	span.End()
	wantWork(t, "after it", "")
}

// Two that label one provider do no harm.
func TestLabelledTwice(t *testing.T) {
	tp, sdk, base := setUp(t)
	again := spanlabels.WrapTracerProvider(sdk)
	defer spanlabels.Hold(spanlabels.EverySpan)()
	for _, tp := range []trace.TracerProvider{tp, again, spanlabels.WrapTracerProvider(tp)} {
		ctx, outer := tp.Tracer("t").Start(base, "outer")
		_, inner := tp.Tracer("t").Start(ctx, "inner")
		wantWork(t, "in a span in a span", "inner")
		inner.End()
		wantWork(t, "after the inner span", "outer")
		outer.End()
		wantWork(t, "after both", "")
	}
	if s := spanlabels.Tag(); s != nil {
		t.Error("labels stay on the goroutine")
	}
}

// The spans are the SDK's own: they record panics, which a wrapper's End would not see, and have the SDK's type.
func TestSpansAreNotWrapped(t *testing.T) {
	defer spanlabels.Hold(spanlabels.EverySpan)()
	got := &ended{}
	tp := spanlabels.WrapTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(got)))
	func() {
		defer func() { _ = recover() }()
		_, span := tp.Tracer("t").Start(t.Context(), "span")
		if _, ok := span.(sdktrace.ReadWriteSpan); !ok {
			t.Errorf("the span is a %T, want the SDK's", span)
		}
		defer span.End()
		panic(errors.New("in the span"))
	}()
	wantWork(t, "after the panic", "")
	if len(got.spans) != 1 || len(got.spans[0].Events) != 1 || got.spans[0].Events[0].Name != "exception" {
		t.Errorf("the spans are %+v, want one with an exception", got.spans)
	}
}

// Spans of a provider that takes no span processors are not labelled, but their work may be.
func TestOtherProvidersAreNotLabelled(t *testing.T) {
	defer spanlabels.Hold(spanlabels.EverySpan)()
	hidden := struct{ trace.TracerProvider }{sdktrace.NewTracerProvider()} // without the SDK's other methods
	for _, other := range []trace.TracerProvider{hidden, noop.NewTracerProvider()} {
		tp := spanlabels.WrapTracerProvider(other)
		ctx, span := tp.Tracer("t").Start(t.Context(), "span")
		wantWork(t, "in the span", "")
		want := ""
		if span.IsRecording() {
			want = "span"
		}
		spanlabels.Do(ctx, func(context.Context) { wantWork(t, "in Do", want) })
		span.End()
		tp.Stop()
		if n := tp.UnlabelledSpans(); n != 0 {
			t.Errorf("%d spans lost a label", n)
		}
	}
}

// All processors see the attribute. A value that other code sets for it replaces it.
func TestProfileIDsForAllProcessors(t *testing.T) {
	defer spanlabels.Hold(spanlabels.EverySpan)()
	defer spanlabels.HoldProfileIDs(spanlabels.EverySpan)()
	var got [2]ended
	sdk := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(&got[0]))
	tp := spanlabels.WrapTracerProvider(sdk)
	sdk.RegisterSpanProcessor(&got[1])
	_, span := tp.Tracer("t").Start(t.Context(), "span")
	span.End()
	_, other := tp.Tracer("t").Start(t.Context(), "other")
	other.SetAttributes(attribute.String("pyroscope.profile.id", "own"))
	other.End()
	for i := range got {
		for j, want := range []string{span.SpanContext().SpanID().String(), "own"} {
			attrs := got[i].spans[j].Attributes
			if len(attrs) != 1 || attrs[0] != attribute.String("pyroscope.profile.id", want) {
				t.Errorf("processor %d gets %v, want the id %q", i, attrs, want)
			}
		}
	}
}
