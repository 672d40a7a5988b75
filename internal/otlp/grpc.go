package otlp

import (
	"context"
	"net"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/perfline/perfline/internal/otlpwire"
	"github.com/perfline/perfline/internal/queue"
)

// longestReconnect bounds gRPC's backoff between attempts to connect, in which requests fail at
// once. The queue's own pauses follow. gRPC's default of two minutes would delay delivery to a
// receiver that is back.
const longestReconnect = time.Second

// A grpcWire sends requests as unary calls.
type grpcWire struct {
	conn    *grpc.ClientConn
	method  string
	headers metadata.MD
	options []grpc.CallOption
}

func newGRPCWire(s *Settings) (*grpcWire, error) {
	security := insecure.NewCredentials()
	if s.TLS != nil {
		security = credentials.NewTLS(s.TLS)
	}
	reconnect := backoff.DefaultConfig
	reconnect.MaxDelay = longestReconnect
	connect := grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: 20 * time.Second}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(security), grpc.WithUserAgent(s.userAgent()),
		grpc.WithConnectParams(connect),
	}
	if s.Dial != nil { // bypasses the environment's proxy, too
		dial := func(ctx context.Context, address string) (net.Conn, error) {
			return s.Dial(ctx, "tcp", address)
		}
		options = append(options, grpc.WithContextDialer(dial))
	}
	conn, err := grpc.NewClient(s.Target, options...)
	if err != nil {
		return nil, err
	}
	w := &grpcWire{conn: conn, method: s.signal.Method, headers: metadata.New(s.Headers),
		options: []grpc.CallOption{grpc.ForceCodecV2(rawCodec{})}}
	if s.Gzip {
		w.options = append(w.options, grpc.UseCompressor(gzip.Name))
	}
	return w, nil
}

func (w *grpcWire) Send(ctx context.Context, body []byte) queue.Answer {
	request := message{bytes: body}
	var answer message
	var header, trailer metadata.MD
	options := append(slices.Clone(w.options), grpc.Header(&header), grpc.Trailer(&trailer))
	ctx = metadata.NewOutgoingContext(ctx, w.headers)
	err := w.conn.Invoke(ctx, w.method, &request, &answer, options...)
	if err == nil {
		return accepted(answer.bytes)
	}
	st := status.Convert(err)
	retry, after := retryable(st)
	// A refusal consists of trailers only. After headers, the status may come from gRPC itself, for
	// an unreadable answer: the receiver may have accepted the request, as after an interruption.
	interrupted := st.Code() == codes.Canceled || st.Code() == codes.DeadlineExceeded
	refused := len(header) == 0 && len(trailer) > 0 && !interrupted || refusedByProxy(st)
	return queue.Answer{
		Err: err, Retry: retry, After: after, Unanswered: request.sent && !refused,
		Unknown:  st.Code() == codes.Unimplemented,
		TooLarge: !retry && refused && tooLarge(st),
	}
}

func (w *grpcWire) close() error { return w.conn.Close() }

// A message is an encoded request or answer.
type message struct {
	bytes []byte
	sent  bool // gRPC got the bytes for a connection
}

// A rawCodec passes messages without encoding them.
type rawCodec struct{}

var _ encoding.CodecV2 = rawCodec{}

// Marshal returns the bytes of v without a copy. gRPC calls Marshal when a connection exists. gRPC
// reads the bytes until the request is sent.
func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	m := v.(*message)
	m.sent = true
	return mem.BufferSlice{mem.SliceBuffer(m.bytes)}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	v.(*message).bytes = data.Materialize()
	return nil
}

// Name returns "". gRPC then sends the content type application/grpc, like OpenTelemetry's
// exporters.
func (rawCodec) Name() string { return "" }

// retryable reports whether OTLP allows a retry after status s, and returns the delay that the
// receiver asks for.
func retryable(s *status.Status) (bool, time.Duration) {
	after, hasDelay := retryDelay(s)
	switch s.Code() {
	case codes.Canceled, codes.DeadlineExceeded, codes.Aborted, codes.OutOfRange, codes.Unavailable,
		codes.DataLoss:
		return !tooLarge(s), after
	case codes.ResourceExhausted: // without a delay, the request is too large
		return hasDelay, after
	default:
		return false, 0
	}
}

// tooLarge reports whether the request may be too large. Receivers then answer RESOURCE_EXHAUSTED,
// or OUT_OF_RANGE if written in Rust. RESOURCE_EXHAUSTED may also mean a quota, where smaller
// requests do no harm.
func tooLarge(s *status.Status) bool {
	return s.Code() == codes.ResourceExhausted || s.Code() == codes.OutOfRange &&
		strings.Contains(s.Message(), "too large") || refusedByProxy(s)
}

// refusedByProxy reports whether a proxy answered 413 over HTTP. gRPC passes this code on only as
// text.
func refusedByProxy(s *status.Status) bool {
	return s.Code() == codes.Unknown &&
		strings.Contains(s.Message(), "HTTP status code received from server: 413")
}

// retryDelay returns the delay of the first RetryInfo in the details of s. It parses the message
// itself, because the generated type would link
// google.golang.org/genproto/googleapis/rpc/errdetails.
func retryDelay(s *status.Status) (delay time.Duration, found bool) {
	for _, detail := range s.Proto().GetDetails() {
		if detail.GetTypeUrl() != "type.googleapis.com/google.rpc.RetryInfo" {
			continue
		}
		err := otlpwire.Fields(detail.GetValue()).Each(func(f otlpwire.Field) error {
			var d durationpb.Duration
			if f.Tag == retryInfoDelay && proto.Unmarshal(f.Body, &d) == nil {
				delay = max(0, d.AsDuration())
			}
			return nil
		})
		if err == nil {
			return delay, true
		}
	}
	return 0, false
}
