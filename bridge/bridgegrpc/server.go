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

// Server configures the handlers for gRPC servers. The zero value uses OpenTelemetry's global
// providers and propagators, and the default timeline.
type Server struct {
	TracerProvider trace.TracerProvider          // nil: otel.GetTracerProvider()
	MeterProvider  metric.MeterProvider          // nil: otel.GetMeterProvider()
	Propagators    propagation.TextMapPropagator // nil: otel.GetTextMapPropagator()
	// Timeline is the parent of the calls' timelines. nil: observer.ProcessTimeline(). A
	// bridge.TracerProvider ignores this field and uses the provider's timeline.
	Timeline *observer.Timeline

	// Filter returns false for calls that bypass the handler. These calls record no timeline, no
	// span and no metrics. nil: no call bypasses.
	Filter func(*stats.RPCTagInfo) bool

	// PublicEndpoint returns true for calls from outside your organization. Such a call begins a
	// new trace, with a link to the caller's span. The context argument contains the caller's span.
	// nil: every call continues the caller's trace.
	PublicEndpoint func(context.Context, *stats.RPCTagInfo) bool
}

// Handler returns a handler that records every call. For each call, the handler creates a timeline
// and a server span, and records a value of the metric rpc.server.call.duration. The propagators
// read the span's parent from the metadata. Observers receive a navigation entry before the span
// ends.
//
// The timeline records three moments for marks.Measure: requestStart, responseStart and
// responseEnd. The server sends the first header or message at responseStart.
//
// observer.FromContext returns the timeline. With a bridge.TracerProvider, the timeline is the
// span's unit and ends with the span. With other providers, the timeline is a child of the Server's
// Timeline and ends with the call.
//
// The statuses UNKNOWN, DEADLINE_EXCEEDED, UNIMPLEMENTED, INTERNAL, UNAVAILABLE and DATA_LOSS count
// as errors of the server.
func (s Server) Handler() stats.Handler {
	// The global propagators and providers forward to implementations that are set later.
	meter := scope.Meter(cmp.Or(s.MeterProvider, otel.GetMeterProvider()))
	s.Propagators = cmp.Or(s.Propagators, otel.GetTextMapPropagator())
	s.Timeline = cmp.Or(s.Timeline, observer.ProcessTimeline())
	return &server{
		Server:    s,
		tracer:    scope.Tracer(cmp.Or(s.TracerProvider, otel.GetTracerProvider())),
		durations: newDurations(serving.Instrument(rpcconv.NewServerCallDuration(meter)).Inst()),
	}
}

// A server is the handler that a Server makes. It is the key of its calls in contexts, so that
// several handlers of one gRPC server do not find each other's calls.
type server struct {
	connections
	Server
	tracer    trace.Tracer
	durations durations
}

var _ stats.Handler = (*server)(nil)

// TagRPC begins the record of a call on the server, and returns a context with this record. gRPC
// calls TagRPC before HandleRPC. TagRPC returns ctx unchanged in these cases:
//
//   - The filter excludes the call.
//   - Another handler of this package, or of bridgehttp, already records the call.
func (h *server) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	tl := (*record.Timeline)(h.Timeline)
	if serving.Served(ctx) || !serving.Asked(tl, ofFilter, h.Filter, info, true) {
		return ctx
	}
	c := &call{method: methodOf(info)}
	span, borrowed := serving.SpanAbove(ctx, tl)
	if !borrowed {
		ctx = extract(ctx, tl, h.Propagators)
		public := h.PublicEndpoint != nil // after a panic, true is the safe answer
		if public {
			tl.Try(ofPublic, func() { public = h.PublicEndpoint(ctx, info) })
		}
		c.incoming = ctx
		ctx, span = serving.StartSpan(ctx, tl, h.tracer, c.method, c, public)
		c.incoming, c.span = nil, span
	}
	ctx, c.tl, c.ownsTimeline = serving.Timeline(ctx, span, tl)
	if c.ownsTimeline && c.tl.Mirrored() {
		serving.Mirror(c.tl.Unit(), span, c.method, "")
	}
	c.request.Store(1) // the moment 0
	return context.WithValue(ctx, h, c)
}

// HandleRPC records an event of a call, such as a received message or the end. For a stream, gRPC
// calls HandleRPC concurrently.
func (h *server) HandleRPC(ctx context.Context, event stats.RPCStats) {
	if c, ok := ctx.Value(h).(*call); ok {
		c.tl.Try(serving.OfSpan, func() { h.handle(ctx, c, event) })
	}
}

func (h *server) handle(ctx context.Context, c *call, event stats.RPCStats) {
	switch e := event.(type) {
	case *stats.Begin:
		c.handlerStarted = true
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
		c.answer() // an answer without messages may be only a trailer
		c.statusSent.Store(true)
		if !c.handlerStarted {
			// The method is unknown: gRPC answers, and reports no End. If the answer is not sent,
			// gRPC reports no event at all, and the span never ends.
			h.refuse(ctx, c)
		}
	case *stats.End:
		st := statusOf(e.Error)
		if st.Code() == codes.OK && !c.statusSent.Load() {
			// The client had left, for which gRPC reports no error.
			st = status.FromContextError(cmp.Or(ctx.Err(), context.Canceled))
		}
		h.end(ctx, c, c.method, st)
	}
}

func (c *call) answer() {
	if at, first := c.note(&c.response); first {
		_ = c.tl.SetTiming(record.ResponseStart, at)
	}
}

// otherMethod is the rpc.method of unknown methods, so that clients cannot invent attributes of
// metrics.
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
		c.tl.Try(serving.OfSpan, func() {
			serving.MarkChosen(c.span, c.tl)
			c.endSpan(st, failed)
		})
		c.tl.Try(serving.OfMeter, func() {
			ctx := serving.MetricsContext(ctx, c.span)
			h.durations.record(ctx, outcome{method, st.Code(), failed}, end)
		})
	}
	if c.ownsTimeline {
		c.tl.Close()
	}
}
