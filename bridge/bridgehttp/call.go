package bridgehttp

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge/bridgehttp/internal/servertiming"
	"github.com/perfline/perfline/bridge/internal/serving"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

// A call is one outbound request, which ends once. It belongs to the goroutine that makes the
// request, and later to the goroutine that reads the response's body. Other goroutines use only the
// fields that are atomic or have a lock.
type call struct {
	t      *transport
	ctx    context.Context //nolint:containedctx // of the span, for what is recorded later
	tl     *record.Timeline
	span   trace.Span
	start  time.Duration // on tl
	name   string        // the URL, without secrets
	x      exchange
	phases phases

	body  atomic.Pointer[sentBody]        // of the request's last attempt; nil without one
	kind  atomic.Pointer[exchangeMetrics] // nil before the answer
	sized atomic.Bool                     // the size of the request's body is recorded

	protocol string   // empty without a response
	failed   string   // why there is no response
	encoded  bool     // the body is as it was sent
	timings  []string // Server-Timing fields
	received atomic.Int64
	used     atomic.Int64 // when something was last read, on tl

	over    sync.Once
	cleanup runtime.Cleanup // of a body that is no longer read
}

// watch returns resp with a body whose end ends the call.
func (c *call) watch(r *http.Request, resp *http.Response) *http.Response {
	now := c.tl.Now()
	// Over HTTP/2 the body of a response to HEAD, which is none, is not NoBody.
	if resp.Body == nil || resp.Body == http.NoBody || r.Method == http.MethodHead {
		c.complete(now, "")
		return resp
	}
	c.used.Store(int64(now))
	// A copy, because net/http's transport refers to its response until the body's end: no body
	// would ever count as abandoned.
	b := &receivedBody{body: resp.Body, call: c, response: resp, watched: *resp}
	// Nothing that the call refers to refers to b: the collector finds b when its user has
	// forgotten it.
	c.cleanup = runtime.AddCleanup(b, (*call).abandon, c)
	b.watched.Body = b
	if w, ok := resp.Body.(io.Writer); ok {
		b.watched.Body = switchedBody{b, w}
	}
	return &b.watched
}

// A receivedBody ends its call when the response's body has come to its end.
type receivedBody struct {
	body     io.ReadCloser
	call     *call
	response *http.Response // as the base made it
	watched  http.Response  // the caller's copy of it
}

func (b *receivedBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	c := b.call
	c.received.Add(int64(n))
	now := c.tl.Now()
	c.used.Store(int64(now))
	switch err {
	case nil:
	case io.EOF: // itself: callers see no other as the end
		c.over.Do(func() {
			// the base makes the map of a trailer that was not announced
			if b.watched.Trailer == nil {
				b.watched.Trailer = b.response.Trailer
			}
			c.timings = append(c.timings, b.response.Trailer[serverTimingKey]...)
			c.end(now, "")
		})
	default:
		c.over.Do(func() {
			why := errorText(err)
			c.tl.Try(serving.OfSpan, func() {
				c.span.SetAttributes(semconv.ErrorTypeKey.String(errorType(err)))
				c.span.SetStatus(codes.Error, why)
			})
			c.end(now, why)
		})
	}
	return n, err
}

func (b *receivedBody) Close() error {
	incomplete := "closed"
	if b.call.received.Load() == b.response.ContentLength {
		incomplete = "" // all was read, but for the end itself
	}
	b.call.complete(b.call.tl.Now(), incomplete) // first: closing may block
	return b.body.Close()
}

// A switchedBody is a connection that switched protocols: it is written to as well.
type switchedBody struct {
	*receivedBody
	io.Writer
}

// CloseWrite tells the peer that nothing more is coming, as net/http's body does.
func (b switchedBody) CloseWrite() error {
	if w, ok := b.Writer.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return fmt.Errorf("CloseWrite: %w", http.ErrNotSupported)
}

// abandon ends a call when the program has lost the body. The call ends at the time when the body
// was read last. The runtime calls abandon, and must not wait for span processors.
func (c *call) abandon() {
	go c.tl.Try("the context or the span of a call that was abandoned",
		func() { c.complete(time.Duration(c.used.Load()), "abandoned") })
}

// complete ends the call at the moment now of its timeline, unless it is over.
func (c *call) complete(now time.Duration, incomplete string) {
	c.over.Do(func() { c.end(now, incomplete) })
}

func (c *call) end(now time.Duration, incomplete string) {
	c.cleanup.Stop() // it keeps all that the context refers to

	c.tl.Try(serving.OfSpan, func() {
		// the size as it was transferred
		if n := c.received.Load(); n > 0 && c.encoded && serving.Takes(c.span) {
			c.span.SetAttributes(semconv.HTTPResponseBodySize(int(n)))
		}
		if incomplete == "abandoned" {
			c.span.End(trace.WithTimestamp(c.tl.Origin().Add(now)))
		} else {
			c.span.End()
		}
	})
	var place record.Place
	place.Locate(c.ctx)
	place = place.On(c.tl)
	wanted, wantServer := place.Wants(record.Resource), place.Wants(record.Server)
	if !wanted && !wantServer {
		return
	}
	metrics, malformed, dropped := servertiming.Parse(c.timings)
	if wanted {
		attrs := c.detail(incomplete)
		if malformed > 0 {
			attrs = append(attrs, slog.Int("serverTimingMalformed", malformed))
		}
		if dropped > 0 {
			attrs = append(attrs, slog.Int("serverTimingDropped", dropped))
		}
		place.Record(record.Resource, c.name, c.start, now-c.start, attrs)
	}
	for _, m := range metrics {
		attrs := append(make([]slog.Attr, 0, 2), slog.String("resource", c.name))
		if m.Description != "" {
			attrs = append(attrs, slog.String("desc", m.Description))
		}
		// Queued, not recorded: they do not end now, and are to stay in their order.
		if e, err := c.tl.NewEntry(record.Server, m.Name, c.start, m.Duration,
			attrs...); err == nil {
			place.Queue(e)
		}
	}
}

// detail are the attributes of the resource entry.
func (c *call) detail(incomplete string) []slog.Attr {
	attrs := append(make([]slog.Attr, 0, 20),
		slog.String(observer.InitiatorKey, "fetch"),
		slog.String("method", c.x.method))
	if c.protocol != "" {
		attrs = append(attrs, slog.Int("responseStatus", c.x.status),
			slog.String("nextHopProtocol", c.protocol))
	}
	attrs = c.phases.append(attrs)
	if c.protocol != "" {
		attrs = append(attrs, slog.Int64("requestBodySize", c.sent()),
			slog.Int64("decodedBodySize", c.received.Load()))
		if c.encoded {
			attrs = append(attrs, slog.Int64("encodedBodySize", c.received.Load()))
		}
	}
	if incomplete != "" {
		attrs = append(attrs, slog.String("incomplete", incomplete))
	}
	if c.failed != "" {
		attrs = append(attrs, slog.String("error", c.failed))
	}
	return attrs
}
