// Package bothproviders runs a package's tests with perfline's provider, and then with other
// providers. Only tests import the package. A test program with this package accepts the flag
// -provider.
package bothproviders

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"strconv"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/observer"
)

// The values of the flag -provider.
const (
	Perfline   = "perfline"   // a bridge.TracerProvider that stores marks and measures in journals
	Processors = "processors" // a bridge.TracerProvider with a span processor
	SDK        = "sdk"        // the SDK's provider with a bridge.Processor
)

// A Provider is a tracer provider of the SDK or of perfline.
type Provider interface {
	trace.TracerProvider
	ForceFlush(ctx context.Context) error
	Shutdown(ctx context.Context) error
}

var provider = flag.String("provider", Perfline,
	"the provider to test: perfline, processors or sdk")

// Is reports whether the tests use the provider with the given name.
func Is(name string) bool { return *provider == name }

// All returns the valid values of the flag -provider.
func All() []string { return []string{Perfline, Processors, SDK} }

// Options configure a provider. A zero field means the provider's default.
type Options struct {
	Timeline *observer.Timeline
	Sampler  sdktrace.Sampler
	Limits   *sdktrace.SpanLimits
	// Keep applies only to the provider Perfline. With Keep, the recorders receive the spans, and
	// the exporters do not.
	Keep  *bridge.KeepPolicy
	Marks bridge.MarkForm
	Logs  bridge.LogOutput
}

// New returns the provider to test. The processor receives the provider's spans, and the marks and
// measures of tl. A span arrives at the span's end, or together with the rest of the unit. A nil
// sampler selects the default.
func New(t *testing.T, tl *observer.Timeline, sampler sdktrace.Sampler,
	to sdktrace.SpanProcessor) Provider {
	t.Helper()
	p, _ := Open(*provider, Options{Timeline: tl, Sampler: sampler}, to)
	return p
}

// Open returns the provider with the given name, and a function that returns the counts of marks
// and measures. The caller must shut the provider down.
func Open(name string, o Options, to sdktrace.SpanProcessor) (Provider, func() bridge.Stats) {
	if name == SDK {
		options := []sdktrace.TracerProviderOption{sdktrace.WithSampler(o.Sampler),
			sdktrace.WithSpanProcessor(to)}
		if o.Limits != nil {
			options = append(options, sdktrace.WithRawSpanLimits(*o.Limits))
		}
		tp := sdktrace.NewTracerProvider(options...)
		joined := bridge.NewProcessor(bridge.ProcessorConfig{Timeline: o.Timeline,
			TracerProvider: tp, Marks: o.Marks, Logs: o.Logs})
		tp.RegisterSpanProcessor(joined)
		return tp, joined.Stats
	}
	c := bridge.TracerProviderConfig{Timeline: o.Timeline, Sampler: o.Sampler, Limits: o.Limits,
		Marks: o.Marks, Logs: o.Logs}
	switch {
	case name == Processors:
		c.Processors = []sdktrace.SpanProcessor{to}
	case o.Keep != nil:
		c.Keep, c.Recorders = o.Keep, []bridge.Output{Decoded{to}}
	default:
		c.Exporters = []bridge.Output{Decoded{to}}
	}
	tp := bridge.NewTracerProvider(c)
	return tp, tp.Stats
}

// Decoded is an output that decodes spans and passes the spans to a processor.
type Decoded struct{ To sdktrace.SpanProcessor }

// Accept decodes the spans, and passes each span to the method OnEnd of the processor.
func (d Decoded) Accept(all []bridge.Spans) {
	for _, spans := range all {
		for s, err := range otlpenc.Spans(spans).All() {
			if err != nil {
				panic(err) // the encoder made them
			}
			d.To.OnEnd(Snapshot(&s))
		}
	}
}

// ForceFlush calls the method ForceFlush of the processor.
func (d Decoded) ForceFlush(ctx context.Context) error { return d.To.ForceFlush(ctx) }

// Shutdown calls the method Shutdown of the processor.
func (d Decoded) Shutdown(ctx context.Context) error { return d.To.Shutdown(ctx) }

// Wrapped returns a wrapper of p. The wrapper's tracers implement only OpenTelemetry's API. A
// program's wrapper also returns such tracers. OpenTelemetry's global provider returns such tracers
// before the program calls otel.SetTracerProvider.
func Wrapped(p trace.TracerProvider) trace.TracerProvider { return wrapped{p} }

type wrapped struct{ trace.TracerProvider }

func (w wrapped) Tracer(name string, options ...trace.TracerOption) trace.Tracer {
	return struct{ trace.Tracer }{w.TracerProvider.Tracer(name, options...)}
}

// HandedOver returns a function that calls the function do, for tests that count allocations. With
// perfline's provider, every 32nd call also hands over the ended requests to the outputs. The
// hand-over may allocate once for many requests, as in a program.
func HandedOver(tp trace.TracerProvider, do func()) func() {
	p, ok := tp.(*bridge.TracerProvider)
	if !ok {
		return do
	}
	runs := 0
	return func() {
		do()
		if runs++; runs%32 == 0 {
			p.Stats()
		}
	}
}

// Again runs the package's tests with another provider, in a separate process. The parameter skip
// is a pattern of tests that the process skips. Again marks t as parallel, so that t may run
// together with other calls of Again.
func Again(t *testing.T, provider, skip string) {
	t.Helper()
	t.Parallel()
	args := []string{"-provider", provider, "-test.short=" + strconv.FormatBool(testing.Short())}
	if skip != "" {
		args = append(args, "-test.skip", skip)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...) //nolint:gosec // it is this program
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Snapshot converts a decoded span to a span of the SDK.
func Snapshot(s *otlpenc.Span) sdktrace.ReadOnlySpan {
	state, _ := trace.ParseTraceState(s.TraceState)
	c := trace.SpanContextConfig{TraceID: s.TraceID, SpanID: s.SpanID, TraceFlags: s.TraceFlags,
		TraceState: state}
	parent := trace.SpanContextConfig{TraceID: s.TraceID, SpanID: s.ParentID,
		TraceFlags: s.TraceFlags, Remote: s.Remote}
	if !s.ParentID.IsValid() {
		parent = trace.SpanContextConfig{}
	}
	return tracetest.SpanStub{
		Name: s.Name, SpanKind: s.Kind, SpanContext: trace.NewSpanContext(c),
		Parent:    trace.NewSpanContext(parent),
		StartTime: s.Start, EndTime: s.End, Attributes: s.Attributes, Events: s.Events,
		Links: s.Links, Status: s.Status,
		DroppedAttributes: s.DroppedAttributes, DroppedEvents: s.DroppedEvents,
		DroppedLinks: s.DroppedLinks,
		Resource:     s.Group.Resource(), InstrumentationScope: s.Group.Scope(),
	}.Snapshot()
}
