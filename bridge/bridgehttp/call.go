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

// A call is the state of one outbound request, which ends once. The goroutine that makes the
// request owns the call first, then the goroutine that reads the response's body. Other goroutines
// use only the fields that are atomic or have a lock.
type call struct {
	t      *transport
	ctx    context.Context //nolint:containedctx // contains the span, for metrics and entries at the end
	tl     *record.Timeline
	span   trace.Span
	start  time.Duration // on tl
	name   string        // the URL without secrets
	x      exchange
	phases phases

	body         atomic.Pointer[sentBody]        // of the request's last attempt; nil: no body
	kind         atomic.Pointer[exchangeMetrics] // nil before the answer
	sizeRecorded atomic.Bool                     // the metric of the request's size is recorded

	protocol string   // empty without a response
	failure  string   // the reason for a missing response
	verbatim bool     // the body was not decompressed
	timings  []string // Server-Timing fields
	received atomic.Int64
	lastRead atomic.Int64 // time of the last read, on tl

	once    sync.Once       // guards the end
	cleanup runtime.Cleanup // ends the call of an abandoned body
}

// watch returns resp with a body that ends the call when the body ends.
func (c *call) watch(r *http.Request, resp *http.Response) *http.Response {
	now := c.tl.Now()
	// The empty body of an HTTP/2 response to HEAD is not NoBody.
	if resp.Body == nil || resp.Body == http.NoBody || r.Method == http.MethodHead {
		c.complete(now, "")
		return resp
	}
	c.lastRead.Store(int64(now))
	// A copy: net/http's transport refers to its own response until the body's end, so that the
	// garbage collector would never find the body.
	b := &receivedBody{body: resp.Body, call: c, response: resp, watched: *resp}
	// No object that the call refers to may refer to b: the collector finds b after the user's last
	// reference to it.
	c.cleanup = runtime.AddCleanup(b, (*call).abandon, c)
	b.watched.Body = b
	if w, ok := resp.Body.(io.Writer); ok {
		b.watched.Body = switchedBody{b, w}
	}
	return &b.watched
}

// A receivedBody ends its call at the end of the response's body.
type receivedBody struct {
	body     io.ReadCloser
	call     *call
	response *http.Response // from the base transport
	watched  http.Response  // the caller's copy
}

func (b *receivedBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	c := b.call
	c.received.Add(int64(n))
	now := c.tl.Now()
	c.lastRead.Store(int64(now))
	switch err {
	case nil:
	case io.EOF: // not errors.Is: readers treat only io.EOF itself as the end
		c.once.Do(func() {
			if b.watched.Trailer == nil { // the base adds the map of an unannounced trailer late
				b.watched.Trailer = b.response.Trailer
			}
			c.timings = append(c.timings, b.response.Trailer[serverTimingKey]...)
			c.end(now, "")
		})
	default:
		c.once.Do(func() {
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
		incomplete = "" // the whole body was read, only io.EOF was not
	}
	b.call.complete(b.call.tl.Now(), incomplete) // before Close, which may block
	return b.body.Close()
}

// A switchedBody is the connection of a response that switched protocols. Callers also write to it.
type switchedBody struct {
	*receivedBody
	io.Writer
}

// CloseWrite closes the connection for writing. The peer then reads an end of file. net/http's body
// provides the same method.
func (b switchedBody) CloseWrite() error {
	if w, ok := b.Writer.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return fmt.Errorf("CloseWrite: %w", http.ErrNotSupported)
}

// abandon ends the call of a body that the program has lost. The call ends at the last read.
// abandon starts a goroutine, because the runtime calls it and must not wait for span processors.
func (c *call) abandon() {
	go c.tl.Try("the context or the span of a call that was abandoned",
		func() { c.complete(time.Duration(c.lastRead.Load()), "abandoned") })
}

// complete ends the call at the time now of its timeline. Further calls do nothing.
func (c *call) complete(now time.Duration, incomplete string) {
	c.once.Do(func() { c.end(now, incomplete) })
}

func (c *call) end(now time.Duration, incomplete string) {
	c.cleanup.Stop() // the cleanup retains the context
	c.tl.Try(serving.OfSpan, func() {
		if n := c.received.Load(); n > 0 && c.verbatim && serving.Takes(c.span) {
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
		e, err := c.tl.NewEntry(record.Server, m.Name, c.start, m.Duration, attrs...)
		if err == nil {
			place.Queue(e) // queued entries stay in order; a recorded entry would end now
		}
	}
}

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
		if c.verbatim {
			attrs = append(attrs, slog.Int64("encodedBodySize", c.received.Load()))
		}
	}
	if incomplete != "" {
		attrs = append(attrs, slog.String("incomplete", incomplete))
	}
	if c.failure != "" {
		attrs = append(attrs, slog.String("error", c.failure))
	}
	return attrs
}
