package bridgegrpc

import (
	"cmp"
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/rpcconv"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/perfline/perfline/bridge/internal/serving"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/scope"
	"github.com/perfline/perfline/observer"
)

// Server makes handlers for gRPC servers. The zero value uses OpenTelemetry's global providers and
// propagators, and the default timeline.
type Server struct {
	TracerProvider trace.TracerProvider          // nil: otel.GetTracerProvider()
	MeterProvider  metric.MeterProvider          // nil: otel.GetMeterProvider()
	Propagators    propagation.TextMapPropagator // nil: otel.GetTextMapPropagator()
	// for other providers than a bridge.TracerProvider, which has its own; nil: observer.ProcessTimeline()
	Timeline *observer.Timeline

	// Filter is asked about every call. A call for which it returns false gets nothing: no
	// timeline, no span, no metrics.
	Filter func(*stats.RPCTagInfo) bool

	// PublicEndpoint is asked about every call that gets a span, with the caller's span in the
	// context. If it returns true, the call begins a trace of its own, linked to the caller's.
	PublicEndpoint func(context.Context, *stats.RPCTagInfo) bool
}

// Handler returns a handler that gives every call a timeline of its own, a server span and the
// metric rpc.server.call.duration. The propagators read the span's parent from the metadata.
// Observers get a navigation entry before the span ends. The timeline has the moments requestStart,
// responseStart (the first header or message) and responseEnd, for marks.Measure.
//
// observer.FromContext returns the timeline. It is the unit of the server span if a
// bridge.TracerProvider makes that, and ends with the span. Over other providers, it is a child of
// the Server's Timeline, and ends with the call.
//
// A status counts as the server's error when it is UNKNOWN, DEADLINE_EXCEEDED, UNIMPLEMENTED,
// INTERNAL, UNAVAILABLE or DATA_LOSS.
func (s Server) Handler() stats.Handler {
	duration := serving.Instrument(
		rpcconv.NewServerCallDuration(
			scope.Meter(cmp.Or(s.MeterProvider, otel.GetMeterProvider()))))
	// the globals forward to what is set later
	s.Propagators = cmp.Or(s.Propagators, otel.GetTextMapPropagator())
	s.Timeline = cmp.Or(s.Timeline, observer.ProcessTimeline())
	return &server{
		Server:    s,
		tracer:    scope.Tracer(cmp.Or(s.TracerProvider, otel.GetTracerProvider())),
		durations: newDurations(duration.Inst()),
	}
}

// server is the handler of a Server. It is the key of its calls in contexts, so that the handlers
// of one server do not find each other's.
type server struct {
	connections
	Server
	tracer    trace.Tracer
	durations durations
}

var _ stats.Handler = (*server)(nil)

// TagRPC is called before anything else of a call.
func (h *server) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	tl := (*record.Timeline)(h.Timeline)
	if serving.Served(ctx) || !serving.Asked(tl, ofFilter, h.Filter, info, true) {
		return ctx
	}
	c := &call{method: methodOf(info)}
	span, borrowed := serving.SpanAbove(ctx, tl)
	if !borrowed {
		ctx = extract(ctx, tl, h.Propagators)
		public := h.PublicEndpoint != nil // the safe answer
		if public {
			tl.Try(ofPublic, func() { public = h.PublicEndpoint(ctx, info) })
		}
		c.arriving = ctx
		ctx, span = serving.StartSpan(ctx, tl, h.tracer, c.method, c, public)
		c.arriving, c.span = nil, span
	}
	ctx, c.tl, c.closes = serving.Timeline(ctx, span, tl)
	c.request.Store(1) // 0; see call
	return context.WithValue(ctx, h, c)
}

// HandleRPC is called for the events of a call. It may be called concurrently for a stream.
func (h *server) HandleRPC(ctx context.Context, event stats.RPCStats) {
	if c, ok := ctx.Value(h).(*call); ok {
		c.tl.Try(serving.OfSpan, func() { h.handle(ctx, c, event) })
	}
}

func (h *server) handle(ctx context.Context, c *call, event stats.RPCStats) {
	switch e := event.(type) {
	case *stats.Begin:
		c.begun = true
		if c.span != nil && (e.IsClientStream || e.IsServerStream) {
			c.span.SetAttributes(attribute.Bool(record.StreamKey, true))
		}
	case *stats.InPayload:
		c.requestSize.Add(int64(e.CompressedLength))
	case *stats.OutHeader:
		c.answer()
	case *stats.OutPayload:
		c.answer()
		c.encodedSize.Add(int64(e.CompressedLength))
		c.decodedSize.Add(int64(e.Length))
	case *stats.OutTrailer:
		c.answer() // an answer without messages may be a trailer only
		c.trailed.Store(true)
		if !c.begun {
			// The server has no such method: it answers and tells no End. If that answer does not
			// go out, there is no event at all, and the span is left to the garbage collector.
			h.refuse(ctx, c)
		}
	case *stats.End:
		st := statusOf(e.Error)
		// gRPC tells no error where the client had gone
		if st.Code() == codes.OK && !c.trailed.Load() {
			st = status.FromContextError(cmp.Or(ctx.Err(), context.Canceled))
		}
		h.end(ctx, c, c.method, st)
	}
}

// answer notes when the first of the answer was sent.
func (c *call) answer() {
	if at, first := c.note(&c.response); first {
		_ = c.tl.SetTiming(record.ResponseStart, at)
	}
}

// otherMethod is rpc.method of methods that the server does not have, so that clients cannot make
// up metric attributes.
const otherMethod = "_OTHER"

func (h *server) refuse(ctx context.Context, c *call) {
	if c.span != nil && serving.Takes(c.span) {
		c.span.SetName("grpc")
		c.span.SetAttributes(semconv.RPCMethod(otherMethod), semconv.RPCMethodOriginal(c.method))
	}
	h.end(ctx, c, otherMethod, status.New(codes.Unimplemented, "the server has no such method"))
}

func (h *server) end(ctx context.Context, c *call, method string, st *status.Status) {
	end := c.tl.Now()
	_ = c.tl.SetTiming(record.ResponseEnd, end)
	c.record(ctx, record.Navigation, st.Code(), end)
	if c.span != nil {
		failed := isServerError(st.Code())
		c.tl.Try(serving.OfSpan, func() { c.endSpan(st, failed) })
		c.tl.Try(serving.OfMeter,
			func() {
				h.durations.record(serving.MetricsContext(ctx, c.span), method, st.Code(),
					failed, end)
			})
	}
	if c.closes {
		c.tl.Close()
	}
}
