package bridgehttp

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"runtime"

	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/perfline/perfline/bridge/internal/received"
	"github.com/perfline/perfline/bridge/internal/serving"
	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/observer/record"
)

// This file calls what a program has given to a Server or a Client. A panic there is counted on the timeline, and the request goes on as if nothing
// had been given.

// What is counted.
const (
	ofFilter      = "the Filter of a bridgehttp.Server or Client"
	ofSpanName    = "SpanName of a bridgehttp.Server or Client"
	ofPublic      = "PublicEndpoint of a bridgehttp.Server"
	ofPropagators = "a propagator"
	ofSpan        = "a tracer, or a span of another package"
	ofMeter       = "a meter provider"
	ofConnection  = "a connection of a dialer"
)

func (m *middleware) try(what string, f func()) {
	(*record.Timeline)(m.Timeline).Try(what, f)
}

// traces reports whether a request gets a span.
func (m *middleware) traces(r *http.Request) (traced bool) {
	traced = true
	if m.Filter != nil {
		m.try(ofFilter, func() { traced = m.Filter(r) })
	}
	return traced
}

// extract returns ctx with what the propagators find in a request's header.
func (m *middleware) extract(ctx context.Context, h http.Header) context.Context {
	c := carrier{propagation.HeaderCarrier(h)}
	if !m.extractor.Has(c) {
		return ctx
	}
	extracted := ctx
	m.try(ofPropagators, func() { extracted = m.extractor.Extract(ctx, c) }) //nolint:fatcontext // once
	return extracted
}

// spanName returns the name that the program gives the span of a request, or usual.
func (m *middleware) spanName(r *http.Request, route, usual string) (name string) {
	name = usual
	if m.SpanName != nil {
		m.try(ofSpanName, func() { name = text.Valid(record.Name(m.SpanName(r, route))) })
	}
	return name
}

// isPublic reports whether the trace of a caller is not continued.
func (m *middleware) isPublic(r *http.Request) (public bool) {
	if m.PublicEndpoint == nil {
		return false
	}
	public = true // the safe answer
	m.try(ofPublic, func() { public = m.PublicEndpoint(r) })
	return public
}

// spanAbove returns the span in ctx if other instrumentation made it for the request.
func (m *middleware) spanAbove(ctx context.Context) (span trace.Span, ok bool) {
	m.try(ofSpan, func() { span, ok = serving.Span(ctx) })
	return span, ok
}

// startSpan starts the span of a request.
func (m *middleware) startSpan(ctx context.Context, name string, q *request, public bool) (started context.Context, span trace.Span) {
	started, span = ctx, noop.Span{}
	m.try(ofSpan, func() { started, span = serving.StartSpan(ctx, m.tracer, name, q, public) }) //nolint:fatcontext // once
	return started, span
}

func (t *transport) traces(c *call, r *http.Request) (traced bool) {
	traced = true
	if t.Filter != nil {
		c.tl.Try(ofFilter, func() { traced = t.Filter(r) })
	}
	return traced
}

func (t *transport) spanName(c *call, r *http.Request, usual string) (name string) {
	name = usual
	if t.SpanName != nil {
		c.tl.Try(ofSpanName, func() { name = text.Valid(record.Name(t.SpanName(r))) })
	}
	return name
}

// stack returns the stack of this goroutine, or its first 16 KiB.
func stack() string {
	text := make([]byte, record.MaxText)
	return string(text[:runtime.Stack(text, false)])
}

// inject writes the trace of a call into the header of its request. Before, it removes the fields that a proxy passes on from
// its own caller.
func (c *call) inject(h http.Header) {
	c.tl.Try(ofPropagators, func() {
		for _, field := range c.t.fields.Of(c.t.Propagators, http.CanonicalHeaderKey) {
			delete(h, field)
		}
		c.t.Propagators.Inject(c.ctx, carrier{propagation.HeaderCarrier(h)})
	})
}

// errorType is error.type of an error: its own word for it or its type, behind what fmt.Errorf wrapped around it.
func errorType(err error) (name string) {
	if _, ok := record.Protect(func() { name = received.Text(semconv.ErrorType(err).Value.AsString()) }); !ok {
		name = reflect.TypeOf(err).String()
	}
	return name
}

// errorText is what an error says, without a URL in front, which may hold secrets. It may quote
// what a server sent.
func errorText(err error) string {
	record.Protect(func() {
		for u := (*url.Error)(nil); errors.As(err, &u); {
			err = u.Err
		}
	})
	if err == nil {
		return ""
	}
	return received.Text(record.ErrorText(err))
}
