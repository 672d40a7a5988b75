package otlpenc_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/perfline/perfline/internal/otlpenc"
)

// byUs is the request that this package makes of spans. It fails the test unless a protobuf library
// understands it, and finds nothing that it does not know.
func byUs(tb testing.TB, spans []sdktrace.ReadOnlySpan) (*tracepb.TracesData, []otlpenc.Spans) {
	tb.Helper()
	var groups otlpenc.Groups
	all := make([]otlpenc.Spans, 0, len(spans))
	sum := 0
	for _, s := range spans {
		one := encodeIn(&groups, s)
		all = append(all, one)
		sum += one.RequestSize()
	}
	body := otlpenc.AppendRequest([]byte("before"), all)
	body, ok := bytes.CutPrefix(body, []byte("before"))
	if !ok {
		tb.Fatalf("AppendRequest changed what was there: %q", body)
	}
	if sum < len(body) || len(all) == 1 && sum != len(body) {
		tb.Errorf("the requests of each of %d spans alone have %d bytes, the one of all has %d", len(all), sum, len(body))
	}
	request := &tracepb.TracesData{}
	if err := proto.Unmarshal(body, request); err != nil {
		tb.Fatalf("the request cannot be decoded: %v\n%x", err, body)
	}
	if size := proto.Size(request); size != len(body) {
		tb.Errorf("the request has %d bytes, the shortest has %d", len(body), size)
	}
	noUnknown(tb, request.ProtoReflect())
	return request, all
}

// encode returns the bytes of a span.
func encode(s sdktrace.ReadOnlySpan) []byte { return encodeIn(new(otlpenc.Groups), s).Bytes }

// encodeIn returns s with bytes of its own.
func encodeIn(groups *otlpenc.Groups, s sdktrace.ReadOnlySpan) (encoded otlpenc.Spans) {
	groups.Encode(s, func(one otlpenc.Spans) { encoded = one.Clone() })
	return encoded
}

// groupOf returns the group of a span.
func groupOf(groups *otlpenc.Groups, s sdktrace.ReadOnlySpan) *otlpenc.Group {
	var group *otlpenc.Group
	groups.Encode(s, func(one otlpenc.Spans) { group = one.Group() })
	return group
}

func noUnknown(tb testing.TB, m protoreflect.Message) {
	tb.Helper()
	if len(m.GetUnknown()) > 0 {
		tb.Errorf("%s has unknown fields %x", m.Descriptor().FullName(), m.GetUnknown())
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsList() && f.Kind() == protoreflect.MessageKind:
			for i := range v.List().Len() {
				noUnknown(tb, v.List().Get(i).Message())
			}
		case f.Kind() == protoreflect.MessageKind:
			noUnknown(tb, v.Message())
		}
		return true
	})
}

// snapshot makes a span of the SDK of one that was decoded.
func snapshot(tb testing.TB, s otlpenc.Span) sdktrace.ReadOnlySpan {
	tb.Helper()
	state, err := trace.ParseTraceState(s.TraceState)
	if err != nil {
		tb.Fatalf("trace state %q: %v", s.TraceState, err)
	}
	return tracetest.SpanStub{
		Name:        s.Name,
		SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: s.TraceID, SpanID: s.SpanID, TraceFlags: s.TraceFlags, TraceState: state}),
		Parent:      trace.NewSpanContext(trace.SpanContextConfig{TraceID: s.TraceID, SpanID: s.ParentID, Remote: s.Remote}),
		SpanKind:    s.Kind, StartTime: s.Start, EndTime: s.End,
		Attributes: s.Attributes, Events: s.Events, Links: s.Links, Status: s.Status,
		DroppedAttributes: s.DroppedAttributes, DroppedEvents: s.DroppedEvents, DroppedLinks: s.DroppedLinks,
		Resource: s.Group.Resource(), InstrumentationScope: s.Group.Scope(),
	}.Snapshot()
}

var (
	testResource = resource.NewWithAttributes("https://opentelemetry.io/schemas/1.37.0",
		attribute.String("service.name", "shop"), attribute.String("service.version", "1.4.2"),
		attribute.String("host.name", "web-7f9c"), attribute.String("process.runtime.version", "go1.26.0"),
		attribute.String("telemetry.sdk.language", "go"), attribute.String("telemetry.sdk.name", "opentelemetry"),
		attribute.String("telemetry.sdk.version", "1.47.0"), attribute.Int("process.pid", 4711))
	testTime = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)
)

// A processor that keeps the spans that end.
type recorder struct{ spans []sdktrace.ReadOnlySpan }

func (e *recorder) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (e *recorder) OnEnd(s sdktrace.ReadOnlySpan)                   { e.spans = append(e.spans, s) }
func (e *recorder) ForceFlush(context.Context) error                { return nil }
func (e *recorder) Shutdown(context.Context) error                  { return nil }

// request has the spans of an HTTP request with 2 measures, 3 marks and an error: 4 spans, 5 events.
func request(tb testing.TB) []sdktrace.ReadOnlySpan {
	tb.Helper()
	var e recorder
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(&e), sdktrace.WithResource(testResource))
	server := provider.Tracer("go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp", trace.WithInstrumentationVersion("0.72.0"))
	own := provider.Tracer("github.com/perfline/perfline")
	remote := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1, 2}, SpanID: trace.SpanID{3, 4}, TraceFlags: trace.FlagsSampled, Remote: true})
	at := func(ms int) trace.SpanEventOption {
		return trace.WithTimestamp(testTime.Add(time.Duration(ms) * time.Millisecond))
	}
	ctx, root := server.Start(trace.ContextWithSpanContext(tb.Context(), remote), "GET /cart/{id}", trace.WithSpanKind(trace.SpanKindServer), at(0),
		trace.WithAttributes(attribute.String("http.request.method", "GET"), attribute.String("url.path", "/cart/42"), attribute.String("url.scheme", "http"),
			attribute.String("server.address", "localhost"), attribute.Int("server.port", 8080), attribute.String("network.peer.address", "127.0.0.1"),
			attribute.Int("network.peer.port", 51234), attribute.String("user_agent.original", "Go-http-client/1.1"), attribute.String("network.protocol.version", "1.1")))
	root.AddEvent("cache miss", at(1), trace.WithAttributes(attribute.String("key", "cart-42")))
	_, load := own.Start(ctx, "load", at(1))
	load.SetAttributes(attribute.String("table", "carts"), attribute.Int("rows", 3))
	load.End(at(3))
	_, render := own.Start(ctx, "render", at(3))
	render.End(at(4))
	root.AddEvent("first byte", at(4), trace.WithAttributes(attribute.Int("size", 4096), attribute.Bool("compressed", true)))
	root.AddEvent("last byte", at(5))
	_, failed := own.Start(ctx, "publish", at(5), trace.WithSpanKind(trace.SpanKindProducer))
	failed.AddEvent("retry", at(5), trace.WithAttributes(attribute.Int("attempt", 2), attribute.Float64("wait", .05)))
	failed.RecordError(context.DeadlineExceeded, at(6))
	failed.SetStatus(codes.Error, "deadline exceeded")
	failed.End(at(6))
	root.SetAttributes(attribute.Int("http.response.status_code", 200), attribute.Int("http.response.body.size", 4096))
	root.End(at(7))
	if len(e.spans) != 4 {
		tb.Fatalf("%d spans, want 4", len(e.spans))
	}
	return e.spans
}

// scoped is a span with a scope of any content: a SpanStub has none without a name.
type scoped struct {
	sdktrace.ReadOnlySpan
	scope instrumentation.Scope
}

func (s scoped) InstrumentationScope() instrumentation.Scope { return s.scope }
