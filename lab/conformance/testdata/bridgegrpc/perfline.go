package otelgrpc

// This file replaces config.go, interceptor.go, metadata_supplier.go and stats_handler.go of otelgrpc 0.72.0. It
// offers their exported names over perfline's bridgegrpc, so that otelgrpc's tests test bridgegrpc. An option
// becomes the field of bridgegrpc that means the same. Options without such a field do nothing.

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/stats"

	"github.com/perfline/perfline/bridge/bridgegrpc"
)

// ScopeName is otelgrpc's. perfline has a scope of its own.
const ScopeName = "go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"

// InterceptorFilter is a filter of interceptors.
type InterceptorFilter func(*InterceptorInfo) bool

// Filter is Filter of bridgegrpc.
type Filter func(*stats.RPCTagInfo) bool

type config struct {
	tracers     trace.TracerProvider
	meters      metric.MeterProvider
	propagators propagation.TextMapPropagator
	filter      Filter
	public      func(context.Context, *stats.RPCTagInfo) bool
	always      bool // public

	attributes   []attribute.KeyValue // of metrics, as those of the function
	attributesFn func(context.Context) []attribute.KeyValue
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
	if c.always {
		c.public = func(context.Context, *stats.RPCTagInfo) bool { return true }
	}
	return c
}

type (
	serverHandler struct{ stats.Handler }
	clientHandler struct{ stats.Handler } // a test asserts the type
)

// NewServerHandler is bridgegrpc.Server.Handler.
func NewServerHandler(opts ...Option) stats.Handler {
	c := newConfig(opts)
	return &serverHandler{bridgegrpc.Server{
		TracerProvider: c.tracers, MeterProvider: c.meterProvider(), Propagators: c.propagators,
		Filter: c.filter, PublicEndpoint: c.public,
	}.Handler()}
}

// NewClientHandler is bridgegrpc.Client.Handler.
func NewClientHandler(opts ...Option) stats.Handler {
	c := newConfig(opts)
	return &clientHandler{bridgegrpc.Client{
		TracerProvider: c.tracers, MeterProvider: c.meterProvider(), Propagators: c.propagators,
		Filter: c.filter,
	}.Handler()}
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

// WithFilter sets Filter.
func WithFilter(f Filter) Option { return optionFunc(func(c *config) { c.filter = f }) }

// WithPublicEndpoint sets Server.PublicEndpoint.
func WithPublicEndpoint() Option { return optionFunc(func(c *config) { c.always = true }) }

// WithPublicEndpointFn sets Server.PublicEndpoint.
func WithPublicEndpointFn(fn func(context.Context, *stats.RPCTagInfo) bool) Option {
	return optionFunc(func(c *config) { c.public = fn })
}

// WithInterceptorFilter does nothing, as in otelgrpc, which has no interceptors any more.
func WithInterceptorFilter(InterceptorFilter) Option { return ignored() }

// WithSpanKind does nothing.
func WithSpanKind(trace.SpanKind) Option { return ignored() }

// WithSpanAttributes does nothing.
func WithSpanAttributes(...attribute.KeyValue) Option { return ignored() }

// Event is a kind of message event.
type Event int

// The kinds of message events.
const (
	ReceivedEvents Event = iota
	SentEvents
)

// WithMessageEvents does nothing, as in otelgrpc, which records no events any more.
func WithMessageEvents(...Event) Option { return ignored() }
