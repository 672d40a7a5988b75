package bridge_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
)

// The tests below are about perfline's provider: user code that panics, ends its goroutine or blocks stays with its
// goroutine, and export goes on.

// faults are what user code does. Each one receives a channel that is closed at the end of the test.
var faults = map[string]func(release <-chan struct{}){
	"panic":  func(<-chan struct{}) { panic("user code") },
	"Goexit": func(<-chan struct{}) { runtime.Goexit() },
	"block":  func(release <-chan struct{}) { <-release },
}

// An inserted fault happens once, when its place runs after it is armed.
type inserted struct {
	armed   chan struct{} // has a value while armed
	fault   func(<-chan struct{})
	begun   chan struct{}
	release chan struct{}
}

func (f *inserted) here() {
	select {
	case <-f.armed:
		close(f.begun)
		f.fault(f.release)
	default:
	}
}

// during arms the fault, calls f on a goroutine, and returns when the fault has happened. The channel that it returns is
// closed when the goroutine has ended.
func (f *inserted) during(call func()) (ended chan struct{}) {
	f.armed <- struct{}{}
	ended = make(chan struct{})
	go func() {
		defer close(ended)
		defer func() { _ = recover() }()
		call()
	}()
	<-f.begun
	return ended
}

type faultySampler struct{ *inserted }

func (s faultySampler) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	s.here()
	return sdktrace.AlwaysSample().ShouldSample(p)
}
func (faultySampler) Description() string { return "" }

type faultyIDs struct {
	*inserted
	counter
}

func (ids *faultyIDs) NewSpanID(ctx context.Context, t trace.TraceID) trace.SpanID {
	ids.here()
	return ids.counter.NewSpanID(ctx, t)
}

type faultyError struct{ *inserted }

func (v faultyError) Error() string {
	v.here()
	return "boom"
}

func (v faultyError) String() string { return v.Error() }

// A fault in user code that runs with a span does not keep other spans from the exporter. A span that has ended is
// exported as well.
func TestProviderFaultsOfSpans(t *testing.T) {
	startAndEnd := func(ctx context.Context, tracer trace.Tracer, _ any) {
		_, s := tracer.Start(ctx, "bad")
		s.End()
	}
	places := map[string]struct {
		setUp func(*inserted, *providerConfig)
		call  func(ctx context.Context, tracer trace.Tracer, value any)
		ended map[string]bool // the faults with which the span ends
	}{
		"sampler": {func(f *inserted, c *providerConfig) { c.sampler = faultySampler{f} }, startAndEnd, nil},
		"ids":     {func(f *inserted, c *providerConfig) { c.ids = &faultyIDs{inserted: f} }, startAndEnd, map[string]bool{"panic": true}},
		"OnStart": {func(f *inserted, c *providerConfig) {
			c.processors[0].(*hook).start = func(context.Context, sdktrace.ReadWriteSpan) { f.here() }
		}, startAndEnd, map[string]bool{"panic": true}},
		"OnEnd": {func(f *inserted, c *providerConfig) {
			c.processors[0].(*hook).end = func(sdktrace.ReadOnlySpan) { f.here() }
		}, startAndEnd, map[string]bool{"panic": true, "Goexit": true, "block": true}},
		"Error": {nil, func(ctx context.Context, tracer trace.Tracer, value any) {
			_, s := tracer.Start(ctx, "bad")
			defer s.End()
			s.RecordError(value.(error))
		}, map[string]bool{"panic": true, "Goexit": true}},
		"panic value": {nil, func(ctx context.Context, tracer trace.Tracer, value any) {
			_, s := tracer.Start(ctx, "bad")
			defer s.End()
			panic(value)
		}, map[string]bool{"panic": true, "Goexit": true}},
	}
	for place, c := range places {
		for name, fault := range faults {
			t.Run(place+" "+name, func(t *testing.T) {
				f := &inserted{armed: make(chan struct{}, 1), fault: fault, begun: make(chan struct{}), release: make(chan struct{})}
				exported := &exportedSpans{}
				config := providerConfig{exporter: exported, processors: []sdktrace.SpanProcessor{&hook{}}}
				if c.setUp != nil {
					c.setUp(f, &config)
				}
				p := newPerfline(t, config)
				tracer := p.Tracer("test")
				ctx, root := tracer.Start(t.Context(), "root")
				ended := f.during(func() { c.call(ctx, tracer, faultyError{f}) })
				if name != "block" {
					<-ended
				}

				_, sibling := tracer.Start(ctx, "sibling")
				sibling.End()
				root.End()
				_, other := tracer.Start(t.Context(), "other")
				other.End()
				if err := p.ForceFlush(t.Context()); err != nil {
					t.Error(err)
				}
				want := "other root sibling"
				if c.ended[name] {
					want = "bad " + want
				}
				if got := exported.names(); got != want {
					t.Errorf("exported %s, want %s", got, want)
				}
				close(f.release)
				<-ended
				if name == "block" && exported.names() != "bad other root sibling" {
					t.Errorf("after the block exported %s, want all four", exported.names())
				}
			})
		}
	}
}

// A fault in a processor's ForceFlush or Shutdown does not keep data from the exporter.
func TestProviderFaultsOfProcessors(t *testing.T) {
	for _, place := range []string{"ForceFlush", "Shutdown"} {
		for name, fault := range faults {
			t.Run(place+" "+name, func(t *testing.T) {
				f := &inserted{armed: make(chan struct{}, 1), fault: fault, begun: make(chan struct{}), release: make(chan struct{})}
				sp := &hook{flush: func(context.Context) error { f.here(); return nil }, down: func(context.Context) error { f.here(); return nil }}
				exported := &exportedSpans{}
				p := newPerfline(t, providerConfig{exporter: exported, processors: []sdktrace.SpanProcessor{sp}})
				tracer := p.Tracer("test")
				ctx, root := tracer.Start(t.Context(), "root")
				_, child := tracer.Start(ctx, "child")
				child.End()
				call := p.ForceFlush
				if place == "Shutdown" {
					call = p.Shutdown
				}
				ended := f.during(func() { _ = call(t.Context()) })
				if got := exported.names(); got != "child" {
					t.Errorf("when the fault begins, exported are %q, want child", got)
				}
				if place == "ForceFlush" {
					root.End()
					if got := exported.names(); got != "child root" {
						t.Errorf("after the fault, exported are %q, want child root", got)
					}
				}
				close(f.release)
				<-ended
				if exported.closed != (place == "Shutdown") {
					t.Errorf("the exporter was shut down: %v", exported.closed)
				}
				_ = p.Shutdown(t.Context())
			})
		}
	}
}

// Each other processor is called when one is at fault, as far as the SDK does so. There a panic goes on to the caller; perfline counts it.
func TestProviderPanicOfAProcessor(t *testing.T) {
	overBoth(t, func(t *testing.T, start newProvider) {
		var j journal
		bad := j.processor("bad")
		bad.end = func(sdktrace.ReadOnlySpan) { panic("user code") }
		p := start(t, providerConfig{processors: []sdktrace.SpanProcessor{j.processor("a"), bad, j.processor("b")}})
		_, s := p.Tracer("test").Start(t.Context(), "s")
		own, _ := p.(*bridge.TracerProvider)
		func() {
			defer func() {
				if recovered := recover(); (recovered == nil) != (own != nil) {
					t.Errorf("recovered %v", recovered)
				}
			}()
			s.End()
		}()
		s.End()
		want := "a end s"
		if own != nil {
			want = "a end s, b end s"
		}
		if got := j.take(); !strings.Contains(got, want) || s.IsRecording() {
			t.Errorf("calls were %s, and the span records: %v", got, s.IsRecording())
		}
	})
}

// Shutdown with a context that has ended still hands over the spans, and shuts down processors and exporters.
func TestProviderShutdownCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 { // select is random
		var j journal
		exported := &exportedSpans{}
		p := newPerfline(t, providerConfig{exporter: exported, processors: []sdktrace.SpanProcessor{j.processor("a")}})
		under, root := p.Tracer("test").Start(t.Context(), "root")
		_, child := p.Tracer("test").Start(under, "child")
		child.End()
		_ = p.Shutdown(ctx)
		if got := j.take(); !strings.HasSuffix(got, "a down") || !exported.closed || exported.names() != "child" {
			t.Fatalf("calls were %s, the exporter was shut down: %v, with %q; want child", got, exported.closed, exported.names())
		}
		root.End()
	}
}

// ForceFlush with a context that has ended always returns its cause, also without processors.
func TestProviderFlushCancelledWithoutProcessors(t *testing.T) {
	cause := errors.New("cause")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	for range 20 {
		if err := newPerfline(t, providerConfig{}).ForceFlush(ctx); !errors.Is(err, cause) {
			t.Fatalf("ForceFlush returned %v, want %v", err, cause)
		}
	}
}
