package bridge_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/observer"
)

// A failing processor returns its error from ForceFlush and Shutdown.
func failing(j *journal, name string, err error) *hook {
	h := j.processor(name)
	flush, down := h.flush, h.down
	h.flush = func(ctx context.Context) error { return errors.Join(flush(ctx), err) }
	h.down = func(ctx context.Context) error { return errors.Join(down(ctx), err) }
	return h
}

// ForceFlush and Shutdown call all processors in order, and return all errors. Shutdown does so once.
func TestProviderFlushAndShutdown(t *testing.T) {
	first, third := errors.New("first"), errors.New("third")
	overBoth(t, func(t *testing.T, start newProvider) {
		var j journal
		p := start(t, providerConfig{processors: []sdktrace.SpanProcessor{failing(&j, "a", first), j.processor("b"), failing(&j, "c", third)}})
		for range 2 {
			if err := p.ForceFlush(t.Context()); !errors.Is(err, first) || !errors.Is(err, third) {
				t.Errorf("ForceFlush returned %v, want both errors", err)
			}
			if got := j.take(); got != "a flush, b flush, c flush" {
				t.Errorf("calls were %s", got)
			}
		}
		if err := p.Shutdown(t.Context()); !errors.Is(err, first) || !errors.Is(err, third) {
			t.Errorf("Shutdown returned %v, want both errors", err)
		}
		if got := j.take(); got != "a down, b down, c down" {
			t.Errorf("calls were %s", got)
		}
		p.RegisterSpanProcessor(j.processor("late"))
		p.UnregisterSpanProcessor(j.processor("unknown"))
		for range 2 {
			if err := p.ForceFlush(t.Context()); err != nil {
				t.Errorf("after Shutdown: %v", err)
			}
			// Each caller of perfline's Shutdown gets the errors; the SDK's second one gets nil.
			if err := p.Shutdown(t.Context()); err != nil && (!errors.Is(err, first) || !errors.Is(err, third)) {
				t.Errorf("after Shutdown: %v", err)
			}
		}
		if got := j.take(); got != "" {
			t.Errorf("calls after Shutdown were %s", got)
		}
	})
}

// A provider without processors flushes and shuts down without an error.
func TestProviderWithoutProcessors(t *testing.T) {
	overBoth(t, func(t *testing.T, start newProvider) {
		p := start(t, providerConfig{})
		ctx, s := p.Tracer("test").Start(t.Context(), "span")
		_, child := p.Tracer("test").Start(ctx, "child")
		child.End()
		s.End()
		if err := errors.Join(p.ForceFlush(t.Context()), p.Shutdown(t.Context()), p.ForceFlush(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// ForceFlush with a context that has ended calls no processor and returns the context's error.
func TestProviderFlushCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	overBoth(t, func(t *testing.T, start newProvider) {
		var j journal
		p := start(t, providerConfig{processors: []sdktrace.SpanProcessor{j.processor("a")}})
		if err := p.ForceFlush(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("ForceFlush returned %v, want %v", err, context.Canceled)
		}
		if got := j.take(); got != "" {
			t.Errorf("calls were %s", got)
		}
	})
}

// A processor may use the provider while it shuts down.
func TestProviderShutdownRecursion(t *testing.T) {
	overBoth(t, func(t *testing.T, start newProvider) {
		var p anyProvider
		var tracer trace.Tracer
		var j journal
		sp := j.processor("a")
		sp.down = func(ctx context.Context) error {
			j.add("a down")
			_, s := p.Tracer("late").Start(ctx, "late")
			s.End()
			p.RegisterSpanProcessor(j.processor("late"))
			p.UnregisterSpanProcessor(sp)
			return p.Shutdown(ctx)
		}
		p = start(t, providerConfig{processors: []sdktrace.SpanProcessor{sp, j.processor("b")}})
		tracer = p.Tracer("test")
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		_, s := tracer.Start(t.Context(), "after")
		s.End()
		if got := j.take(); got != "a down, b down" {
			t.Errorf("calls were %s", got)
		}
	})
}

// Spans that end while the provider shuts down reach the processors, which have to bear it.
func TestProviderEndDuringShutdown(t *testing.T) {
	overBoth(t, func(t *testing.T, start newProvider) {
		var open trace.Span
		var j journal
		sp := j.processor("a")
		sp.down = func(context.Context) error {
			j.add("a down")
			open.End()
			return nil
		}
		p := start(t, providerConfig{processors: []sdktrace.SpanProcessor{sp, j.processor("b")}})
		_, open = p.Tracer("test").Start(t.Context(), "s")
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if got := j.take(); got != "a start s, b start s, a down, a end s, b end s, b down" {
			t.Errorf("calls were %s", got)
		}
	})
}

// All methods of providers, tracers and spans may be called concurrently. The race detector judges.
func TestProviderConcurrently(t *testing.T) {
	overBoth(t, func(t *testing.T, start newProvider) {
		for _, sampler := range []sdktrace.Sampler{sdktrace.AlwaysSample(), sdktrace.NeverSample()} {
			p, tracer, _ := recorded(t, start, providerConfig{sampler: sampler, limits: limits(func(l *sdktrace.SpanLimits) {
				l.AttributeCountLimit, l.EventCountLimit, l.LinkCountLimit = 4, 4, 4
			})})
			ctx, s := tracer.Start(t.Context(), "shared", trace.WithAttributes(pairs("a=1 a=2 b=1")...))
			sp := &hook{}
			calls := []func(i int){
				func(int) { p.Tracer("test") }, func(int) { p.Tracer("a", trace.WithInstrumentationVersion("1")) },
				func(int) { p.RegisterSpanProcessor(sp) }, func(int) { p.UnregisterSpanProcessor(sp) }, func(int) { _ = p.ForceFlush(t.Context()) },
				func(int) { _, child := tracer.Start(ctx, "child"); child.End() },
				func(i int) {
					s.SetAttributes(attribute.Int("a", i), attribute.Int("c", i), attribute.Int("d", i), attribute.Int("e", i))
				},
				func(i int) { s.AddEvent("event", trace.WithAttributes(attribute.Int("i", i))) }, func(int) { s.AddLink(linkTo(1)) },
				func(int) { s.SetName("renamed") }, func(int) { s.SetStatus(2, "") }, func(int) { s.RecordError(errors.New("boom")) },
				func(int) { s.IsRecording() }, func(int) { s.SpanContext() }, func(int) { s.TracerProvider() },
			}
			if r, ok := s.(sdktrace.ReadOnlySpan); ok {
				calls = append(calls, func(int) {
					text(r.Attributes())
					eventList(r)
					linkList(r)
					_, _, _, _ = r.Name(), r.Status(), r.EndTime(), r.ChildSpanCount()
					_, _, _ = r.DroppedAttributes(), r.DroppedEvents(), r.DroppedLinks()
				})
			}
			done := make(chan struct{})
			for n, call := range calls {
				go func() {
					defer func() { done <- struct{}{} }()
					for i := range 50 {
						call(i)
						if n == 0 && i == 25 {
							s.End()
						}
					}
				}()
			}
			for range calls {
				<-done
			}
			s.End()
		}
	})
}

// The Shutdown of a hangingProcessor hangs.
type hangingProcessor struct {
	sdktrace.SpanProcessor
	stop chan struct{}
}

func (h hangingProcessor) ForceFlush(context.Context) error { return nil }
func (h hangingProcessor) Shutdown(context.Context) error   { <-h.stop; return nil }

// The error of Shutdown names the part that hangs.
func TestProviderShutdownNamesWhatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		defer close(stop)
		p := bridge.NewTracerProvider(bridge.TracerProviderConfig{
			Timeline: observer.NewTimeline(observer.TimelineOptions{}), Processors: []sdktrace.SpanProcessor{hangingProcessor{stop: stop}},
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.Shutdown(ctx); err == nil || !strings.Contains(err.Error(), "hangingProcessor") {
			t.Errorf("the error is %v", err)
		}
	})
}
