package bridgegrpc_test

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/perfline/perfline/bridge/bridgegrpc"
	"github.com/perfline/perfline/observer"
)

func Example() {
	// A program has the default timeline, and its entries come by themselves.
	tl := observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {}})
	obs, err := tl.Observe(func(l observer.List) {
		for _, e := range l.Entries() {
			fmt.Println(e.Type(), e.Name())
		}
	}, observer.Options{Types: []observer.Type{observer.Navigation, observer.Resource}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer obs.Disconnect()

	srv := grpc.NewServer(grpc.StatsHandler(bridgegrpc.Server{Timeline: tl}.Handler()), grpc.WaitForHandlers(true))
	healthpb.RegisterHealthServer(srv, health.NewServer())
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() { _ = srv.Serve(lis) }()

	conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithStatsHandler(bridgegrpc.Client{}.Handler()),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := observer.NewContext(context.Background(), tl) // in a service, the request's
	answer, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
	fmt.Println(answer.GetStatus(), err)
	_ = conn.Close()
	srv.Stop()

	tl.Deliver()
	// Output:
	// SERVING <nil>
	// resource grpc.health.v1.Health/Check
	// navigation grpc.health.v1.Health/Check
}
