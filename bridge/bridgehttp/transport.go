package bridgehttp

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/perfline/perfline/bridge/internal/kinds"
	"github.com/perfline/perfline/bridge/internal/received"
	"github.com/perfline/perfline/bridge/internal/serving"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/scope"
	"github.com/perfline/perfline/internal/text"
)

// Client configures the transport for HTTP clients. The zero value uses OpenTelemetry's global
// providers and propagators. The transport calls the function fields for every request, on the
// caller's goroutine.
type Client struct {
	TracerProvider trace.TracerProvider          // nil: otel.GetTracerProvider()
	MeterProvider  metric.MeterProvider          // nil: otel.GetMeterProvider()
	Propagators    propagation.TextMapPropagator // nil: otel.GetTextMapPropagator()

	Filter          func(*http.Request) bool   // false: no telemetry; nil: always true
	SpanName        func(*http.Request) string // names the span; nil: the method
	BodySizeMetrics bool                       // adds http.client.request.body.size, experimental
}

// Transport returns a transport that sends requests through base and records the requests. If base
// is nil, Transport uses [http.DefaultTransport]. For each request, the transport creates a client
// span, and records a value of the metric http.client.request.duration. The span and the metric
// follow OpenTelemetry's semantic conventions for HTTP. The propagators write the span's context
// into the request. The timeline in the request's context records an entry of type resource
// (Resource Timing).
//
// The span and the entry end at the first of these events: the caller closes the response's body,
// reads the last byte, or receives a read error. The duration metric ends with the response's
// header. If the caller does not close or fully read the body, the body occupies a connection. In
// this case, the transport records the span and the entry when the garbage collector finds the
// body. Both end at the last read. The collector cannot find the body while the request's context
// refers to the response.
//
// The entry's name is the URL without user, query and fragment, because these parts often contain
// secrets. The entry contains these attributes; times are durations since the entry's start:
//
//   - initiatorType: "fetch"
//   - method, responseStatus, nextHopProtocol ("http/1.1", "h2")
//   - domainLookupStart, domainLookupEnd, connectStart, secureConnectionStart, connectEnd: absent
//     for a reused connection
//   - reused: whether the connection was reused
//   - requestStart: the connection was ready
//   - responseStart: the first byte arrived
//   - requestBodySize, if the size is known
//   - decodedBodySize: bytes of the response's body that the caller read
//   - encodedBodySize: bytes that were transferred, fewer for a compressed body
//   - incomplete: "closed", "abandoned" or the error that stopped the reading early
//   - error: the reason for a missing response
//
// The response's Server-Timing header or trailer may contain metrics. Each metric becomes an entry
// of type server that starts with the resource entry. The attribute "desc" is the metric's
// description. The attribute "resource" is the name of the resource entry. Metrics without a name,
// and metrics after the 64th, are ignored. The resource entry counts the ignored metrics in
// serverTimingMalformed and serverTimingDropped.
func Transport(base http.RoundTripper) http.RoundTripper { return Client{}.Transport(base) }

// Transport wraps base like the function [Transport], with the settings of c.
func (c Client) Transport(base http.RoundTripper) http.RoundTripper {
	// The global propagators and providers forward to implementations that are set later.
	c.Propagators = cmp.Or(c.Propagators, otel.GetTextMapPropagator())
	return &transport{
		Client: c,
		base:   cmp.Or(base, http.DefaultTransport),
		tracer: scope.Tracer(cmp.Or(c.TracerProvider, otel.GetTracerProvider())),
		meter: newClientMeter(scope.Meter(cmp.Or(c.MeterProvider, otel.GetMeterProvider())),
			c.BodySizeMetrics),
		methods: knownMethods(),
		kinds:   kinds.New(newExchangeMetrics),
	}
}

// A transport is the RoundTripper that a Client makes.
type transport struct {
	Client
	base    http.RoundTripper
	tracer  trace.Tracer
	meter   meter
	kinds   *kinds.Map[exchange, *exchangeMetrics]
	methods []string
	fields  serving.Fields
}

var _ http.RoundTripper = (*transport)(nil)

// CloseIdleConnections implements [http.Client.CloseIdleConnections].
func (t *transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL == nil || r.Header == nil { // invalid: the base returns the error
		return t.base.RoundTrip(r)
	}
	c := &call{t: t, tl: record.FromContext(r.Context())}
	if !serving.Asked(c.tl, ofFilter, t.Filter, r, true) {
		return t.base.RoundTrip(r)
	}
	c.name = address(r.URL)
	m := methodOf(r, t.methods)
	name := text.Valid(record.Name(serving.Asked(c.tl, ofSpanName, t.SpanName, r, spanMethod(m))))
	c.ctx, c.span = r.Context(), noop.Span{}
	started := c.tl.Try(serving.OfSpan, func() {
		c.ctx, c.span = t.tracer.Start(c.ctx, name, clientKind,
			trace.WithAttributes(c.request(r, m)...))
		c.start = c.tl.Since(serving.Start(c.span))
	})
	if !started {
		c.start = c.tl.Now()
	}
	returned := false
	defer func() {
		if !returned { // the base panicked, or ended the goroutine
			c.failure = "the transport did not return"
			c.tl.Try(serving.OfSpan, func() { c.span.SetStatus(codes.Error, c.failure) })
			c.complete(c.tl.Now(), "")
		}
	}()
	// A RoundTripper must not change its request.
	out := r.Clone(httptrace.WithClientTrace(c.ctx, c.phases.trace(c)))
	out.Trailer = r.Trailer // the caller sets its values while the base reads the body
	c.inject(out.Header)
	c.countBody(out)
	resp, err := t.base.RoundTrip(out)
	returned = true
	if err == nil {
		resp, err = t.check(out, resp)
	}
	c.answered(resp, err)
	if err != nil {
		return resp, err
	}
	return c.watch(r, resp), nil
}

// check returns an error for a response that [http.RoundTripper] forbids. Without this check,
// http.Client would blame this transport instead of the base.
func (t *transport) check(r *http.Request, resp *http.Response) (*http.Response, error) {
	switch {
	case resp == nil:
		return nil, &baseError{"no_response",
			fmt.Sprintf("%T returned a nil *Response with a nil error", t.base)}
	case resp.Body != nil:
		return resp, nil
	case resp.ContentLength > 0 && r.Method != http.MethodHead:
		return nil, &baseError{"no_body",
			fmt.Sprintf("%T returned a *Response with content length %d but a nil Body", t.base,
				resp.ContentLength)}
	default:
		resp.Body = http.NoBody
		return resp, nil
	}
}

// A baseError is the error of a base transport that returned what it must not return.
type baseError struct{ kind, text string }

func (e *baseError) Error() string { return "bridgehttp: base transport " + e.text }

// ErrorType returns the value of the attribute error.type.
func (e *baseError) ErrorType() string { return e.kind }

// request stores and returns the attributes that are known before the request is sent.
func (c *call) request(r *http.Request, method string) []attribute.KeyValue {
	server, port := received.HostPort(received.Text(r.URL.Host))
	if port == 0 {
		port = defaultPort(r.URL.Scheme)
	}
	c.x = exchange{method: method, scheme: r.URL.Scheme, server: server, port: port}
	attrs := append(make([]attribute.KeyValue, 0, 8), semconv.HTTPRequestMethodKey.String(method),
		semconv.URLFull(c.name), semconv.ServerAddress(server), semconv.ServerPort(port))
	if method == otherMethod {
		original := strings.Clone(received.Text(cmp.Or(r.Method, http.MethodGet)))
		attrs = append(attrs, semconv.HTTPRequestMethodOriginal(original))
	}
	if n := redirects(r); n > 0 {
		attrs = append(attrs, semconv.HTTPRequestResendCount(n))
	}
	return attrs
}

func redirects(r *http.Request) (n int) {
	for r.Response != nil && r.Response.Request != nil {
		r = r.Response.Request
		n++
	}
	return n
}

// address returns a URL without its user, query, fragment and opaque part, which may hold secrets.
func address(u *url.URL) string {
	bare := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	return received.Text(bare.String()) // bounded, because a redirecting server may choose the URL
}

// inject writes the call's trace context into the request's header. It first removes the fields
// that a proxy copied from its own caller.
func (c *call) inject(h http.Header) {
	c.tl.Try(serving.OfPropagators, func() {
		for _, field := range c.t.fields.Of(c.t.Propagators, http.CanonicalHeaderKey) {
			delete(h, field)
		}
		c.t.Propagators.Inject(c.ctx, carrier{propagation.HeaderCarrier(h)})
	})
}

// countBody counts the bytes of the request's body when they are sent.
func (c *call) countBody(out *http.Request) {
	if out.Body == nil || out.Body == http.NoBody {
		return
	}
	count := func(body io.ReadCloser) io.ReadCloser {
		b := &sentBody{call: c}
		b.countedBody = countedBody{body, &b.count}
		c.body.Store(b) // reads by an earlier attempt no longer count
		return b
	}
	out.Body = count(out.Body)
	if again := out.GetBody; again != nil {
		out.GetBody = func() (io.ReadCloser, error) {
			body, err := again()
			if err != nil || body == nil || body == http.NoBody {
				return body, err
			}
			return count(body), nil
		}
	}
}

// A sentBody counts the bytes that the base transport reads from a call's request body. The base
// may read after RoundTrip has returned. It closes the body after the last read.
type sentBody struct {
	countedBody
	call   *call
	count  atomic.Int64
	closed atomic.Bool
}

func (b *sentBody) Close() error {
	b.closed.Store(true)
	b.call.recordSize() // before Close, which may block
	return b.ReadCloser.Close()
}

func (c *call) sent() int64 {
	if b := c.body.Load(); b != nil {
		return b.count.Load()
	}
	return 0
}

// recordSize records the size of the request's body once, when the kind of the exchange is known
// and the base has closed the body.
func (c *call) recordSize() {
	k, b := c.kind.Load(), c.body.Load()
	if c.t.meter.requests == nil || k == nil || b != nil && !b.closed.Load() ||
		!c.sizeRecorded.CompareAndSwap(false, true) {
		return
	}
	c.tl.Try(serving.OfMeter, func() { c.t.meter.requests.Record(c.ctx, c.sent(), k.record...) })
}

// answered records the response's header, or the error without a response.
func (c *call) answered(resp *http.Response, err error) {
	c.tl.Try(serving.OfSpan, func() { c.describe(resp, err) })
	if err != nil {
		c.failure = cmp.Or(errorText(err), c.x.failure)
		c.complete(c.tl.Now(), "")
		return
	}
	c.protocol = nextHopProtocol(resp.ProtoMajor, resp.ProtoMinor)
	c.verbatim = !resp.Uncompressed
	c.timings = append(c.timings, resp.Header[serverTimingKey]...)
}

// describe adds the response's header, or the error without a response, to the metrics and the
// span.
func (c *call) describe(resp *http.Response, err error) {
	now := c.tl.Now()
	x := &c.x
	if err != nil {
		x.failure = errorType(err)
	}
	if resp != nil {
		x.status = resp.StatusCode
		x.version = protocolVersion(resp.ProtoMajor, resp.ProtoMinor)
		x.fail(http.StatusBadRequest)
		c.phases.note(c, responseStart) // for a base without httptrace
	}
	k := c.t.kinds.Get(*x, x.server, x.status)
	c.tl.Try(serving.OfMeter,
		func() { c.t.meter.duration.Record(c.ctx, (now - c.start).Seconds(), k.record...) })
	c.kind.Store(k)
	c.recordSize()
	if serving.Takes(c.span) {
		list := serving.NewAttributeList()
		defer list.Free()
		list.KeyValues(k.outcome)
		serving.Text(list, semconv.NetworkProtocolVersionKey, x.version)
		if host, port := c.phases.peer(c); host != "" {
			list.Text(semconv.NetworkPeerAddressKey, host)
			serving.Int(list, semconv.NetworkPeerPortKey, int64(port))
		}
		c.span.SetAttributes(list.Attributes...)
		if x.failure != "" {
			c.span.SetStatus(codes.Error, errorText(err))
		}
	}
}

var clientKind = trace.WithSpanKind(trace.SpanKindClient)
