package bridgehttp

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
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
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/scope"
	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/observer"
)

// Server wraps HTTP handlers. The zero value uses OpenTelemetry's global providers and propagators,
// and the default timeline. Its functions are called for every request, on the request's goroutine.
type Server struct {
	TracerProvider trace.TracerProvider          // nil: otel.GetTracerProvider()
	MeterProvider  metric.MeterProvider          // nil: otel.GetMeterProvider()
	Propagators    propagation.TextMapPropagator // nil: otel.GetTextMapPropagator()
	// for other providers than a bridge.TracerProvider, which has its own; nil: observer.ProcessTimeline()
	Timeline *observer.Timeline

	// Filter, when it returns false, lets the request pass as if there were no middleware: its
	// marks are on the process's timeline.
	Filter func(*http.Request) bool

	// PublicEndpoint decides whether the request begins a trace of its own, with a link to the
	// caller's span. Return true for callers outside your organization. nil continues every
	// caller's trace.
	PublicEndpoint func(*http.Request) bool

	// SpanName names the span when it starts, without a route, and again when the handler is done
	// and the route known. nil: "METHOD route".
	SpanName func(r *http.Request, route string) string

	ServerTiming ServerTiming // what the response tells its client; the zero value: nothing

	// BodySizeMetrics adds http.server.request.body.size and http.server.response.body.size, which
	// the conventions may still change. Spans and navigation entries have the sizes anyhow.
	BodySizeMetrics bool

	// IgnoreForwarded takes the client's address, the scheme and the server's address from the
	// connection and the Host header alone. Use it where clients connect without a proxy, because
	// they may write anything into the headers of proxies.
	IgnoreForwarded bool
}

// Middleware gives every request a timeline of its own, a server span and
// http.server.request.duration by OpenTelemetry's semantic conventions for HTTP. The span is named
// "METHOD route", with the route of the [http.ServeMux] pattern that matched. The propagators find
// its parent in the request's headers, and ignore a tracestate longer than any that is valid. Known
// methods are the methods of the conventions, or of OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS.
//
// observer.FromContext returns the timeline. It is the unit of the server span if a
// bridge.TracerProvider makes that, and ends with the span. Over other providers, it is a child of
// the Server's Timeline, and ends with the request.
//
// The timeline has the moments requestStart, responseStart, when the first byte is written, and
// responseEnd, for marks.Measure. When the handler is done, observers get an entry of type
// navigation, named by the request's path. Its attributes, times being durations since its start:
//
//   - initiatorType: "http"; method, nextHopProtocol ("http/1.1", "h2"), and the route and the
//     responseStatus if there are
//   - requestStart, responseStart, responseEnd
//   - requestBodySize, what the handler read, and encodedBodySize, what it wrote
//   - error: error.type of the conventions, if the request failed
//
// The middleware does less if the request's context has a span of this process already:
//
//   - Under another instrumentation's server span, such as otelhttp's, the request keeps that span.
//     It gets a timeline, a navigation entry and Server-Timing, but no further span and no metrics.
//     The same holds under any span that the SDK's sampler dropped, because such a span does not
//     tell its kind.
//   - A request that a middleware serves already passes: the handler is wrapped twice, or calls
//     another one.
//   - Any other span, such as the program's own in the server's BaseContext, is the parent of the
//     request's span.
//
// A request has failed if its status is 500 or more, if the handler panicked, or if the answer did
// not arrive whole. Then span, metrics and entry have error.type: the status, the type of the
// error, or one of these:
//
//   - client_closed_request: the client left before it had the answer. This is no failure if the
//     answer has the Content-Type text/event-stream: a client may leave such a stream at any time
//   - timeout: the time for writing was over, by the server's WriteTimeout or a deadline of the
//     handler's
//   - content_length_mismatch: the handler wrote less or more than it had declared
//   - handler_aborted, handler_exited: the handler panicked with [http.ErrAbortHandler], or ended
//     its goroutine
//
// The span of a handler that panicked has an exception event. An answer of which nothing could be
// sent has no status, and neither has a hijacked connection. net/http cancels a request's context
// when the client leaves, and gives no cause. A program that cancels its BaseContext while requests
// are served should do so with a cause, as signal.NotifyContext does: such requests have not
// failed.
//
// client.address, url.scheme and server.address are what proxies tell of the client in Forwarded,
// X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host, unless [Server] says IgnoreForwarded.
//
// Wrap the mux itself, so that its pattern can be seen: a handler in between that copies the
// request (as http.TimeoutHandler does) hides it.
//
// The handler's ResponseWriter has [http.Flusher], [http.Hijacker], [http.Pusher] and
// [http.CloseNotifier] exactly when the server's writer has them. An [http.ResponseController]
// reaches whatever is behind that. As with any wrapper, http.MaxBytesReader no longer closes the
// connection.
func Middleware(next http.Handler) http.Handler { return Server{}.Middleware(next) }

// Middleware is the package's Middleware with s's settings.
func (s Server) Middleware(next http.Handler) http.Handler {
	// the globals forward to what is set later
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

// A middleware is a Server at work.
type middleware struct {
	Server
	timeline  *record.Timeline // the Server's
	next      http.Handler
	tracer    trace.Tracer
	extractor serving.Extractor
	meter     meter
	kinds     *kinds.Map[exchange, *exchangeMetrics]
	methods   []string
}

var _ http.Handler = (*middleware)(nil)

// A request is the middleware's state of a request while it is served. The handler's context does
// not lead to it, so that a job that outlives the request keeps nothing of it in memory.
type request struct {
	ctx      context.Context //nolint:containedctx // the handler's
	m        *middleware
	tl       *record.Timeline
	span     trace.Span
	borrowed bool          // the span is of other instrumentation
	closes   bool          // the timeline is not the span's, and has to be closed
	method   string        // a known one, or otherMethod
	scheme   string        // url.scheme; empty if the span is borrowed
	arriving *http.Request // while the span starts
	read     atomic.Int64  // bytes of the request's body
	body     arrivingBody
	response response
	timing   timing
	kind     *exchangeMetrics // nil before the end
	took     time.Duration
}

// The program's code that is counted if it panics, beside what package serving counts.
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
	if q.span, q.borrowed = serving.SpanAbove(ctx, m.timeline); q.borrowed {
		q.ctx = ctx
	} else {
		q.start(ctx, r)
	}
	q.ctx, q.tl, q.closes = serving.Timeline(q.ctx, q.span, m.timeline)
	if len(m.ServerTiming.Names) > 0 {
		q.tl.Keep(record.Measure, record.Resource) // whatever is sampled
	}

	if r.Trailer == nil && len(r.TransferEncoding) > 0 {
		// net/http adds trailers that were not announced to the request that it made: to this map,
		// which the handler's copy shares.
		r.Trailer = http.Header{}
	}
	inner := r.WithContext(q.ctx)
	if r.Body != nil && r.Body != http.NoBody {
		q.body = arrivingBody{countedBody{r.Body, &q.read}, &q.response.arrival.left}
		inner.Body = &q.body
	}
	q.timing.trailers = m.ServerTiming.trailers(r)
	q.response.request = q
	q.response.arrival.begin(q, r)
	returned := false
	defer func() {
		r.MultipartForm = inner.MultipartForm // net/http removes its files
		r.Pattern = inner.Pattern             // for the handlers around this one
		// nil when the handler returned, or ended its goroutine
		p := recover()
		q.complete(inner, returned, p)
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
	// the safe answer
	public := m.PublicEndpoint != nil &&
		serving.Asked(m.timeline, ofPublic, m.PublicEndpoint, r, true)
	q.arriving = r
	q.ctx, q.span = serving.StartSpan(ctx, m.timeline, m.tracer, name, q, public)
	q.arriving = nil
}

// extract returns ctx with what the propagators find in a request's header.
func (m *middleware) extract(ctx context.Context, h http.Header) context.Context {
	c := carrier{propagation.HeaderCarrier(h)}
	if !m.extractor.Has(c) {
		return ctx
	}
	extracted := ctx
	m.timeline.Try(serving.OfPropagators, func() { extracted = m.extractor.Extract(ctx, c) }) //nolint:fatcontext // once
	return extracted
}

// spanName returns the name that the program gives the span of a request, or usual.
func (m *middleware) spanName(r *http.Request, route, usual string) (name string) {
	name = usual
	if m.SpanName != nil {
		m.timeline.Try(ofSpanName, func() { name = text.Valid(record.Name(m.SpanName(r, route))) })
	}
	return name
}

// complete ends everything that began with the request. The mux has seen r. The handler returned,
// or else panicked with p or ended its goroutine.
func (q *request) complete(r *http.Request, returned bool, p any) {
	if q.closes {
		defer q.tl.Close() // whatever the functions of the Server's do
	}
	if !q.borrowed {
		defer q.recordMetrics() // after the end of the span, when a keep policy has decided
		defer q.m.timeline.Try(serving.OfSpan, func() { q.span.End() })
	}
	res := &q.response
	if returned && !res.begun {
		q.timing.trailers = false // all there is to say is in the header
		res.begin(http.StatusOK)  // as the server will
	}
	end := q.tl.Now()
	_ = q.tl.SetTiming(record.ResponseEnd, end)
	q.timing.trailer(q, res)
	if r.Method == http.MethodHead {
		res.written = 0 // the server took it and sent nothing
	}

	x := exchange{
		method: q.method, scheme: q.scheme, version: protocolVersion(r.ProtoMajor, r.ProtoMinor),
		status: res.status, route: text.Valid(record.Name(q.route(r, res.status))),
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
	if !q.borrowed {
		k := q.m.kinds.Get(x, x.route, x.status)
		q.kind, q.took = k, end
		q.m.timeline.Try(serving.OfSpan, func() { q.describe(r, &x, k, cut, p) })
	}
	q.navigation(r, &x, end)
}

// recordMetrics records the metrics of a request. It does nothing if a function of the program
// ended the goroutine before the request's kind was known.
func (q *request) recordMetrics() {
	if q.kind != nil {
		q.m.timeline.Try(serving.OfMeter, func() {
			ctx, m := serving.MetricsContext(q.ctx, q.span), &q.m.meter
			m.duration.Record(ctx, q.took.Seconds(), q.kind.record...)
			if m.requests != nil {
				m.requests.Record(ctx, q.read.Load(), q.kind.record...)
				m.responses.Record(ctx, q.response.written, q.kind.record...)
			}
		})
	}
}

// describe tells the request's span what is known at the end.
func (q *request) describe(r *http.Request, x *exchange, k *exchangeMetrics, cut bool, p any) {
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
		span.SetName(k.name)
	}
	serving.Answer(span, q)
	if q.response.isStream() {
		span.SetAttributes(attribute.Bool(record.StreamKey, true))
	}
	if x.failure == "" {
		return
	}
	why := "" // the status says it
	switch {
	case p != nil:
		why = "handler panicked"
		span.AddEvent("exception", trace.WithAttributes(
			semconv.ExceptionType(x.failure),
			semconv.ExceptionMessage(text.Valid(record.PanicText(p))),
			semconv.ExceptionStacktrace(text.Cut(string(debug.Stack()), record.MaxText))))
	case cut:
		why = "the answer did not arrive whole"
	}
	span.SetStatus(codes.Error, why)
}

// navigation records the request itself for observers. The request's own timeline has no readers
// any more.
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
		slog.Int64("requestBodySize", q.read.Load()),
		slog.Int64("encodedBodySize", q.response.written))
	if x.failure != "" {
		attrs = append(attrs, slog.String("error", x.failure))
	}
	var place record.Place
	place.Locate(q.ctx)
	// a part of the first line
	path := received.Text(received.Bounded(r.URL.Path, len(r.Method)+len(r.RequestURI)))
	place.Record(record.Navigation, path, 0, end, attrs)
}

// A countedBody counts the bytes that are read of a request's body. A goroutine may read on after
// the handler's return.
type countedBody struct {
	io.ReadCloser
	count *atomic.Int64
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.count.Add(int64(n))
	return n, err
}
