package contrib_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
)

// A testServer answers as its requests say.
type testServer struct {
	pb.UnimplementedTestServiceServer
	tracer trace.Tracer
}

func (testServer) UnaryCall(_ context.Context, q *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	if s := q.GetResponseStatus(); s != nil {
		return nil, status.Error(codes.Code(s.GetCode()), s.GetMessage())
	}
	return &pb.SimpleResponse{Username: "socks"}, nil
}

// CacheableUnaryCall panics in a span of its own.
func (s testServer) CacheableUnaryCall(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	_, span := s.tracer.Start(ctx, "pack")
	defer span.End()
	panic("out of socks")
}

func (testServer) StreamingOutputCall(q *pb.StreamingOutputCallRequest, s grpc.ServerStreamingServer[pb.StreamingOutputCallResponse]) error {
	for range q.GetResponseParameters() {
		if err := s.Send(&pb.StreamingOutputCallResponse{}); err != nil {
			return err
		}
	}
	return nil
}

func (testServer) StreamingInputCall(s grpc.ClientStreamingServer[pb.StreamingInputCallRequest, pb.StreamingInputCallResponse]) error {
	for {
		_, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return s.SendAndClose(&pb.StreamingInputCallResponse{})
		}
		if err != nil {
			return err
		}
	}
}

func (testServer) FullDuplexCall(s grpc.BidiStreamingServer[pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse]) error {
	for {
		q, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if code := q.GetResponseStatus().GetCode(); code != 0 {
			return status.Error(codes.Code(code), "as asked for")
		}
		if err := s.Send(&pb.StreamingOutputCallResponse{}); err != nil {
			return err
		}
	}
}

// recovered makes a panic an error of the call.
func recovered(ctx context.Context, q any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (r any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = status.Errorf(codes.Internal, "%v", p)
		}
	}()
	return next(ctx, q)
}

// calls returns work that makes calls under a span, through otelgrpc on both sides.
func calls(do func(context.Context, *testing.T, pb.TestServiceClient)) func(*testing.T, trace.TracerProvider) {
	return func(t *testing.T, tp trace.TracerProvider) {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		options := []otelgrpc.Option{
			otelgrpc.WithTracerProvider(tp), otelgrpc.WithPropagators(propagation.TraceContext{}),
			otelgrpc.WithMessageEvents(otelgrpc.ReceivedEvents, otelgrpc.SentEvents),
		}
		server := grpc.NewServer(grpc.StatsHandler(otelgrpc.NewServerHandler(options...)), grpc.UnaryInterceptor(recovered))
		pb.RegisterTestServiceServer(server, testServer{tracer: tp.Tracer("program")})
		served := make(chan error, 1)
		go func() { served <- server.Serve(l) }()
		conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithStatsHandler(otelgrpc.NewClientHandler(options...)))
		if err != nil {
			t.Fatal(err)
		}
		ctx, span := tp.Tracer("program").Start(t.Context(), "order")
		do(ctx, t, pb.NewTestServiceClient(conn))
		span.End()
		conn.Close()
		server.GracefulStop() // returns when the calls have ended
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

func unary(code codes.Code) func(*testing.T, trace.TracerProvider) {
	return calls(func(ctx context.Context, t *testing.T, client pb.TestServiceClient) {
		q := &pb.SimpleRequest{}
		if code != codes.OK {
			q.ResponseStatus = &pb.EchoStatus{Code: int32(code), Message: "as asked for"}
		}
		if _, err := client.UnaryCall(ctx, q); status.Code(err) != code {
			t.Errorf("got %v, want %v", err, code)
		}
	})
}

func panicking(ctx context.Context, t *testing.T, client pb.TestServiceClient) {
	if _, err := client.CacheableUnaryCall(ctx, &pb.SimpleRequest{}); status.Code(err) != codes.Internal {
		t.Errorf("got %v, want Internal", err)
	}
}

func unimplemented(ctx context.Context, t *testing.T, client pb.TestServiceClient) {
	if _, err := client.EmptyCall(ctx, &pb.Empty{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("got %v, want Unimplemented", err)
	}
}

func download(ctx context.Context, t *testing.T, client pb.TestServiceClient) {
	stream, err := client.StreamingOutputCall(ctx, &pb.StreamingOutputCallRequest{ResponseParameters: []*pb.ResponseParameters{{}, {}, {}}})
	for err == nil {
		_, err = stream.Recv()
	}
	if !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

func upload(ctx context.Context, t *testing.T, client pb.TestServiceClient) {
	stream, err := client.StreamingInputCall(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := stream.Send(&pb.StreamingInputCallRequest{}); err != nil {
			t.Error(err)
		}
	}
	if _, err := stream.CloseAndRecv(); err != nil {
		t.Error(err)
	}
}

// both sends and receives twice, and ends as the function says.
func both(end func(*testing.T, context.CancelFunc, pb.TestService_FullDuplexCallClient) codes.Code) func(context.Context, *testing.T, pb.TestServiceClient) {
	return func(ctx context.Context, t *testing.T, client pb.TestServiceClient) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := client.FullDuplexCall(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := stream.Send(&pb.StreamingOutputCallRequest{}); err != nil {
				t.Error(err)
			}
			if _, err := stream.Recv(); err != nil {
				t.Error(err)
			}
		}
		want := end(t, cancel, stream)
		if _, err := stream.Recv(); status.Code(err) != want && (want != codes.OK || !errors.Is(err, io.EOF)) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
}

func TestGRPC(t *testing.T) {
	const unaryCall = "grpc.testing.TestService/UnaryCall"
	const duplex = "grpc.testing.TestService/FullDuplexCall"
	of := func(name string, others ...string) []string { return append([]string{name, name, "order"}, others...) }
	same(t, []scenario{
		{name: "unary", work: unary(codes.OK), want: of(unaryCall)},
		{name: "unary, NotFound", work: unary(codes.NotFound), want: of(unaryCall)},
		{name: "unary, Unavailable", work: unary(codes.Unavailable), want: of(unaryCall)},
		{name: "unary, not sampled", setup: setup{sampler: sdktrace.NeverSample()}, work: unary(codes.OK)},
		{name: "unary, limits", setup: setup{limit: 2}, work: unary(codes.NotFound), want: of(unaryCall)},
		{name: "a panic", work: calls(panicking), want: of("grpc.testing.TestService/CacheableUnaryCall", "pack")},
		{name: "a method that is not there", work: calls(unimplemented), want: of("grpc.testing.TestService/EmptyCall")},
		{name: "server stream", work: calls(download), want: of("grpc.testing.TestService/StreamingOutputCall")},
		{name: "client stream", work: calls(upload), want: of("grpc.testing.TestService/StreamingInputCall")},
		{name: "both streams", want: of(duplex), work: calls(both(func(t *testing.T, _ context.CancelFunc, s pb.TestService_FullDuplexCallClient) codes.Code {
			if err := s.CloseSend(); err != nil {
				t.Error(err)
			}
			return codes.OK
		}))},
		{name: "both streams, an error", want: of(duplex), work: calls(both(func(t *testing.T, _ context.CancelFunc, s pb.TestService_FullDuplexCallClient) codes.Code {
			if err := s.Send(&pb.StreamingOutputCallRequest{ResponseStatus: &pb.EchoStatus{Code: int32(codes.DataLoss)}}); err != nil {
				t.Error(err)
			}
			return codes.DataLoss
		}))},
		{name: "both streams, cancelled", want: of(duplex), work: calls(both(func(_ *testing.T, cancel context.CancelFunc, _ pb.TestService_FullDuplexCallClient) codes.Code {
			cancel()
			return codes.Canceled
		}))},
	})
}
