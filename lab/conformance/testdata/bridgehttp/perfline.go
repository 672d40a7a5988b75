package otelhttp

// This file replaces handler.go, transport.go and config.go of otelhttp 0.72.0. It offers their exported
// names over perfline's bridgehttp, so that otelhttp's tests test bridgehttp. An option becomes the field of
// bridgehttp that means the same. Options without such a field do nothing; docs/otelhttp.md lists them.

import (
	"context"
	"net/http"
	"net/http/httptrace"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge/bridgehttp"
)

// ScopeName is otelhttp's. perfline has a scope of its own.
const ScopeName = "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"

type config struct {
	tracers     trace.TracerProvider
	meters      metric.MeterProvider
	propagators propagation.TextMapPropagator
	public      func(*http.Request) bool
	filters     []Filter
	name        func(string, *http.Request) string
	clientTrace func(context.Context) *httptrace.ClientTrace
}

// Option sets a field of the config.
type Option interface{ apply(*config) }

type optionFunc func(*config)

func (o optionFunc) apply(c *config) { o(c) }

func ignored() Option { return optionFunc(func(*config) {}) }

func newConfig(opts []Option) *config {
	c := &config{}
	for _, o := range opts {
		o.apply(c)
	}
	return c
}

// filter returns nil without filters, and else whether all of them let r pass.
func (c *config) filter() func(*http.Request) bool {
	if len(c.filters) == 0 {
		return nil
	}
	return func(r *http.Request) bool {
		for _, f := range c.filters {
			if !f(r) {
				return false
			}
		}
		return true
	}
}

// NewHandler is bridgehttp.Server.Middleware.
func NewHandler(handler http.Handler, operation string, opts ...Option) http.Handler {
	return NewMiddleware(operation, opts...)(handler)
}

// NewMiddleware is bridgehttp.Server.Middleware.
func NewMiddleware(operation string, opts ...Option) func(http.Handler) http.Handler {
	c := newConfig(opts)
	s := bridgehttp.Server{
		TracerProvider: c.tracers, MeterProvider: c.meterProvider(), Propagators: c.propagators,
		Filter: c.filter(), PublicEndpoint: c.public, BodySizeMetrics: true,
	}
	if c.name != nil {
		s.SpanName = func(r *http.Request, _ string) string { return c.name(operation, r) }
	}
	return s.Middleware
}

// Transport is bridgehttp's.
type Transport struct{ http.RoundTripper }

// NewTransport is bridgehttp.Client.Transport.
func NewTransport(base http.RoundTripper, opts ...Option) *Transport {
	c := newConfig(opts)
	client := bridgehttp.Client{
		TracerProvider: c.tracers, MeterProvider: c.meterProvider(), Propagators: c.propagators,
		Filter: c.filter(), BodySizeMetrics: true,
	}
	if c.name == nil { // otelhttp's default
		c.name = func(_ string, r *http.Request) string { return "HTTP " + r.Method }
	}
	client.SpanName = func(r *http.Request) string { return c.name("", r) }
	if c.clientTrace != nil {
		base = traced{base, c.clientTrace}
	}
	return &Transport{client.Transport(base)}
}

// traced puts an httptrace.ClientTrace into the context of requests, which has the span already.
type traced struct {
	base  http.RoundTripper
	trace func(context.Context) *httptrace.ClientTrace
}

func (t traced) RoundTrip(r *http.Request) (*http.Response, error) {
	base := t.base
	if base == nil {
		base = http.DefaultTransport
	}
	return base.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), t.trace(r.Context()))))
}

// WithTracerProvider sets TracerProvider.
func WithTracerProvider(p trace.TracerProvider) Option {
	return optionFunc(func(c *config) { c.tracers = p })
}

// WithMeterProvider sets MeterProvider.
func WithMeterProvider(p metric.MeterProvider) Option {
	return optionFunc(func(c *config) { c.meters = p })
}

// WithPropagators sets Propagators.
func WithPropagators(p propagation.TextMapPropagator) Option {
	return optionFunc(func(c *config) { c.propagators = p })
}

// WithPublicEndpointFn sets Server.PublicEndpoint.
func WithPublicEndpointFn(fn func(*http.Request) bool) Option {
	return optionFunc(func(c *config) { c.public = fn })
}

// WithFilter adds to Filter.
func WithFilter(f Filter) Option {
	return optionFunc(func(c *config) { c.filters = append(c.filters, f) })
}

// WithSpanNameFormatter sets SpanName.
func WithSpanNameFormatter(f func(operation string, r *http.Request) string) Option {
	return optionFunc(func(c *config) { c.name = f })
}

// WithClientTrace wraps the base transport: perfline calls the ClientTrace of the request's context.
func WithClientTrace(f func(context.Context) *httptrace.ClientTrace) Option {
	return optionFunc(func(c *config) { c.clientTrace = f })
}

// WithSpanOptions does nothing.
func WithSpanOptions(...trace.SpanStartOption) Option { return ignored() }

// WithServerName does nothing.
func WithServerName(string) Option { return ignored() }

// WithMetricAttributesFn does nothing.
func WithMetricAttributesFn(func(*http.Request) []attribute.KeyValue) Option { return ignored() }

// Event is a kind of message event.
type Event int

// The kinds of message events.
const (
	_ Event = iota
	ReadEvents
	WriteEvents
)

// WithMessageEvents does nothing.
func WithMessageEvents(...Event) Option { return ignored() }
