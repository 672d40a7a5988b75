package recipes_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/perfline/perfline/bridge/bridgegrpc"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/bridge/bridgetest"
	"github.com/perfline/perfline/examples/recipes"
	"github.com/perfline/perfline/marks"
)

// A request through the gateway has the pattern of its rule as the route, also if it fails. The gRPC call of the gateway, and its
// handling in the same process, belong to the request.
func TestGateway(t *testing.T) {
	rec := bridgetest.New(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	backend := grpc.NewServer(grpc.WaitForHandlers(true), grpc.StatsHandler(bridgegrpc.Server{TracerProvider: rec.TracerProvider(), Timeline: rec.Timeline(), Propagators: propagation.TraceContext{}}.Handler()))
	healthpb.RegisterHealthServer(backend, health.NewServer())
	go func() { _ = backend.Serve(l) }()
	defer backend.Stop()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStatsHandler(bridgegrpc.Client{TracerProvider: rec.TracerProvider(), Propagators: propagation.TraceContext{}}.Handler()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	gateway := runtime.NewServeMux(runtime.WithMiddlewares(recipes.GatewayRoute), runtime.WithHealthzEndpoint(healthpb.NewHealthClient(conn)))
	if err := gateway.HandlePath("GET", "/v1/{name=items/*}", func(w http.ResponseWriter, r *http.Request, params map[string]string) {
		marks.Mark(r.Context(), params["name"])
		runtime.HTTPError(r.Context(), gateway, &runtime.JSONPb{}, w, r, status.Error(codes.NotFound, "no socks"))
	}); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(bridgehttp.Server{TracerProvider: rec.TracerProvider(), Timeline: rec.Timeline()}.Middleware(gateway))
	defer srv.Close()
	if err := gateway.HandlePath("GET", "/v1/stores/{id}/check", func(http.ResponseWriter, *http.Request, map[string]string) {}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/healthz", "/v1/items/socks", "/v1/stores/7/check", "/nothing"} {
		answer, err := http.Get(srv.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
	}
	srv.Close()
	backend.Stop() // waits for the end of the server's span
	rec.Want(`
		GET /healthz http.route=/healthz http.response.status_code=200 (server)
		  grpc.health.v1.Health/Check (client)
		    grpc.health.v1.Health/Check (server)
		GET /v1/{name=items/*} http.route=/v1/{name=items/*} http.response.status_code=404 (server)
		  * items/socks
		GET /v1/stores/{id}/check http.route=/v1/stores/{id}/check http.response.status_code=200 (server)
		GET http.response.status_code=404 (server)
	`, semconv.HTTPRouteKey, semconv.HTTPResponseStatusCodeKey)
}
