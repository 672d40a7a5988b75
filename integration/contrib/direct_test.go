package contrib_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// remote returns a context with the span of a caller.
func remote(flags trace.TraceFlags) context.Context {
	state, _ := trace.ParseTraceState("vendor=1")
	return trace.ContextWithRemoteSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{0xfe}, SpanID: trace.SpanID{0xed}, TraceFlags: flags, TraceState: state, Remote: true,
	}))
}

// everything makes spans with all that a span can have, and more than a small limit takes.
func everything(_ *testing.T, tp trace.TracerProvider) {
	tracer := tp.Tracer("program", trace.WithInstrumentationVersion("1.2.3"), trace.WithSchemaURL("https://opentelemetry.io/schemas/1.30.0"))
	ctx, root := tracer.Start(remote(trace.FlagsSampled), "request", trace.WithSpanKind(trace.SpanKindConsumer))
	_, child := tracer.Start(ctx, "root's child", trace.WithLinks(trace.LinkFromContext(remote(0), attribute.Bool("start", true))))
	for i := range 5 {
		child.SetAttributes(attribute.String(fmt.Sprint("key", i), "größer als zwei"), attribute.Int("again", i))
		child.AddEvent(fmt.Sprint("event", i), trace.WithAttributes(attribute.Int("i", i), attribute.Int("j", i)))
		child.AddLink(trace.Link{SpanContext: root.SpanContext(), Attributes: []attribute.KeyValue{attribute.Int("i", i)}})
	}
	child.RecordError(errors.New("out of socks"), trace.WithStackTrace(true))
	child.SetStatus(codes.Error, "out of socks")
	child.End()
	root.SetStatus(codes.Ok, "no description")
	root.SetStatus(codes.Error, "weaker")
	root.SetName("root")
	root.End()
}

func TestSpansOfTheProgram(t *testing.T) {
	same(t, []scenario{
		{name: "everything", work: everything, want: []string{"root", "root's child"}},
		{name: "limits", setup: setup{limit: 3}, work: everything, want: []string{"root", "root's child"}},
		{name: "not sampled", setup: setup{sampler: sdktrace.NeverSample()}, work: everything},
		{name: "a sampler that adds", setup: setup{sampler: adds{}}, work: everything, want: []string{"root", "root's child"}},
	})
}

// adds is a sampler that sets an attribute and the trace state.
type adds struct{}

func (adds) Description() string { return "adds" }

func (adds) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	state, _ := trace.ParseTraceState("sampler=" + p.Kind.String())
	return sdktrace.SamplingResult{Decision: sdktrace.RecordAndSample, Tracestate: state, Attributes: []attribute.KeyValue{attribute.String("sampled", p.Name)}}
}
