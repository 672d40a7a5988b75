package main

import (
	"context"
	"errors"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/perfline/perfline/bridge/bridgegrpc"
	"github.com/perfline/perfline/marks"
)

// The shipping service is called over gRPC: it tells what it costs to ship a
// number of pieces. Its messages are protobuf's own, so that there is nothing to
// generate.

const quoteMethod = "/shop.Shipping/Quote"

var shippingService = grpc.ServiceDesc{
	ServiceName: "shop.Shipping",
	HandlerType: (*any)(nil),
	Methods:     []grpc.MethodDesc{{MethodName: "Quote", Handler: handleQuote}},
}

func handleQuote(
	_ any, ctx context.Context, decode func(any) error, //nolint:revive // gRPC's order
	_ grpc.UnaryServerInterceptor,
) (any, error) {
	var pieces wrapperspb.Int64Value
	if err := decode(&pieces); err != nil {
		return nil, err
	}
	return quote(ctx, pieces.Value)
}

func quote(ctx context.Context, pieces int64) (*wrapperspb.Int64Value, error) {
	if pieces < 1 {
		return nil, status.Errorf(codes.InvalidArgument, "%d pieces: there must be at least 1",
			pieces)
	}
	defer marks.Time(ctx, "tariff").End()
	return wrapperspb.Int64(390 + 45*pieces), nil
}

// startShipping starts the shipping service, and returns a connection to it. stop ends both.
func startShipping(ctx context.Context) (_ *grpc.ClientConn, stop func(), err error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	conn, err := grpc.NewClient(l.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStatsHandler(bridgegrpc.Client{}.Handler()))
	if err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	s := grpc.NewServer(grpc.StatsHandler(bridgegrpc.Server{}.Handler()))
	s.RegisterService(&shippingService, nil)
	go func() { _ = s.Serve(l) }() // until it is stopped
	return conn, func() { _ = conn.Close(); s.Stop() }, nil
}

// shippingCost asks the shipping service.
func shippingCost(ctx context.Context, conn *grpc.ClientConn, pieces int64) (int64, error) {
	var cost wrapperspb.Int64Value
	err := conn.Invoke(ctx, quoteMethod, wrapperspb.Int64(pieces), &cost)
	return cost.Value, err
}
