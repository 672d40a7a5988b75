//go:build !perfline_portable

package profiling_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/spanlabels"
)

// contextNames are those of a trace's samples in their order, "" without a context.
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

// Sessions of both scopes at a time, and of one: each names its spans, by the names that
// they ended with.
func TestScopes(t *testing.T) {
	for name, c := range map[string]struct {
		scopes []spanlabels.Scope
		names  [][]string
	}{
		"both": {[]spanlabels.Scope{spanlabels.LocalRoots, spanlabels.EverySpan}, [][]string{
			{"GET /{id}", "GET /{id}", "GET /{id}", "GET /{id}", "GET /{id}", ""},
			{"GET /{id}", "renamed query", "GET /{id}", "renamed query", "job", ""},
		}},
		"by default":       {[]spanlabels.Scope{0}, [][]string{{"GET /{id}", "renamed query", "GET /{id}", "renamed query", "job", ""}}},
		"local roots only": {[]spanlabels.Scope{spanlabels.LocalRoots}, [][]string{{"GET /{id}", "GET /{id}", "GET /{id}", "GET /{id}", "GET /{id}", ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			tp, _, base := setUp(t)
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

			var sessions []*profiling.Profiler
			for _, scope := range c.scopes {
				sessions = append(sessions, start(t, profiling.Options{SampleInterval: time.Hour, Scope: scope}))
			}
			ctx, server := tracer.Start(base, "GET")
			profiling.ForceSample()
			inner, query := tracer.Start(ctx, "query")
			profiling.ForceSample()
			worker(func() { spanlabels.Do(ctx, func(context.Context) { profiling.ForceSample() }) })
			worker(func() { spanlabels.Do(inner, func(context.Context) { profiling.ForceSample() }) })
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
			for i, p := range sessions {
				tr := stop(t, p)
				if got := contextNames(tr); !slices.Equal(got, c.names[i]) {
					t.Errorf("scope %d names %q, want %q", c.scopes[i], got, c.names[i])
				}
				for j, c := range tr.Contexts {
					if slices.ContainsFunc(tr.Contexts[:j], func(x profile.Context) bool { return x.SpanID == c.SpanID }) {
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
	tp, _, base := setUp(t)
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

func TestProfileIDs(t *testing.T) {
	t.Run("perfline", func(t *testing.T) {
		testProfileIDs(t, func(tl *observer.Timeline, ids spanlabels.Scope, to sdktrace.SpanProcessor) (profiled, trace.TracerProvider) {
			tp := bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: tl, ProfileIDs: ids, Processors: []sdktrace.SpanProcessor{to}})
			return tp, tp
		})
	})
	t.Run("SDK", func(t *testing.T) {
		testProfileIDs(t, func(tl *observer.Timeline, ids spanlabels.Scope, to sdktrace.SpanProcessor) (profiled, trace.TracerProvider) {
			tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(to), sdktrace.WithSpanProcessor(
				bridge.NewProcessor(bridge.WithTimeline(tl))))
			return tp, profiling.NewTracerProvider(tp, ids)
		})
	})
}

// profiled is a provider whose spans carry the ids of their profiles.
type profiled interface {
	ForceFlush(context.Context) error
	Shutdown(context.Context) error
}

func testProfileIDs(t *testing.T, provider func(*observer.Timeline, spanlabels.Scope, sdktrace.SpanProcessor) (profiled, trace.TracerProvider)) {
	t.Helper()
	for name, c := range map[string]struct {
		ids  spanlabels.Scope
		hold spanlabels.Scope // 0: no profiler samples
		want map[string]bool
	}{
		"none":                              {0, spanlabels.EverySpan, nil},
		"local roots":                       {spanlabels.LocalRoots, spanlabels.EverySpan, map[string]bool{"GET": true, "root": true}},
		"every span":                        {spanlabels.EverySpan, spanlabels.EverySpan, map[string]bool{"GET": true, "child": true, "measure": true, "job": true, "root": true}},
		"every span that is named":          {spanlabels.EverySpan, spanlabels.LocalRoots, map[string]bool{"GET": true, "root": true}},
		"local roots, which are all named":  {spanlabels.LocalRoots, spanlabels.LocalRoots, map[string]bool{"GET": true, "root": true}},
		"nothing, when no profiler samples": {spanlabels.EverySpan, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if c.hold != 0 {
				defer spanlabels.Hold(c.hold)()
			}
			tl := observer.NewTimeline(observer.TimelineOptions{})
			got := tracetest.NewInMemoryExporter()
			tp, labelling := provider(tl, c.ids, sdktrace.NewSimpleSpanProcessor(got))
			tracer := labelling.Tracer("t")
			begin, done := make(chan context.Context), make(chan struct{})
			go func() { // a pool's worker
				_, span := tracer.Start(<-begin, "job")
				span.End()
				close(done)
			}()
			ctx, server := tracer.Start(observer.NewContext(t.Context(), tl), "GET")
			_, child := tracer.Start(ctx, "child")
			child.End()
			_, measure := marks.Start(ctx, "measure")
			measure.End()
			begin <- ctx
			<-done
			server.End()
			_, root := marks.Start(observer.NewContext(t.Context(), tl), "root")
			root.End()
			// A span that is made when it is over, which nothing was sampled for.
			marks.Time(observer.NewContext(t.Context(), tl), "alone").End()
			if err := tp.ForceFlush(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, s := range got.GetSpans() {
				var want []attribute.KeyValue
				if c.want[s.Name] {
					want = []attribute.KeyValue{attribute.String("pyroscope.profile.id", s.SpanContext.SpanID().String())}
				}
				if !slices.Equal(s.Attributes, want) {
					t.Errorf("%q has the attributes %v, want %v", s.Name, s.Attributes, want)
				}
			}
			if n := len(got.GetSpans()); n != 6 {
				t.Errorf("%d spans, want 6", n)
			}
			if err := tp.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}
