package bridgehttp

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"reflect"

	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/perfline/perfline/bridge/internal/received"
	"github.com/perfline/perfline/bridge/internal/serving"
	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/observer/record"
)

// This file calls what a program has given, as package serving does.

// What is counted.
const (
	ofFilter     = "the Filter of a bridgehttp.Server or Client"
	ofSpanName   = "SpanName of a bridgehttp.Server or Client"
	ofPublic     = "PublicEndpoint of a bridgehttp.Server"
	ofConnection = "a connection of a dialer"
)

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

// inject writes the trace of a call into the header of its request. Before, it removes the fields that a proxy passes on from
// its own caller.
func (c *call) inject(h http.Header) {
	c.tl.Try(serving.OfPropagators, func() {
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
