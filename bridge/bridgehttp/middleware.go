package bridgehttp

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge/internal/kinds"
	"github.com/perfline/perfline/bridge/internal/received"
	"github.com/perfline/perfline/bridge/internal/serving"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/scope"
	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/observer"
)

// Server configures the middleware for HTTP handlers. The zero value uses OpenTelemetry's global
// providers and propagators, and the default timeline. The middleware calls the function fields for
// every request, on the request's goroutine.
type Server struct {
	TracerProvider trace.TracerProvider          // nil: otel.GetTracerProvider()
	MeterProvider  metric.MeterProvider          // nil: otel.GetMeterProvider()
	Propagators    propagation.TextMapPropagator // nil: otel.GetTextMapPropagator()
	// Timeline is the parent of the requests' timelines. nil: observer.ProcessTimeline(). A
	// bridge.TracerProvider ignores this field and uses its own timeline.
	Timeline *observer.Timeline

	// Filter returns false for requests that bypass the middleware. The process's timeline records
	// the marks of these requests. nil: no request bypasses.
	Filter func(*http.Request) bool

	// PublicEndpoint returns true for requests from outside your organization. Such a request
	// begins a new trace, with a link to the caller's span. nil: every request continues the
	// caller's trace.
	PublicEndpoint func(*http.Request) bool

	// SpanName returns the name of the span. The middleware calls SpanName at the start with an
	// empty route. The middleware calls SpanName again after the handler, when the route is known.
	// nil: "METHOD route".
	SpanName func(r *http.Request, route string) string

	ServerTiming ServerTiming // the Server-Timing header of responses; zero value: no header

	// BodySizeMetrics adds the metrics http.server.request.body.size and
	// http.server.response.body.size. The semantic conventions may still change these metrics.
	// Spans and navigation entries always contain the sizes.
	BodySizeMetrics bool

	// IgnoreForwarded ignores the headers of proxies. The connection and the Host header then
	// determine the client's address, the scheme and the server's address. Set IgnoreForwarded if
	// clients connect without a proxy, because such clients can forge these headers.
	IgnoreForwarded bool
}

// Middleware returns a handler that records every request and calls next. Each request gets a
// timeline, a server span and a value of the metric http.server.request.duration. The span and the
// metric follow OpenTelemetry's semantic conventions for HTTP.
//
// The span's name is "METHOD route". The route is the [http.ServeMux] pattern that matched. The
// propagators read the span's parent from the request's headers. They ignore a tracestate that
// exceeds the valid length. The known methods are the methods of the conventions, or the methods in
// OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS.
//
// observer.FromContext returns the timeline. With a bridge.TracerProvider, the timeline is the
// span's unit and ends with the span. With other providers, the timeline is a child of the Server's
// Timeline and ends with the request.
//
// The timeline records three moments for marks.Measure: requestStart, responseStart and
// responseEnd. The handler writes the first byte at responseStart. After the handler, observers
// receive an entry of type navigation. The entry's name is the request's path. The entry contains
// these attributes; times are durations since the entry's start:
//
//   - initiatorType: "http"
//   - method, nextHopProtocol ("http/1.1", "h2"), route and responseStatus, if known
//   - requestStart, responseStart, responseEnd
//   - requestBodySize: bytes that the handler read
//   - encodedBodySize: bytes that the handler wrote
//   - error: error.type of the conventions, if the request failed
//
// The middleware records less if the request's context already contains a span of this process:
//
//   - Another instrumentation's server span, such as a span of otelhttp, remains the request's
//     span. The middleware adds the route to the span: the name and the attribute http.route. The
//     middleware also adds a timeline, a navigation entry and Server-Timing, but no second span and
//     no metrics. A span that the SDK's sampler dropped counts as a server span, because the SDK
//     hides the span's kind.
//   - If a middleware already serves the request, the request passes unchanged. For example, the
//     handler is wrapped twice, or calls another wrapped handler.
//   - Any other span, such as the program's own span in the server's BaseContext, is the parent of
//     the request's span.
//
// A request fails if its status is at least 500, if the handler panics, or if the client does not
// receive the whole response. The span, the metrics and the entry then contain error.type. The
// value is the status, the type of the error, or one of these words:
//
//   - client_closed_request: the client left before the whole response arrived. Streams do not fail
//     in this case, because clients may leave a stream at any time: see [SetStream].
//   - timeout: the time for writing expired, by the server's WriteTimeout or the handler's deadline
//   - content_length_mismatch: the handler wrote less or more than the declared Content-Length
//   - handler_aborted: the handler panicked with [http.ErrAbortHandler]
//   - handler_exited: the handler ended its goroutine
//
// If the handler panics, the span contains an exception event. A hijacked connection records no
// status. A response that the server could not send records no status.
//
// When the client leaves, net/http cancels the request's context without a cause. A program that
// cancels its BaseContext while requests are active should set a cause, as signal.NotifyContext
// does. Such requests do not count as failed.
//
// client.address, url.scheme and server.address come from the proxies' headers Forwarded,
// X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host. [Server].IgnoreForwarded disables these
// headers.
//
// After the request, the Pattern of the request that the middleware received contains the route.
// Other instrumentation around the middleware, such as otelhttp, reads the Pattern for the name of
// the span and for the metrics.
//
// Wrap the mux itself. Some handlers copy the request, such as http.TimeoutHandler. Between the
// middleware and the mux, such a handler hides the mux's pattern from the middleware.
//
// The handler's ResponseWriter implements [http.Flusher], [http.Hijacker], [http.Pusher] and
// [http.CloseNotifier] exactly when the server's writer implements them. An
// [http.ResponseController] also finds the methods of the wrapped writers. As with any wrapper,
// http.MaxBytesReader no longer closes the connection.
func Middleware(next http.Handler) http.Handler { return Server{}.Middleware(next) }

// Middleware wraps next like the function [Middleware], with the settings of s.
func (s Server) Middleware(next http.Handler) http.Handler {
	// The global propagators and providers forward to implementations that are set later.
	s.Propagators = cmp.Or(s.Propagators, otel.GetTextMapPropagator())
	s.Timeline = cmp.Or(s.Timeline, observer.ProcessTimeline())
	s.ServerTiming.Names = slices.Clone(s.ServerTiming.Names)
	if s.ServerTiming.MaxBytes <= 0 {
		s.ServerTiming.MaxBytes = 1024
	}
	return &middleware{
		Server:    s,
		timeline:  (*record.Timeline)(s.Timeline),
		next:      next,
		tracer:    scope.Tracer(cmp.Or(s.TracerProvider, otel.GetTracerProvider())),
		extractor: serving.NewExtractor(s.Propagators),
		meter: newServerMeter(scope.Meter(cmp.Or(s.MeterProvider, otel.GetMeterProvider())),
			s.BodySizeMetrics),
		methods: knownMethods(),
		kinds:   kinds.New(newExchangeMetrics),
	}
}

// A middleware is the handler that a Server makes.
type middleware struct {
	Server
	timeline  *record.Timeline // Server.Timeline
	next      http.Handler
	tracer    trace.Tracer
	extractor serving.Extractor
	meter     meter
	kinds     *kinds.Map[exchange, *exchangeMetrics]
	methods   []string
}

var _ http.Handler = (*middleware)(nil)

// A request is the middleware's state of one request. The handler's context does not refer to this
// state, so that a job that outlives the request does not retain the state.
type request struct {
	ctx          context.Context //nolint:containedctx // the handler's
	m            *middleware
	tl           *record.Timeline
	span         trace.Span
	foreignSpan  bool          // another instrumentation made the span
	ownsTimeline bool          // the middleware made the timeline, and closes it
	method       string        // a known method, or otherMethod
	scheme       string        // url.scheme; empty with a foreign span
	pattern      string        // of the request when it arrived, by a mux around the middleware
	route        string        // known at the end
	incoming     *http.Request // set only while the span starts
	bytesRead    atomic.Int64  // of the request's body
	body         requestBody
	response     response
	timing       timing
	kind         *exchangeMetrics // nil before the request's end
	duration     time.Duration
}

// Names of user functions, for counts of their panics. Package serving names further ones.
const (
	ofFilter     = "the Filter of a bridgehttp.Server or Client"
	ofSpanName   = "SpanName of a bridgehttp.Server or Client"
	ofPublic     = "PublicEndpoint of a bridgehttp.Server"
	ofConnection = "a connection of a dialer"
)

func (m *middleware) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	if serving.Served(ctx) || !serving.Asked(m.timeline, ofFilter, m.Filter, r, true) {
		m.next.ServeHTTP(w, r)
		return
	}
	q := &request{m: m, method: methodOf(r, m.methods)}
	if q.span, q.foreignSpan = serving.SpanAbove(ctx, m.timeline); q.foreignSpan {
		q.ctx = ctx
	} else {
		q.start(ctx, r)
	}
	q.ctx, q.tl, q.ownsTimeline = serving.Timeline(q.ctx, q.span, m.timeline)
	if len(m.ServerTiming.Names) > 0 {
		q.tl.Keep(record.Measure, record.Resource) // also of requests that are not sampled
	}
	if r.Trailer == nil && len(r.TransferEncoding) > 0 {
		// net/http adds unannounced trailers to the map of r. The handler's copy shares this map.
		r.Trailer = http.Header{}
	}
	inner := r.WithContext(q.ctx)
	if r.Body != nil && r.Body != http.NoBody {
		q.body = requestBody{countedBody{r.Body, &q.bytesRead}, &q.response.arrival.disconnected}
		inner.Body = &q.body
	}
	q.timing.trailers = m.ServerTiming.trailers(r)
	q.pattern = r.Pattern
	q.response.request = q
	q.response.arrival.begin(q, r)
	if q.tl.Mirrored() {
		q.mirror(inner)
	}
	returned := false
	defer func() {
		r.MultipartForm = inner.MultipartForm // net/http removes the form's files
		r.Pattern = inner.Pattern             // outer handlers may read the pattern
		p := recover()                        // nil also after runtime.Goexit
		q.complete(inner, returned, p)
		if strings.Contains(q.route, "/") && q.route != matchedRoute(inner) {
			r.Pattern = q.route // otelhttp around the middleware names its span and metrics by it
		}
		if p != nil {
			panic(p)
		}
	}()
	m.next.ServeHTTP(q.response.wrap(w), inner)
	returned = true
}

func (q *request) start(ctx context.Context, r *http.Request) {
	m := q.m
	ctx = m.extract(ctx, r.Header)
	q.scheme = m.schemeOf(r)
	name := m.spanName(r, "", spanMethod(q.method))
	public := m.PublicEndpoint != nil && // after a panic, true is the safe answer
		serving.Asked(m.timeline, ofPublic, m.PublicEndpoint, r, true)
	q.incoming = r
	q.ctx, q.span = serving.StartSpan(ctx, m.timeline, m.tracer, name, q, public)
	q.incoming = nil
}

// mirror writes the request to the black box, and says where the route will appear. r is the
// request that the mux sees.
func (q *request) mirror(r *http.Request) {
	u := q.tl.Unit()
	if q.ownsTimeline {
		serving.Mirror(u, q.span, q.method, r.URL.Path)
	}
	if slot := u.LockMirror(); slot != nil {
		if route := matchedRoute(r); route != "" { // of a mux around the middleware
			slot.Route(route)
		}
		slot.Pattern(&r.Pattern)
		u.UnlockMirror()
	}
}

// extract returns ctx with the values that the propagators read from a request's header.
func (m *middleware) extract(ctx context.Context, h http.Header) context.Context {
	c := carrier{propagation.HeaderCarrier(h)}
	if !m.extractor.Has(c) {
		return ctx
	}
	extracted := ctx
	m.timeline.Try(serving.OfPropagators, func() { extracted = m.extractor.Extract(ctx, c) }) //nolint:fatcontext // once
	return extracted
}

// spanName returns the result of SpanName, or fallback without SpanName or if SpanName panics.
func (m *middleware) spanName(r *http.Request, route, fallback string) (name string) {
	name = fallback
	if m.SpanName != nil {
		m.timeline.Try(ofSpanName, func() { name = text.Valid(record.Name(m.SpanName(r, route))) })
	}
	return name
}

// complete records the end of the request. r is the request that the mux saw. If the handler did
// not return, it panicked with p, or p is nil and the handler ended its goroutine.
func (q *request) complete(r *http.Request, returned bool, p any) {
	if q.ownsTimeline {
		defer q.tl.Close() // even if a function of the Server ends the goroutine
	}
	if !q.foreignSpan {
		defer q.recordMetrics() // after the span's end, when a keep policy has decided
		defer q.m.timeline.Try(serving.OfSpan, func() { q.span.End() })
	}
	res := &q.response
	if returned && !res.headerSent {
		q.timing.trailers = false // the header contains all measures
		res.begin(http.StatusOK)  // the server sends this status
	}
	end := q.tl.Now()
	_ = q.tl.SetTiming(record.ResponseEnd, end)
	q.timing.trailer(q, res)
	if r.Method == http.MethodHead {
		res.written = 0 // the server discarded the body
	}
	q.route = text.Valid(record.Name(q.findRoute(r, res.status)))
	x := exchange{
		method: q.method, scheme: q.scheme, version: protocolVersion(r.ProtoMajor, r.ProtoMinor),
		status: res.status, route: q.route,
	}
	aborted := p == http.ErrAbortHandler //nolint:errorlint // as net/http compares it
	if aborted || p == nil {
		x.failure = res.arrival.outcome(q, r, returned, aborted)
		p = nil
	} else if err, ok := p.(error); ok {
		x.failure = errorType(err)
	} else {
		x.failure = "panic"
	}
	cut := x.failure != ""
	x.fail(http.StatusInternalServerError)
	kind := q.m.kinds.Get(x, x.route, x.status)
	if !q.foreignSpan {
		q.kind, q.duration = kind, end
	}
	q.m.timeline.Try(serving.OfSpan, func() {
		serving.MarkChosen(q.span, q.tl)
		if res.isStream() && serving.Takes(q.span) {
			q.span.SetAttributes(attribute.Bool(record.StreamKey, true))
		}
		if q.foreignSpan {
			q.setRoute(r, kind)
		} else {
			q.describe(r, &x, cut, p)
		}
	})
	q.navigation(r, &x, end)
}

// recordMetrics records the metrics of a request. It does nothing if a function of the program
// ended the goroutine before the request's kind was known.
func (q *request) recordMetrics() {
	if q.kind != nil {
		q.m.timeline.Try(serving.OfMeter, func() {
			ctx, m := serving.MetricsContext(q.ctx, q.span), &q.m.meter
			m.duration.Record(ctx, q.duration.Seconds(), q.kind.record...)
			if m.requests != nil {
				m.requests.Record(ctx, q.bytesRead.Load(), q.kind.record...)
				m.responses.Record(ctx, q.response.written, q.kind.record...)
			}
		})
	}
}

// describe sets the name, attributes and status of the span that are known at the request's end.
func (q *request) describe(r *http.Request, x *exchange, cut bool, p any) {
	span := q.span
	if !serving.Takes(span) {
		return
	}
	switch {
	case q.m.SpanName != nil:
		if name := q.m.spanName(r, x.route, ""); name != "" {
			span.SetName(name)
		}
	case x.route != "":
		span.SetName(q.kind.name)
	}
	serving.Answer(span, q)
	if x.failure == "" {
		return
	}
	why := "" // the HTTP status is the reason
	switch {
	case p != nil:
		why = "handler panicked"
		span.AddEvent("exception", trace.WithAttributes(
			semconv.ExceptionType(x.failure),
			semconv.ExceptionMessage(text.Valid(record.PanicText(p))),
			semconv.ExceptionStacktrace(text.Cut(string(debug.Stack()), record.MaxText))))
	case x.failure == clientLeft && q.response.mayBeStream():
		why = local.LeftStream
	case cut:
		why = "the answer did not arrive whole"
	}
	span.SetStatus(codes.Error, why)
}

// setRoute sets the name and the route of the span that other instrumentation made for the request.
func (q *request) setRoute(r *http.Request, kind *exchangeMetrics) {
	if q.route == "" || !serving.Takes(q.span) {
		return
	}
	name := kind.name
	if q.m.SpanName != nil {
		name = q.m.spanName(r, q.route, name)
	}
	q.span.SetName(name)
	q.span.SetAttributes(kind.route...)
}

// navigation records the navigation entry for observers. The request's own timeline has no more
// readers.
func (q *request) navigation(r *http.Request, x *exchange, end time.Duration) {
	if !q.tl.Observed(record.Navigation) {
		return
	}
	attrs := append(make([]slog.Attr, 0, 12),
		slog.String(observer.InitiatorKey, "http"),
		slog.String("method", x.method))
	if x.route != "" {
		attrs = append(attrs, slog.String("route", x.route))
	}
	attrs = append(attrs,
		slog.String("nextHopProtocol", nextHopProtocol(r.ProtoMajor, r.ProtoMinor)))
	if x.status != 0 {
		attrs = append(attrs, slog.Int("responseStatus", x.status))
	}
	attrs = append(attrs, slog.Duration(record.RequestStart, 0))
	if at, ok := q.tl.Timing(record.ResponseStart); ok {
		attrs = append(attrs, slog.Duration(record.ResponseStart, at))
	}
	attrs = append(attrs,
		slog.Duration(record.ResponseEnd, end),
		slog.Int64("requestBodySize", q.bytesRead.Load()),
		slog.Int64("encodedBodySize", q.response.written))
	if x.failure != "" {
		attrs = append(attrs, slog.String("error", x.failure))
	}
	var place record.Place
	place.Locate(q.ctx)
	line := len(r.Method) + len(r.RequestURI) // the path's memory is the request line
	path := received.Text(received.Bounded(r.URL.Path, line))
	place.Record(record.Navigation, path, 0, end, attrs)
}

// A countedBody counts the bytes read from a request's body. Goroutines may read after the handler
// has returned.
type countedBody struct {
	io.ReadCloser
	count *atomic.Int64
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.count.Add(int64(n))
	return n, err
}
