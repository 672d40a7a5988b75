package main

import (
	"context"
	"encoding/binary"
	"net/http"
	"net/http/httptest"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/lab/internal/orders"
)

const checkMethod = "/grpc.health.v1.Health/Check"

// shopServer does its work in the one method of gRPC's own services that is unary.
type shopServer struct {
	healthpb.UnimplementedHealthServer
	work func(context.Context, *orders.Order)
}

func (s *shopServer) Check(ctx context.Context,
	_ *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	s.work(ctx, nil)
	return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}, nil
}

// openGRPC serves calls through grpc.Server's ServeHTTP: all of gRPC's server but its HTTP/2.
func openGRPC(i instrumentation) (*workload, error) {
	// A call's span ends after its answer: Stop has to wait for the last ones.
	server := grpc.NewServer(append(i.grpc, grpc.WaitForHandlers(true))...)
	healthpb.RegisterHealthServer(server, &shopServer{work: i.work})
	message, err := proto.Marshal(&healthpb.HealthCheckRequest{Service: "shop"})
	if err != nil {
		return nil, err
	}
	// A byte that says that it is not compressed, and the length.
	body := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)))
	body = append(body, message...)
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost,
		"http://shop.example"+checkMethod, http.NoBody)
	r.ProtoMajor, r.ProtoMinor, r.Proto = 2, 0, "HTTP/2.0"
	r.Header.Set("Content-Type", "application/grpc")
	r.Header.Set("User-Agent", "grpc-go/"+grpc.Version)
	return &workload{handler: server, request: r, body: string(body),
		close: func() error { server.Stop(); return nil }}, nil
}
