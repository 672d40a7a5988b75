//go:build !perfline_portable

package profiling_test

import (
	"context"
	"reflect"
	"runtime/pprof"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
)

// setUp returns the provider of spans that label, and a context with a timeline.
func setUp(t *testing.T) (trace.TracerProvider, context.Context) {
	t.Helper()
	tl := observer.NewTimeline(observer.TimelineOptions{})
	tp := bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: tl})
	t.Cleanup(func() {
		if err := tp.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return tp, observer.NewContext(context.Background(), tl)
}

// contextNames returns the span names of a trace's samples in their order, "" without a context.
func contextNames(tr *profile.Trace) (names []string) {
	for _, s := range tr.Samples {
		name := ""
		if s.ContextID != profile.None {
			name = tr.Contexts[s.ContextID].SpanName
		}
		names = append(names, name)
	}
	return names
}

// Profilers of both selections at a time, and of one: each names its spans, by the names that
// they ended with.
func TestSelections(t *testing.T) {
	for name, c := range map[string]struct {
		selections []profiling.Selection
		names      [][]string
	}{
		"both": {[]profiling.Selection{profiling.LocalRoots, profiling.EverySpan}, [][]string{
			{"GET /{id}", "GET /{id}", "GET /{id}", "GET /{id}", "GET /{id}", ""},
			{"GET /{id}", "renamed query", "GET /{id}", "renamed query", "job", ""},
		}},
		"every span": {[]profiling.Selection{profiling.EverySpan}, [][]string{{"GET /{id}", "renamed query", "GET /{id}", "renamed query", "job", ""}}},
		"by default": {[]profiling.Selection{0}, [][]string{{"GET /{id}", "GET /{id}", "GET /{id}", "GET /{id}", "GET /{id}", ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			tp, base := setUp(t)
			tracer := tp.Tracer("t")
			type job struct{ f func() }
			jobs, done := make(chan job), make(chan struct{}) // a pool's worker, which inherits nothing
			go func() {
				for j := range jobs {
					j.f()
					done <- struct{}{}
				}
			}()
			defer close(jobs)
			worker := func(f func()) { jobs <- job{f}; <-done }

			var profilers []*profiling.Profiler
			for _, spans := range c.selections {
				profilers = append(profilers, start(t, profiling.Options{SampleInterval: time.Hour, Spans: spans}))
			}
			ctx, server := tracer.Start(base, "GET")
			profiling.ForceSample()
			inner, query := tracer.Start(ctx, "query")
			profiling.ForceSample()
			worker(func() { profiling.Do(ctx, func(context.Context) { profiling.ForceSample() }) })
			worker(func() { profiling.Do(inner, func(context.Context) { profiling.ForceSample() }) })
			query.SetName("renamed query")
			query.End()
			worker(func() {
				_, span := tracer.Start(ctx, "job")
				profiling.ForceSample()
				span.End()
			})
			server.SetName("GET /{id}")
			server.End()
			profiling.ForceSample()
			for i, p := range profilers {
				tr := stop(t, p)
				if got := contextNames(tr); !slices.Equal(got, c.names[i]) {
					t.Errorf("selection %d names %q, want %q", c.selections[i], got, c.names[i])
				}
				for j, c := range tr.Contexts {
					if slices.ContainsFunc(tr.Contexts[:j], func(x profile.SampleContext) bool { return x.SpanID == c.SpanID }) {
						t.Errorf("a span has two contexts: %+v", tr.Contexts)
					}
					if c.SpanName == "GET /{id}" && (c.SpanID != server.SpanContext().SpanID() || c.TraceID != server.SpanContext().TraceID()) {
						t.Errorf("the server's span is %+v", c)
					}
				}
			}
		})
	}
}

// A span that goes on has the name that it was started with.
func TestNameOfASpanThatGoesOn(t *testing.T) {
	tp, base := setUp(t)
	p := start(t, profiling.Options{SampleInterval: time.Hour})
	_, span := tp.Tracer("t").Start(base, "GET")
	profiling.ForceSample()
	span.SetName("GET /{id}")
	tr := stop(t, p)
	span.End()
	if got := contextNames(tr); !slices.Equal(got, []string{"GET"}) {
		t.Errorf("samples are of %q", got)
	}
}

// A sample's context is its span, and the labels that the program has set.
func TestContextsOfSamples(t *testing.T) {
	tp, base := setUp(t)
	p := start(t, profiling.Options{SampleInterval: time.Hour, Spans: profiling.EverySpan})
	tracer := tp.Tracer("t")
	profiling.ForceSample()
	var want []profile.SampleContext
	pprof.Do(base, pprof.Labels("tenant", "acme", "app", "shop"), func(ctx context.Context) {
		profiling.ForceSample()
		ctx, span := tracer.Start(ctx, "query")
		profiling.ForceSample()
		pprof.Do(ctx, pprof.Labels("step", "pay"), func(context.Context) { profiling.ForceSample() })
		sc := span.SpanContext()
		app, step, tenant := profile.Label{Key: "app", Value: "shop"}, profile.Label{Key: "step", Value: "pay"}, profile.Label{Key: "tenant", Value: "acme"}
		want = []profile.SampleContext{
			{Labels: []profile.Label{app, tenant}},
			{TraceID: sc.TraceID(), SpanID: sc.SpanID(), SpanName: "query", Labels: []profile.Label{app, tenant}},
			{TraceID: sc.TraceID(), SpanID: sc.SpanID(), SpanName: "query", Labels: []profile.Label{app, step, tenant}},
		}
		span.End()
	})
	_, span := tracer.Start(base, "alone")
	profiling.ForceSample()
	span.End()
	sc := span.SpanContext()
	want = append(want, profile.SampleContext{TraceID: sc.TraceID(), SpanID: sc.SpanID(), SpanName: "alone"})
	tr := stop(t, p)
	if len(tr.Samples) != 5 || tr.Samples[0].ContextID != profile.None {
		t.Fatalf("samples %+v, want 5, the first without a context", tr.Samples)
	}
	for i, s := range tr.Samples[1:] {
		if got := tr.Contexts[s.ContextID]; !reflect.DeepEqual(got, want[i]) {
			t.Errorf("sample %d ran for %+v, want %+v", i+1, got, want[i])
		}
	}
}
