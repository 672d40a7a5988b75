package otlp

import (
	"context"
	"math"
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

	"github.com/perfline/perfline/internal/otlpwire"
	"github.com/perfline/perfline/internal/queue"
)

// longestReconnect bounds gRPC's wait between two attempts to connect, in which requests fail at
// once. The queue's pauses come on top: with gRPC's own bound of two minutes, a receiver that is
// back for a while would not be noticed.
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
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(security), grpc.WithUserAgent(s.userAgent()),
		grpc.WithConnectParams(
			grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: 20 * time.Second}),
	}
	if s.Dial != nil { // also around the proxy of the environment
		options = append(options,
			grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
				return s.Dial(ctx, "tcp", address)
			}))
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
	options := slices.Concat(w.options,
		[]grpc.CallOption{grpc.Header(&header), grpc.Trailer(&trailer)})
	if err := w.conn.Invoke(metadata.NewOutgoingContext(ctx, w.headers), w.method, &request,
		&answer, options...); err != nil {
		answered := status.Convert(err)
		retry, after := retryable(answered)
		// A receiver refuses by trailers alone. After headers, gRPC itself may have made the
		// status, about an answer that it could not read: such a receiver may have taken the
		// request. So may one that was interrupted.
		interrupted := answered.Code() == codes.Canceled ||
			answered.Code() == codes.DeadlineExceeded
		refused := len(header) == 0 && len(trailer) > 0 && !interrupted || refusedByProxy(answered)
		return queue.Answer{
			Err: err, Retry: retry, After: after, Unanswered: request.sent && !refused,
			Unknown:  answered.Code() == codes.Unimplemented,
			TooLarge: !retry && refused && tooLarge(answered),
		}
	}
	return taken(answer.bytes)
}

func (w *grpcWire) close() error { return w.conn.Close() }

// A message is encoded already.
type message struct {
	bytes []byte
	sent  bool // given to a connection
}

// A rawCodec passes messages as they are.
type rawCodec struct{}

var _ encoding.CodecV2 = rawCodec{}

// Marshal returns the bytes themselves. gRPC calls it when there is a connection, and reads the
// bytes until they are sent.
func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	m := v.(*message)
	m.sent = true
	return mem.BufferSlice{mem.SliceBuffer(m.bytes)}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	v.(*message).bytes = data.Materialize()
	return nil
}

// Name is empty, so that the content type is application/grpc, as OpenTelemetry's exporters send
// it.
func (rawCodec) Name() string { return "" }

// retryable reports whether a call that ended with s may succeed later, and the delay that the
// receiver asks for. The codes are OTLP's.
func retryable(s *status.Status) (bool, time.Duration) {
	after, asked := retryDelay(s)
	switch s.Code() {
	case codes.Canceled, codes.DeadlineExceeded, codes.Aborted, codes.OutOfRange, codes.Unavailable,
		codes.DataLoss:
		return !tooLarge(s), after
	case codes.ResourceExhausted: // without a delay, the request is too large
		return asked, after
	default:
		return false, 0
	}
}

// tooLarge reports whether a call may have ended because its request is too large. A receiver
// answers RESOURCE_EXHAUSTED then. It does so about a quota, too, where smaller requests do no
// harm. Receivers written in Rust answer OUT_OF_RANGE, which otherwise means that a stream cannot
// be continued.
func tooLarge(s *status.Status) bool {
	return s.Code() == codes.ResourceExhausted || s.Code() == codes.OutOfRange &&
		strings.Contains(s.Message(), "too large") || refusedByProxy(s)
}

// refusedByProxy reports whether a proxy has refused a request as too large. A proxy answers 413
// over HTTP, which gRPC passes on in words only.
func refusedByProxy(s *status.Status) bool {
	return s.Code() == codes.Unknown &&
		strings.Contains(s.Message(), "HTTP status code received from server: 413")
}

// retryDelay returns the delay of the first RetryInfo in the details of s. It is read without its
// Go type, which would link google.golang.org/genproto/googleapis/rpc/errdetails.
func retryDelay(s *status.Status) (delay time.Duration, found bool) {
	for _, detail := range s.Proto().GetDetails() {
		if detail.GetTypeUrl() != "type.googleapis.com/google.rpc.RetryInfo" {
			continue
		}
		err := otlpwire.Fields(detail.GetValue()).Each(func(f otlpwire.Field) error {
			if f.Tag == retryInfoDelay {
				delay = durationOf(f.Body)
			}
			return nil
		})
		if err == nil {
			return delay, true
		}
	}
	return 0, false
}

// durationOf decodes a google.protobuf.Duration. The result is not negative.
func durationOf(message []byte) time.Duration {
	var seconds, nanos int64
	err := otlpwire.Fields(message).Each(func(f otlpwire.Field) error {
		switch f.Tag {
		case durationSeconds:
			seconds = int64(f.Number) //nolint:gosec // as the field is declared
		case durationNanos:
			nanos = int64(int32(f.Number)) //nolint:gosec // as the field is declared
		}
		return nil
	})
	if err != nil || seconds < 0 || nanos < 0 {
		return 0
	}
	if seconds >= int64(math.MaxInt64/time.Second) {
		return math.MaxInt64
	}
	return time.Duration(seconds)*time.Second + time.Duration(nanos)
}
