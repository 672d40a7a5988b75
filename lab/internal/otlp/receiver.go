// Package otlp has a receiver of spans and log records that counts and forgets them. It decodes as
// little as it can: it shares the processors with what is measured.
package otlp

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"

	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // senders may compress
	"google.golang.org/protobuf/encoding/protowire"
)

// Spans counts the spans of an ExportTraceServiceRequest. A message that cannot be read has none.
func Spans(request []byte) int64 {
	// resource_spans = 1, their scope_spans = 2, their spans = 2.
	return messages(request, 1, 2, 2)
}

func messages(message []byte, path ...protowire.Number) (n int64) {
	if len(path) == 0 {
		return 1
	}
	for len(message) > 0 {
		field, kind, tag := protowire.ConsumeTag(message)
		length := protowire.ConsumeFieldValue(field, kind, message[max(tag, 0):])
		if tag < 0 || length < 0 {
			return n
		}
		if field == path[0] && kind == protowire.BytesType {
			in, _ := protowire.ConsumeBytes(message[tag:])
			n += messages(in, path[1:]...)
		}
		message = message[tag+length:]
	}
	return n
}

// A Receiver counts what arrives. The zero value counts what it is given by Take; one made by
// Listen takes OTLP over gRPC. It is safe for concurrent use.
type Receiver struct {
	spans, records, bytes, wire atomic.Int64

	listener net.Listener
	server   *grpc.Server
}

// Take counts a request.
func (r *Receiver) Take(request []byte) {
	r.spans.Add(Spans(request))
	r.bytes.Add(int64(len(request)))
}

// TakeLogs counts a request with log records, which has the same fields.
func (r *Receiver) TakeLogs(request []byte) {
	r.records.Add(Spans(request))
	r.bytes.Add(int64(len(request)))
}

// Records is how many log records arrived.
func (r *Receiver) Records() int64 { return r.records.Load() }

// Spans is how many spans arrived.
func (r *Receiver) Spans() int64 { return r.spans.Load() }

// Bytes is the size of the requests, not compressed.
func (r *Receiver) Bytes() int64 { return r.bytes.Load() }

// Wire is how many bytes were read from connections.
func (r *Receiver) Wire() int64 { return r.wire.Load() }

// Listen starts a receiver on a loopback port.
func Listen(ctx context.Context) (*Receiver, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &Receiver{listener: l,
		server: grpc.NewServer(grpc.ForceServerCodec(raw{}), grpc.MaxRecvMsgSize(64<<20))}
	r.server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "opentelemetry.proto.collector.trace.v1.TraceService",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{
			MethodName: "Export",
			Handler: func(_ any, _ context.Context, decode func(any) error,
				_ grpc.UnaryServerInterceptor) (any, error) {
				var request message
				if err := decode(&request); err != nil {
					return nil, err
				}
				r.Take(request)
				return &message{}, nil
			},
		}},
	}, nil)
	go func() { _ = r.server.Serve(Counting(l, &r.wire)) }() // ends by Close
	return r, nil
}

// Endpoint is the receiver's URL.
func (r *Receiver) Endpoint() string { return "http://" + r.listener.Addr().String() }

// Close ends all connections.
func (r *Receiver) Close() { r.server.Stop() }

// A message is a gRPC message as it is on the wire.
type message []byte

// raw is the codec of messages.
type raw struct{}

func (raw) Marshal(v any) ([]byte, error) {
	m, ok := v.(*message)
	if !ok {
		return nil, fmt.Errorf("a message of type %T: must be *message", v)
	}
	return *m, nil
}

func (raw) Unmarshal(data []byte, v any) error {
	m, ok := v.(*message)
	if !ok {
		return fmt.Errorf("a message of type %T: must be *message", v)
	}
	*m = append((*m)[:0], data...) // grpc uses data again
	return nil
}

func (raw) Name() string { return "proto" } // part of the content type: the senders use this one

// Counting returns l with connections that add to read the bytes they read.
func Counting(l net.Listener, read *atomic.Int64) net.Listener { return listener{l, read} }

type listener struct {
	net.Listener
	read *atomic.Int64
}

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return conn{c, l.read}, nil
}

type conn struct {
	net.Conn
	read *atomic.Int64
}

func (c conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.read.Add(int64(n))
	return n, err
}
