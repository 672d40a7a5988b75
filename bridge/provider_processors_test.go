package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// A journal keeps what its processors were called with, in order.
type journal struct{ calls []string }

func (j *journal) add(call string) { j.calls = append(j.calls, call) }

// take returns the calls since the last take.
func (j *journal) take() string {
	calls := strings.Join(j.calls, ", ")
	j.calls = nil
	return calls
}

// processor returns a processor that keeps its calls under a name.
func (j *journal) processor(name string) *hook {
	return &hook{
		start: func(_ context.Context, s sdktrace.ReadWriteSpan) { j.add(name + " start " + s.Name()) },
		end:   func(s sdktrace.ReadOnlySpan) { j.add(name + " end " + s.Name()) },
		flush: func(context.Context) error { j.add(name + " flush"); return nil },
		down:  func(context.Context) error { j.add(name + " down"); return nil },
	}
}

// Processors are called in the order of their registration. One that is registered later receives the end of open spans.
func TestProviderRegister(t *testing.T) {
	overBoth(t, func(t *testing.T, start newProvider) {
		var j journal
		p := start(t, providerConfig{processors: []sdktrace.SpanProcessor{j.processor("a"), j.processor("b")}})
		tracer := p.Tracer("test")
		ctx, root := tracer.Start(t.Context(), "root")
		p.RegisterSpanProcessor(j.processor("c"))
		_, child := tracer.Start(ctx, "child")
		child.End()
		root.End()
		root.End()
		want := "a start root, b start root, a start child, b start child, c start child, a end child, b end child, c end child, a end root, b end root, c end root"
		if got := j.take(); got != want {
			t.Errorf("calls were %s, want %s", got, want)
		}
	})
}

// A processor that is unregistered is shut down once and receives nothing more.
func TestProviderUnregister(t *testing.T) {
	type unregister struct {
		name string
		take []int  // which of a, b and c; 3 is another one
		want string // the calls until a span has started and ended
	}
	cases := []unregister{
		{"none", nil, "a start s, b start s, c start s, a end s, b end s, c end s"},
		{"first", []int{0}, "a down, b start s, c start s, b end s, c end s"},
		{"middle", []int{1}, "b down, a start s, c start s, a end s, c end s"},
		{"last", []int{2}, "c down, a start s, b start s, a end s, b end s"},
		{"all", []int{0, 1, 2}, "a down, b down, c down"},
		{"unknown", []int{3}, "a start s, b start s, c start s, a end s, b end s, c end s"},
		{"twice", []int{1, 1}, "b down, a start s, c start s, a end s, c end s"},
	}
	overBothOf(t, cases, func(c unregister) string { return c.name }, func(t *testing.T, start newProvider, c unregister) {
		var j journal
		all := []*hook{j.processor("a"), j.processor("b"), j.processor("c"), j.processor("d")}
		p := start(t, providerConfig{processors: []sdktrace.SpanProcessor{all[0], all[1], all[2]}})
		for _, i := range c.take {
			p.UnregisterSpanProcessor(all[i])
		}
		_, s := p.Tracer("test").Start(t.Context(), "s")
		s.End()
		if got := j.take(); got != c.want {
			t.Errorf("calls were %s, want %s", got, c.want)
		}
	})
}

// A processor that is unregistered while a span is open does not receive its end.
func TestProviderUnregisterWhileOpen(t *testing.T) {
	overBoth(t, func(t *testing.T, start newProvider) {
		var j journal
		sp := j.processor("a")
		p := start(t, providerConfig{processors: []sdktrace.SpanProcessor{sp}})
		_, s := p.Tracer("test").Start(t.Context(), "s")
		p.UnregisterSpanProcessor(sp)
		s.End()
		if got := j.take(); got != "a start s, a down" {
			t.Errorf("calls were %s", got)
		}
	})
}

// A processor that is registered twice is called twice. Each registration is shut down by itself.
func TestProviderRegisterTwice(t *testing.T) {
	overBoth(t, func(t *testing.T, start newProvider) {
		var j journal
		sp := j.processor("a")
		p := start(t, providerConfig{processors: []sdktrace.SpanProcessor{sp, j.processor("b"), sp}})
		p.UnregisterSpanProcessor(sp)
		_, s := p.Tracer("test").Start(t.Context(), "s")
		s.End()
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if got, want := j.take(), "a down, a start s, b start s, a end s, b end s, a down, b down"; got != want {
			t.Errorf("calls were %s, want %s", got, want)
		}
	})
}

// The error of a processor that is unregistered goes to OpenTelemetry's handler.
func TestProviderUnregisterError(t *testing.T) {
	overBoth(t, func(t *testing.T, start newProvider) {
		handled := handledErrors()
		failure := errors.New("cannot shut down")
		sp := &hook{down: func(context.Context) error { return failure }}
		p := start(t, providerConfig{processors: []sdktrace.SpanProcessor{sp}})
		p.UnregisterSpanProcessor(sp)
		if errs := handled(); len(errs) != 1 || !errors.Is(errs[0], failure) {
			t.Errorf("handled %v, want %v", errs, failure)
		}
		if err := p.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown returned %v, of a processor that is unregistered", err)
		}
	})
}

// OnStart receives the context that was given to Start, and may change the span.
func TestProviderOnStart(t *testing.T) {
	type key struct{}
	overBoth(t, func(t *testing.T, start newProvider) {
		var parent trace.SpanContext
		var value any
		var open sdktrace.ReadWriteSpan
		sp := &hook{start: func(ctx context.Context, s sdktrace.ReadWriteSpan) {
			parent, value, open = trace.SpanContextFromContext(ctx), ctx.Value(key{}), s
			s.SetAttributes(attribute.String("a", "changed"), attribute.String("added", "1"))
			s.SetName(s.Name() + " renamed")
			s.AddEvent("started")
		}}
		_, tracer, got := recorded(t, start, providerConfig{processors: []sdktrace.SpanProcessor{sp}})
		under := trace.ContextWithRemoteSpanContext(context.WithValue(t.Context(), key{}, 1), spanContext(true, true))
		for _, options := range [][]trace.SpanStartOption{nil, {trace.WithNewRoot()}} {
			_, s := tracer.Start(under, "span", append(options, trace.WithAttributes(pairs("a=1")...))...)
			if !parent.Equal(spanContext(true, true)) || value != 1 {
				t.Errorf("OnStart received a context with span %v and value %v, want those given to Start", parent, value)
			}
			if trace.Span(open) != s {
				t.Error("OnStart received another span than the caller")
			}
			s.End()
		}
		tracer.Start(nil, "without a context") //nolint:staticcheck // it is allowed, as with the SDK
		if parent.IsValid() {
			t.Errorf("without a context, OnStart received one with span %v", parent)
		}
		for _, s := range got.all() {
			if s.Name() != "span renamed" || unpaired(s.Attributes()) != "a=changed added=1" || eventList(s) != "started[]-0" {
				t.Errorf("span is %s with %s and %s", s.Name(), text(s.Attributes()), eventList(s))
			}
		}
	})
}

// OnEnd is called when the span has ended, on the same goroutine. A span that OnStart ends ends once.
func TestProviderOnEnd(t *testing.T) {
	overBoth(t, func(t *testing.T, start newProvider) {
		var open sdktrace.ReadWriteSpan
		var calls []string
		sp := &hook{
			start: func(_ context.Context, s sdktrace.ReadWriteSpan) {
				open = s
				if s.Name() == "ended by OnStart" {
					s.End()
				}
			},
			end: func(s sdktrace.ReadOnlySpan) {
				calls = append(calls, fmt.Sprint(s.Name(), " records: ", open.IsRecording(), ", has ended: ", !s.EndTime().IsZero()))
				open.AddEvent("late")
				open.End()
			},
		}
		_, tracer, got := recorded(t, start, providerConfig{processors: []sdktrace.SpanProcessor{sp}})
		for _, name := range []string{"span", "ended by OnStart"} {
			_, s := tracer.Start(t.Context(), name)
			s.End()
		}
		want := []string{"span records: false, has ended: true", "ended by OnStart records: false, has ended: true"}
		if !slices.Equal(calls, want) {
			t.Errorf("calls were %q, want %q", calls, want)
		}
		for _, s := range got.all() {
			if len(s.Events()) > 0 {
				t.Errorf("%s took an event in OnEnd", s.Name())
			}
		}
	})
}

// Processors may start and end spans, and use the provider.
func TestProviderProcessorsUseTheProvider(t *testing.T) {
	overBoth(t, func(t *testing.T, start newProvider) {
		var p anyProvider
		more := func(ctx context.Context, name string) {
			if strings.Count(name, " ") <= 2 {
				_, s := p.Tracer("inner").Start(ctx, name)
				s.End()
			}
		}
		registered := &hook{}
		sp := &hook{
			start: func(ctx context.Context, s sdktrace.ReadWriteSpan) {
				more(trace.ContextWithSpan(ctx, s), s.Name()+" start")
				p.RegisterSpanProcessor(registered)
			},
			end: func(s sdktrace.ReadOnlySpan) {
				more(trace.ContextWithSpanContext(t.Context(), s.SpanContext()), s.Name()+" end")
				p.UnregisterSpanProcessor(registered)
			},
		}
		var got *recorder
		var tracer trace.Tracer
		p, tracer, got = recorded(t, start, providerConfig{processors: []sdktrace.SpanProcessor{sp}})
		_, s := tracer.Start(t.Context(), "span")
		s.End()
		names := got.names()
		slices.Sort(names)
		if want := "span,span end,span end end,span end start,span start,span start end,span start start"; strings.Join(names, ",") != want {
			t.Errorf("spans are %q, want %s", names, want)
		}
		if n := got.one(t, "span").ChildSpanCount(); n != 1 {
			t.Errorf("the span counts %d children, want the one of OnStart", n)
		}
	})
}

// A filter passes on some spans to the processor that it embeds.
type filter struct{ sdktrace.SpanProcessor }

func (f filter) OnEnd(s sdktrace.ReadOnlySpan) {
	if !strings.HasPrefix(s.Name(), "no") {
		f.SpanProcessor.OnEnd(s)
	}
}

// The SDK's own processors work: they export the sampled spans, and the data arrives whole.
func TestProviderWithTheSDKsProcessors(t *testing.T) {
	processors := map[string]func(sdktrace.SpanExporter) sdktrace.SpanProcessor{
		"simple": sdktrace.NewSimpleSpanProcessor,
		"batch":  func(e sdktrace.SpanExporter) sdktrace.SpanProcessor { return sdktrace.NewBatchSpanProcessor(e) },
		"filtered": func(e sdktrace.SpanExporter) sdktrace.SpanProcessor {
			return filter{sdktrace.NewSimpleSpanProcessor(e)}
		},
	}
	overBoth(t, func(t *testing.T, start newProvider) {
		for name, processor := range processors {
			t.Run(name, func(t *testing.T) {
				exporter := tracetest.NewInMemoryExporter()
				recorder := tracetest.NewSpanRecorder()
				sampler := samplerFunc(func(p sdktrace.SamplingParameters) (r sdktrace.SamplingResult) {
					r.Decision = sdktrace.RecordAndSample
					if p.Name == "recorded" {
						r.Decision = sdktrace.RecordOnly
					}
					return r
				})
				p := start(t, providerConfig{sampler: sampler, processors: []sdktrace.SpanProcessor{processor(exporter), recorder}})
				ctx, s := p.Tracer("test").Start(t.Context(), "span", trace.WithAttributes(pairs("a=1")...))
				s.AddEvent("event")
				_, recordOnly := p.Tracer("test").Start(ctx, "recorded")
				recordOnly.End()
				s.End()
				if err := p.ForceFlush(t.Context()); err != nil {
					t.Error(err)
				}
				stubs := exporter.GetSpans()
				if len(stubs) != 1 || stubs[0].Name != "span" || unpaired(stubs[0].Attributes) != "a=1" || len(stubs[0].Events) != 1 || stubs[0].ChildSpanCount != 1 {
					t.Errorf("exported %+v", stubs)
				}
				if len(recorder.Started()) != 2 || len(recorder.Ended()) != 2 {
					t.Errorf("recorded %d starts and %d ends, want 2 of each", len(recorder.Started()), len(recorder.Ended()))
				}
			})
		}
	})
}
