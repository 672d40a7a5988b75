package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
)

// What OTLP over gRPC calls its traces, and the fields on the way to a span's trace id.
const (
	traceService = "opentelemetry.proto.collector.trace.v1.TraceService"
	export       = "/" + traceService + "/Export"

	resourceSpansField = 1 // of ExportTraceServiceRequest
	scopeSpansField    = 2 // of ResourceSpans
	spansField         = 2 // of ScopeSpans
	traceIDField       = 1 // of Span
	traceIDSize        = 16
)

// encoded is a gRPC message as it is on the wire. Senders and receivers here neither
// decode nor encode spans, so that the processor's time is the Collector's.
type encoded []byte

// asIs is the codec of encoded.
type asIs struct{}

func (asIs) Marshal(v any) ([]byte, error) {
	m, ok := v.(*encoded)
	if !ok {
		return nil, fmt.Errorf("a message of type %T: must be *encoded", v)
	}
	return *m, nil
}

func (asIs) Unmarshal(data []byte, v any) error {
	m, ok := v.(*encoded)
	if !ok {
		return fmt.Errorf("a message of type %T: must be *encoded", v)
	}
	*m = append((*m)[:0], data...) // grpc uses data again
	return nil
}

func (asIs) Name() string { return "proto" } // part of the content type: the peers expect this one

// traceIDs are where in an ExportTraceServiceRequest the trace ids of its spans are, one
// for each span.
func traceIDs(request []byte) (offsets []int, err error) {
	err = fields(request, 0, resourceSpansField, func(resource []byte, at int) error {
		return fields(resource, at, scopeSpansField, func(scope []byte, at int) error {
			return fields(scope, at, spansField, func(span []byte, at int) error {
				n := len(offsets)
				err := fields(span, at, traceIDField, func(id []byte, at int) error {
					if len(id) != traceIDSize {
						return fmt.Errorf("a trace id of %d bytes, must be %d", len(id), traceIDSize)
					}
					offsets = append(offsets, at)
					return nil
				})
				if err == nil && len(offsets) != n+1 {
					err = fmt.Errorf("a span has %d trace ids, must be one", len(offsets)-n)
				}
				return err
			})
		})
	})
	return offsets, err
}

// fields calls do for each field of a message that has the number and is a string of
// bytes; at is where the message begins, and what do is told of its part.
func fields(message []byte, at int, number protowire.Number, do func(value []byte, at int) error) error {
	for len(message) > 0 {
		num, typ, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		length := protowire.ConsumeFieldValue(num, typ, message[n:])
		if length < 0 {
			return protowire.ParseError(length)
		}
		if num == number {
			if typ != protowire.BytesType {
				return fmt.Errorf("field %d has wire type %d, must be a string of bytes", num, typ)
			}
			value, all := protowire.ConsumeBytes(message[n:])
			if err := do(value, at+n+all-len(value)); err != nil {
				return err
			}
		}
		message, at = message[n+length:], at+n+length
	}
	return nil
}

// A batch is a request for OTLP's Export that can be sent again and again, each time with
// other trace ids.
type batch struct {
	request []byte
	ids     []int // of traceIDs
}

func newBatch(request []byte) (*batch, error) {
	ids, err := traceIDs(request)
	if err != nil {
		return nil, fmt.Errorf("a request for Export: %w", err)
	}
	if len(ids) == 0 {
		return nil, errors.New("a request for Export without spans")
	}
	return &batch{request, ids}, nil
}

func (b *batch) spans() int { return len(b.ids) }

// renewed is the request with trace ids that no other number makes of it: spans of one
// trace stay together.
func (b *batch) renewed(number uint64) encoded {
	request := append(encoded(nil), b.request...)
	for _, at := range b.ids {
		id := request[at : at+8]
		binary.BigEndian.PutUint64(id, binary.BigEndian.Uint64(id)+number*0x9e3779b97f4a7c15) // odd: every number gives another
	}
	return request
}

// serveExport makes a gRPC server call take with each request for Export, which it then
// answers.
func serveExport(take func(request []byte) error) *grpc.ServiceDesc {
	return &grpc.ServiceDesc{
		ServiceName: traceService,
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{
			MethodName: "Export",
			Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				var request encoded
				if err := decode(&request); err != nil {
					return nil, err
				}
				return &encoded{}, take(request)
			},
		}},
	}
}
