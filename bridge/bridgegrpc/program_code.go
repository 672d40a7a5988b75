package bridgegrpc

import (
	"context"
	"net"

	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/perfline/perfline/bridge/internal/received"
	"github.com/perfline/perfline/bridge/internal/serving"
	"github.com/perfline/perfline/observer/record"
)

// This file calls what a program has given, as package serving does. gRPC calls handlers before the program's interceptors, so that
// a panic here would end the program.

// What is counted.
const (
	ofFilter  = "the Filter of a bridgegrpc.Server or Client"
	ofPublic  = "PublicEndpoint of a bridgegrpc.Server"
	ofAddress = "an address of a listener or a dialer"
	ofError   = "an error of a gRPC call"
)

// extract returns ctx with what the propagators find in its metadata.
func extract(ctx context.Context, tl *record.Timeline, p propagation.TextMapPropagator) (extracted context.Context) {
	if !tl.Try(serving.OfPropagators, func() { extracted = p.Extract(ctx, incoming{ctx}) }) { //nolint:fatcontext // once
		return ctx
	}
	return extracted
}

// addressOf returns what a network address says, "" if it panics.
func addressOf(a net.Addr) (text string) {
	record.ProcessTimeline().Try(ofAddress, func() { text = a.String() })
	return text
}

// endpointOf returns what a network address is the address of, and nothing if it panics.
func endpointOf(a net.Addr) (e received.Endpoint) {
	record.ProcessTimeline().Try(ofAddress, func() { e = received.EndpointOf(a) })
	return e
}

// statusOf returns the status of an error. The methods of the error may panic.
func statusOf(err error) (st *status.Status) {
	if !record.ProcessTimeline().Try(ofError, func() { st = status.Convert(err) }) {
		st = status.New(codes.Unknown, record.ErrorText(err))
	}
	return st
}
