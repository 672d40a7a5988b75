package bridge_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/onread"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/observer"
)

// The tests in the files provider_*_test.go run over perfline's provider and over the SDK's. The SDK proves each
// expectation. The laboratory runs the SDK's own tests: go run -C lab ./conformance -only sdk.

// An anyProvider is perfline's provider or the SDK's.
type anyProvider interface {
	trace.TracerProvider
	RegisterSpanProcessor(sdktrace.SpanProcessor)
	UnregisterSpanProcessor(sdktrace.SpanProcessor)
	ForceFlush(context.Context) error
	Shutdown(context.Context) error
}

var (
	_ anyProvider = (*bridge.TracerProvider)(nil)
	_ anyProvider = (*sdktrace.TracerProvider)(nil)
)

// A providerConfig configures both providers alike. Zero fields mean the defaults of both.
type providerConfig struct {
	sampler       sdktrace.Sampler
	resource      *resource.Resource
	limits        *sdktrace.SpanLimits
	ids           sdktrace.IDGenerator
	processors    []sdktrace.SpanProcessor
	withoutPanics bool
	exporter      bridge.Output // of perfline's provider alone
	timeline      *observer.Timeline
	logs          bridge.LogOutput // takes marks as log records
}

// A newProvider makes a provider, which is shut down when the test ends.
type newProvider func(*testing.T, providerConfig) anyProvider

func newPerfline(t *testing.T, c providerConfig) anyProvider {
	if c.timeline == nil {
		c.timeline = observer.NewTimeline(observer.TimelineOptions{}) // one of the bubble, in a bubble of testing/synctest
	}
	config := bridge.TracerProviderConfig{
		Timeline: c.timeline,
		Sampler:  c.sampler, Resource: c.resource, Limits: c.limits, IDs: c.ids, Processors: c.processors, WithoutPanicRecording: c.withoutPanics,
		Marks: bridge.LogRecords, Logs: c.logs,
	}
	if c.exporter != nil {
		config.Exporters = []bridge.Output{c.exporter}
	}
	p := bridge.NewTracerProvider(config)
	t.Cleanup(func() { _ = p.Shutdown(context.Background()) })
	return p
}

func newSDK(t *testing.T, c providerConfig) anyProvider {
	options := []sdktrace.TracerProviderOption{sdktrace.WithSampler(c.sampler), sdktrace.WithIDGenerator(c.ids)}
	if c.resource != nil {
		options = append(options, sdktrace.WithResource(c.resource))
	}
	if c.limits != nil {
		options = append(options, sdktrace.WithRawSpanLimits(*c.limits))
	}
	for _, sp := range c.processors {
		options = append(options, sdktrace.WithSpanProcessor(sp))
	}
	if c.withoutPanics {
		options = append(options, sdktrace.WithoutPanicRecording())
	}
	p := sdktrace.NewTracerProvider(options...)
	if c.timeline != nil {
		p.RegisterSpanProcessor(bridge.NewProcessor(bridge.ProcessorConfig{
			Timeline: c.timeline, TracerProvider: p, Marks: bridge.LogRecords, Logs: c.logs,
		}))
	}
	t.Cleanup(func() { _ = p.Shutdown(context.Background()) })
	return p
}

// overBoth runs a test over both providers.
func overBoth(t *testing.T, test func(*testing.T, newProvider)) {
	t.Helper()
	t.Run("perfline", func(t *testing.T) { test(t, newPerfline) })
	t.Run("SDK", func(t *testing.T) { test(t, newSDK) })
}

// overBothOf runs a test of each case of a table over both providers.
func overBothOf[C any](t *testing.T, cases []C, name func(C) string, test func(*testing.T, newProvider, C)) {
	t.Helper()
	overBoth(t, func(t *testing.T, start newProvider) {
		for _, c := range cases {
			t.Run(name(c), func(t *testing.T) { test(t, start, c) })
		}
	})
}

// recorded returns a provider, its tracer and what its processor receives at the end of spans.
func recorded(t *testing.T, start newProvider, c providerConfig) (anyProvider, trace.Tracer, *recorder) {
	got := new(recorder)
	c.processors = append(slices.Clone(c.processors), got)
	p := start(t, c)
	return p, p.Tracer("test"), got
}

// A hook is a span processor made of functions. A nil function does nothing.
type hook struct {
	start       func(context.Context, sdktrace.ReadWriteSpan)
	end         func(sdktrace.ReadOnlySpan)
	flush, down func(context.Context) error
}

func (h *hook) OnStart(ctx context.Context, s sdktrace.ReadWriteSpan) {
	if h.start != nil {
		h.start(ctx, s)
	}
}

func (h *hook) OnEnd(s sdktrace.ReadOnlySpan) {
	if h.end != nil {
		h.end(s)
	}
}

func (h *hook) ForceFlush(ctx context.Context) error {
	if h.flush != nil {
		return h.flush(ctx)
	}
	return nil
}

func (h *hook) Shutdown(ctx context.Context) error {
	if h.down != nil {
		return h.down(ctx)
	}
	return nil
}

// A readable is an output whose readers call read first.
type readable struct{ readers onread.Functions }

func (s *readable) OnRead(f func()) { s.readers.Add(f) }

// read lets the provider hand over what has ended. The provider waits at most one second for other hand-overs, and a busy machine may need
// more time: then read tries again.
func (s *readable) read() {
	for began := time.Now(); ; began = time.Now() {
		if s.readers.Call(); time.Since(began) < time.Second {
			return
		}
	}
}

// exportedSpans is an output of perfline's provider that keeps the spans.
type exportedSpans struct {
	readable

	mu     sync.Mutex
	spans  []otlpenc.Span
	closed bool
}

func (o *exportedSpans) Accept(all []bridge.Spans) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, spans := range all {
		for s, err := range otlpenc.Spans(spans).All() {
			if err != nil {
				s.Name = err.Error()
			}
			o.spans = append(o.spans, s)
		}
	}
}

func (*exportedSpans) ForceFlush(context.Context) error { return nil }

func (o *exportedSpans) Shutdown(context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	return nil
}

// all returns the spans that have ended.
func (o *exportedSpans) all() []otlpenc.Span {
	o.read()
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.spans
}

// names returns the names of the exported spans, sorted.
func (o *exportedSpans) names() string {
	o.read()
	o.mu.Lock()
	defer o.mu.Unlock()
	var names []string
	for _, s := range o.spans {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// A counter makes ids 1, 2, 3 and so on.
type counter struct {
	mu            sync.Mutex
	traces, spans uint64
}

func (c *counter) NewIDs(ctx context.Context) (t trace.TraceID, s trace.SpanID) {
	c.mu.Lock()
	c.traces++
	binary.BigEndian.PutUint64(t[8:], c.traces)
	c.mu.Unlock()
	return t, c.NewSpanID(ctx, t)
}

func (c *counter) NewSpanID(context.Context, trace.TraceID) (s trace.SpanID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spans++
	binary.BigEndian.PutUint64(s[:], c.spans)
	return s
}

// handledErrors replaces OpenTelemetry's error handler, and returns the errors that it receives from then on.
func handledErrors() func() []error {
	var mu sync.Mutex
	var errs []error
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		mu.Lock()
		defer mu.Unlock()
		errs = append(errs, err)
	}))
	return func() []error {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(errs)
	}
}

// spanContext returns a valid span context, sampled or not.
func spanContext(sampled, remote bool) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{15: 0xaa}, SpanID: trace.SpanID{7: 0xbb}, TraceFlags: trace.TraceFlags(0).WithSampled(sampled), Remote: remote,
	})
}

// traceState parses a trace state.
func traceState(t *testing.T, text string) trace.TraceState {
	t.Helper()
	s, err := trace.ParseTraceState(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A fixed sampler returns the same result for every span.
type fixed sdktrace.SamplingResult

func (f fixed) ShouldSample(sdktrace.SamplingParameters) sdktrace.SamplingResult {
	return sdktrace.SamplingResult(f)
}

func (f fixed) Description() string { return fmt.Sprint("fixed ", f.Decision) }

// A samplerFunc is a sampler that is a function.
type samplerFunc func(sdktrace.SamplingParameters) sdktrace.SamplingResult

func (f samplerFunc) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult { return f(p) }
func (samplerFunc) Description() string                                                  { return "function" }

// limits returns the SDK's default limits with a change.
func limits(change func(*sdktrace.SpanLimits)) *sdktrace.SpanLimits {
	l := sdktrace.NewSpanLimits()
	change(&l)
	return &l
}
