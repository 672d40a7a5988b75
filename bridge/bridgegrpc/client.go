package bridgegrpc

import (
	"cmp"
	"context"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/rpcconv"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/perfline/perfline/bridge/internal/received"
	"github.com/perfline/perfline/bridge/internal/serving"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/scope"
)

// Client configures the handlers for gRPC clients. The zero value uses OpenTelemetry's global
// providers and propagators.
type Client struct {
	TracerProvider trace.TracerProvider          // nil: otel.GetTracerProvider()
	MeterProvider  metric.MeterProvider          // nil: otel.GetMeterProvider()
	Propagators    propagation.TextMapPropagator // nil: otel.GetTextMapPropagator()

	// Filter returns false for calls that bypass the handler. These calls record no span, no
	// metrics and no entry, and send no trace context. nil: no call bypasses.
	Filter func(*stats.RPCTagInfo) bool
}

// Handler returns a handler that records every call. For each call, the handler creates a client
// span, and records a value of the metric rpc.client.call.duration. The timeline in the call's
// context records a resource entry. The propagators send the span's context to the server as
// metadata. Every status except OK counts as an error.
func (c Client) Handler() stats.Handler {
	// The global propagators and providers forward to implementations that are set later.
	meter := scope.Meter(cmp.Or(c.MeterProvider, otel.GetMeterProvider()))
	c.Propagators = cmp.Or(c.Propagators, otel.GetTextMapPropagator())
	return &client{
		Client:    c,
		tracer:    scope.Tracer(cmp.Or(c.TracerProvider, otel.GetTracerProvider())),
		durations: newDurations(serving.Instrument(rpcconv.NewClientCallDuration(meter)).Inst()),
	}
}

// A client is the handler that a Client makes, and the key of its calls in contexts.
type client struct {
	connections
	Client
	tracer    trace.Tracer
	durations durations
	fields    serving.Fields
}

var _ stats.Handler = (*client)(nil)

// TagRPC starts the span of an attempt of a call, and adds the span's context to the metadata. gRPC
// calls TagRPC once for each attempt, before HandleRPC. If the filter excludes the call, TagRPC
// starts no span.
func (h *client) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	c := &call{method: methodOf(info), tl: record.FromContext(ctx)}
	if !serving.Asked(c.tl, ofFilter, h.Filter, info, true) {
		if ctx.Value(h) == nil {
			return ctx
		}
		// ctx belongs to an outer call. The credentials of the outer call make this call. Events of
		// this call must not count for the outer call.
		return context.WithValue(ctx, h, nil)
	}
	c.start, c.span = c.tl.Now(), noop.Span{}
	c.tl.Try(serving.OfSpan, func() {
		ctx, c.span = h.tracer.Start(ctx, c.method, trace.WithSpanKind(trace.SpanKindClient), //nolint:fatcontext // once
			trace.WithAttributes(semconv.RPCSystemNameGRPC, semconv.RPCMethod(c.method)))
	})
	md, ok := metadata.FromOutgoingContext(ctx) // a copy
	if !ok {
		md = metadata.MD{}
	}
	c.tl.Try(serving.OfPropagators, func() {
		// A proxy may have copied these fields from its own caller.
		for _, field := range h.fields.Of(h.Propagators, strings.ToLower) {
			md.Delete(field)
		}
		h.Propagators.Inject(ctx, outgoing(md))
	})
	return context.WithValue(metadata.NewOutgoingContext(ctx, md), h, c)
}

// HandleRPC records an event of an attempt, such as a sent message or the end. gRPC calls HandleRPC
// concurrently.
func (h *client) HandleRPC(ctx context.Context, event stats.RPCStats) {
	if c, ok := ctx.Value(h).(*call); ok {
		c.tl.Try(serving.OfSpan, func() { h.handle(ctx, c, event) })
	}
}

func (h *client) handle(ctx context.Context, c *call, event stats.RPCStats) {
	switch e := event.(type) {
	case *stats.OutHeader:
		c.server = e.RemoteAddr
		c.note(&c.request)
		if serving.Takes(c.span) {
			c.describeServer()
		}
	case *stats.OutPayload:
		c.requestSize.Add(int64(e.CompressedLength))
	case *stats.InHeader, *stats.InTrailer: // an answer without messages may be only a trailer
		c.note(&c.response)
	case *stats.InPayload:
		c.encodedSize.Add(int64(e.CompressedLength))
		c.decodedSize.Add(int64(e.Length))
	case *stats.End:
		h.end(ctx, c, statusOf(e.Error))
	}
}

// describeServer adds the address of the chosen server to the span.
func (c *call) describeServer() {
	host, port := received.EndpointHostPort(endpointOf(c.server))
	if host == "" {
		return
	}
	list := serving.NewAttributeList()
	defer list.Free()
	list.Text(semconv.ServerAddressKey, host)
	list.Text(semconv.NetworkPeerAddressKey, host)
	serving.Int(list, semconv.ServerPortKey, int64(port))
	serving.Int(list, semconv.NetworkPeerPortKey, int64(port))
	c.span.SetAttributes(list.Attributes...)
}

func (h *client) end(ctx context.Context, c *call, st *status.Status) {
	end := c.tl.Now()
	failed := st.Code() != codes.OK
	c.record(ctx, record.Resource, st.Code(), end)
	c.tl.Try(serving.OfSpan, func() { c.endSpan(st, failed) })
	c.tl.Try(serving.OfMeter, func() {
		h.durations.record(ctx, outcome{c.method, st.Code(), failed}, end-c.start)
	})
}
