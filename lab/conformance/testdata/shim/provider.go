// Package conformance puts perfline's tracer provider in place of the SDK's.
package conformance

import (
	"context"
	"os"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/observer"
)

func init() {
	// The first one asks the SDK's provider for its limits.
	bridge.NewTracerProvider(bridge.TracerProviderConfig{})
	sdktrace.Substitute = provider
}

// provider makes perfline's provider. With PERFLINE_PROVIDER=journals, exporters get the spans of the journals of local roots,
// encoded and decoded, and else those that processors see.
func provider(c sdktrace.Substitution) sdktrace.Substituted {
	count()
	b := bridge.TracerProviderConfig{
		Sampler: c.Sampler, Resource: c.Resource, Limits: &c.Limits, IDs: c.IDs, WithoutPanicRecording: c.WithoutPanicRecording,
		Timeline: observer.NewTimeline(observer.TimelineOptions{}),
	}
	for _, p := range c.Processors {
		if e := sdktrace.ExporterOf(p); e != nil && os.Getenv("PERFLINE_PROVIDER") == "journals" {
			b.Exporters = append(b.Exporters, output{e})
		} else {
			b.Processors = append(b.Processors, p)
		}
	}
	return bridge.NewTracerProvider(b)
}

// An output gives an exporter the spans of journals.
type output struct{ to sdktrace.SpanExporter }

func (o output) Accept(all []bridge.Spans) {
	for _, spans := range all {
		o.export(otlpenc.Spans(spans))
	}
}

func (o output) export(spans otlpenc.Spans) {
	for s, err := range spans.All() {
		if err != nil {
			panic(err)
		}
		state, err := trace.ParseTraceState(s.TraceState)
		if err != nil {
			panic(err)
		}
		stub := tracetest.SpanStub{
			Name: s.Name, SpanKind: s.Kind, StartTime: s.Start, EndTime: s.End,
			SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: s.TraceID, SpanID: s.SpanID, TraceFlags: s.TraceFlags, TraceState: state}),
			Attributes:  s.Attributes, Events: s.Events, Links: s.Links, Status: s.Status,
			DroppedAttributes: s.DroppedAttributes, DroppedEvents: s.DroppedEvents, DroppedLinks: s.DroppedLinks,
			Resource: s.Group.Resource(), InstrumentationScope: s.Group.Scope(),
		}
		if s.ParentID.IsValid() {
			stub.Parent = trace.NewSpanContext(trace.SpanContextConfig{TraceID: s.TraceID, SpanID: s.ParentID, TraceFlags: s.TraceFlags, Remote: s.Remote})
		}
		_ = o.to.ExportSpans(context.Background(), []sdktrace.ReadOnlySpan{stub.Snapshot()})
	}
}

// OnRead has the tests call f before they look at their exporter.
func (o output) OnRead(f func()) { sdktrace.OnRead(f) }

func (o output) ForceFlush(context.Context) error   { return nil }
func (o output) Shutdown(ctx context.Context) error { return o.to.Shutdown(ctx) }

// count notes that a provider was made.
func count() {
	f, err := os.OpenFile(os.Getenv("PERFLINE_PROVIDERS"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	if _, err := f.WriteString("."); err != nil {
		panic(err)
	}
	if err := f.Close(); err != nil {
		panic(err)
	}
}
