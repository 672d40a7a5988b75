package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// lifecycleDifferences are differences of providers, and of their calls of processors.
var lifecycleDifferences = []providerDifference{
	{
		what: "Assertion of the provider to `*sdktrace.TracerProvider`", sdk: "succeeds", perfline: "fails",
		why: "The SDK's type is no interface. A program that needs it uses the SDK's provider with `bridge.NewProcessor`.",
		observe: func(t *testing.T, start newProvider) string {
			return either(reflect.TypeOf(start(t, providerConfig{})) == reflect.TypeFor[*sdktrace.TracerProvider](), "succeeds", "fails")
		},
	},
	{
		what: "A span that ends is exported", sdk: "after the processors that are registered before the exporter", perfline: "before all processors",
		why: "A processor that blocks or panics must not keep the span.",
		observe: func(t *testing.T, start newProvider) (got string) {
			e := newExporting()
			first := &hook{end: func(sdktrace.ReadOnlySpan) {
				got = either(e.names() == "", "after the processors that are registered before the exporter", "before all processors")
			}}
			_, s := e.start(t, start, first).Tracer("test").Start(t.Context(), "span")
			s.End()
			return got
		},
	},
	{
		what: "A processor before the exporter panics in OnEnd", sdk: "the span is lost", perfline: "the span is exported",
		why: "As above.",
		observe: func(t *testing.T, start newProvider) string {
			e := newExporting()
			_, s := e.start(t, start, &hook{end: func(sdktrace.ReadOnlySpan) { panic("user code") }}).Tracer("test").Start(t.Context(), "span")
			func() {
				defer func() { _ = recover() }()
				s.End()
			}()
			return either(e.names() == "", "the span is lost", "the span is exported")
		},
	},
	{
		what: "A processor changes the attributes that it receives in OnEnd", sdk: "later processors and the exporter see the change", perfline: "others see the span as it was recorded",
		why: "The span is being encoded at the same time. A processor that changes spans does so in OnStart.",
		observe: func(t *testing.T, start newProvider) string {
			_, tracer, got := recorded(t, start, providerConfig{processors: []sdktrace.SpanProcessor{
				&hook{end: func(s sdktrace.ReadOnlySpan) { s.Attributes()[0] = pairs("a=2")[0] }},
			}})
			_, s := tracer.Start(t.Context(), "span", trace.WithAttributes(pairs("a=1")...))
			s.End()
			return either(unpaired(got.one(t, "span").Attributes()) == "a=2", "later processors and the exporter see the change", "others see the span as it was recorded")
		},
	},
	{
		what: "A span ends after Shutdown", sdk: "the exporter does not receive it", perfline: "the exporter receives it, and counts it as dropped",
		why: "Spans that are lost are counted.",
		observe: func(t *testing.T, start newProvider) string {
			e := newExporting()
			p := e.start(t, start)
			_, s := p.Tracer("test").Start(t.Context(), "span")
			_ = p.Shutdown(t.Context())
			s.End()
			return either(e.names() == "", "the exporter does not receive it", "the exporter receives it, and counts it as dropped")
		},
	},
	{
		what: "Shutdown, when its context has ended", sdk: "shuts down 0 of 2 processors", perfline: "shuts down 2 of 2 processors",
		why: "A further call does nothing, so that processors would never be shut down.",
		observe: func(t *testing.T, start newProvider) string {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			n := 0
			count := func(context.Context) error { n++; return nil }
			_ = start(t, providerConfig{processors: []sdktrace.SpanProcessor{&hook{down: count}, &hook{down: count}}}).Shutdown(ctx)
			return fmt.Sprintf("shuts down %d of 2 processors", n)
		},
	},
	{
		what: "ForceFlush, when its context ends after a processor has failed, returns", sdk: "the context's error", perfline: "both errors",
		why: "The first error may be the reason of the second.",
		observe: func(t *testing.T, start newProvider) string {
			ctx, cancel := context.WithCancel(t.Context())
			failure := errors.New("failure")
			err := start(t, providerConfig{processors: []sdktrace.SpanProcessor{
				&hook{flush: func(context.Context) error { cancel(); return failure }}, &hook{},
			}}).ForceFlush(ctx)
			if !errors.Is(err, context.Canceled) {
				return fmt.Sprint(err)
			}
			return either(errors.Is(err, failure), "both errors", "the context's error")
		},
	},
	{
		what: "ForceFlush without processors, when its context has ended, returns", sdk: "nil", perfline: "the cause of the context's end",
		why: "The provider has spans to hand over without any processors, too.",
		observe: func(t *testing.T, start newProvider) string {
			cause := errors.New("cause")
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(cause)
			err := start(t, providerConfig{}).ForceFlush(ctx)
			return either(errors.Is(err, cause), "the cause of the context's end", either(err == nil, "nil", "another error"))
		},
	},
	{
		what: "A processor's Shutdown runs", sdk: "under the provider's lock", perfline: "under no lock",
		why: "User code may block, or use the provider on another goroutine.",
		observe: func(t *testing.T, start newProvider) (got string) {
			var p anyProvider
			sp := &hook{down: func(context.Context) error {
				got = either(locked(p), "under the provider's lock", "under no lock")
				return nil
			}}
			p = start(t, providerConfig{processors: []sdktrace.SpanProcessor{sp}})
			p.UnregisterSpanProcessor(sp)
			return got
		},
	},
	{
		what: "The methods of a panic's value, in a deferred End, run", sdk: "under the span's lock", perfline: "under no lock",
		why: "They may use the span.",
		observe: func(t *testing.T, start newProvider) (got string) {
			_, s := start(t, providerConfig{}).Tracer("test").Start(t.Context(), "span")
			func() {
				defer func() { _ = recover() }()
				defer s.End()
				panic(stringFunc(func() string { got = either(locked(s), "under the span's lock", "under no lock"); return "" }))
			}()
			return got
		},
	},
	{
		what: "A span that ends while UnregisterSpanProcessor shuts down the processor", sdk: "reaches the processor", perfline: "does not reach the processor",
		why: "A processor that is being shut down receives no more spans.",
		observe: func(t *testing.T, start newProvider) string {
			var s trace.Span
			got := "does not reach the processor"
			sp := &hook{
				down: func(context.Context) error { s.End(); return nil },
				end:  func(sdktrace.ReadOnlySpan) { got = "reaches the processor" },
			}
			p := start(t, providerConfig{processors: []sdktrace.SpanProcessor{sp}})
			_, s = p.Tracer("test").Start(t.Context(), "span")
			p.UnregisterSpanProcessor(sp)
			return got
		},
	},
	{
		what: "UnregisterSpanProcessor of a processor whose type cannot be compared", sdk: "panics", perfline: "does nothing",
		why: "No such processor can be found in the list.",
		observe: func(t *testing.T, start newProvider) (got string) {
			defer func() {
				if recover() != nil {
					got = "panics"
				}
			}()
			sp := uncomparable{SpanProcessor: &hook{}}
			p := start(t, providerConfig{processors: []sdktrace.SpanProcessor{sp}})
			p.UnregisterSpanProcessor(sp)
			return "does nothing"
		},
	},
}

type stringFunc func() string

func (s stringFunc) String() string { return s() }

// An uncomparable processor makes == panic.
type uncomparable struct {
	sdktrace.SpanProcessor
	_ []int
}

func either(first bool, one, other string) string {
	if first {
		return one
	}
	return other
}

// exporting is an exporter: an output of perfline's provider, and the last processor of the SDK's.
type exporting struct {
	output    exportedSpans
	processor recorder
}

func newExporting() *exporting { return new(exporting) }

// start returns a provider with the processors and the exporter.
func (e *exporting) start(t *testing.T, start newProvider, processors ...sdktrace.SpanProcessor) anyProvider {
	p := start(t, providerConfig{processors: processors, exporter: &e.output})
	if _, ok := p.(*sdktrace.TracerProvider); ok {
		p.RegisterSpanProcessor(&e.processor)
	}
	return p
}

func (e *exporting) names() string { return e.output.names() + strings.Join(e.processor.names(), " ") }

// locked reports whether the mutex named mu of the struct that v points to is locked.
func locked(v any) bool {
	mu, ok := reflect.NewAt(reflect.TypeFor[sync.Mutex](), reflect.ValueOf(v).Elem().FieldByName("mu").Addr().UnsafePointer()).Interface().(*sync.Mutex)
	if !ok || !mu.TryLock() {
		return true
	}
	mu.Unlock()
	return false
}
