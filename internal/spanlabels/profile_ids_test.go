//go:build !perfline_portable

package spanlabels_test

import (
	"context"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/spanlabels"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

func TestProfileIDs(t *testing.T) {
	t.Run("perfline", func(t *testing.T) {
		testProfileIDs(t, func(tl *observer.Timeline, to sdktrace.SpanProcessor) (profiled, trace.TracerProvider) {
			tp := bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: tl, Processors: []sdktrace.SpanProcessor{to}})
			return tp, tp
		})
	})
	t.Run("SDK", func(t *testing.T) {
		testProfileIDs(t, func(tl *observer.Timeline, to sdktrace.SpanProcessor) (profiled, trace.TracerProvider) {
			tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(to), sdktrace.WithSpanProcessor(
				bridge.NewProcessor(bridge.ProcessorConfig{Timeline: tl})))
			return tp, spanlabels.WrapTracerProvider(tp)
		})
	})
}

// profiled is a provider whose spans carry the ids of their profiles.
type profiled interface {
	ForceFlush(context.Context) error
	Shutdown(context.Context) error
}

func testProfileIDs(t *testing.T, provider func(*observer.Timeline, sdktrace.SpanProcessor) (profiled, trace.TracerProvider)) {
	t.Helper()
	roots, every := []spanlabels.Selection{spanlabels.LocalRoots}, []spanlabels.Selection{spanlabels.EverySpan}
	for name, c := range map[string]struct {
		ids   []spanlabels.Selection // of holders of profile ids
		spans []spanlabels.Selection // of profilers
		want  map[string]bool
	}{
		"no holder":                         {nil, every, nil},
		"local roots":                       {roots, every, map[string]bool{"GET": true, "root": true}},
		"every span":                        {every, every, map[string]bool{"GET": true, "child": true, "measure": true, "job": true, "root": true}},
		"every span that is named":          {every, roots, map[string]bool{"GET": true, "root": true}},
		"local roots, which are all named":  {roots, roots, map[string]bool{"GET": true, "root": true}},
		"both selections":                   {[]spanlabels.Selection{spanlabels.LocalRoots, spanlabels.EverySpan}, every, map[string]bool{"GET": true, "child": true, "measure": true, "job": true, "root": true}},
		"nothing, when no profiler samples": {every, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, s := range c.spans {
				defer spanlabels.Hold(s)()
			}
			for _, s := range c.ids {
				release := spanlabels.HoldProfileIDs(s)
				defer release()
				spanlabels.HoldProfileIDs(spanlabels.EverySpan)() // which ended
			}
			tl := observer.NewTimeline(observer.TimelineOptions{})
			got := tracetest.NewInMemoryExporter()
			tp, labelling := provider(tl, sdktrace.NewSimpleSpanProcessor(got))
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
