package recipes_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"connectrpc.com/connect"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/bridge/bridgetest"
	"github.com/perfline/perfline/examples/recipes"
	"github.com/perfline/perfline/marks"
)

// A call and a stream have the procedure as their route. An error has the status that connect gives it.
func TestConnect(t *testing.T) {
	const buy, list = "/shop.v1.Shop/Buy", "/shop.v1.Shop/List"
	type text = wrapperspb.StringValue
	mux := http.NewServeMux()
	route := connect.WithInterceptors(recipes.ConnectRoute{})
	mux.Handle("/shop.v1.Shop/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case buy:
			connect.NewUnaryHandler(buy, func(ctx context.Context, req *connect.Request[text]) (*connect.Response[text], error) {
				marks.Mark(ctx, "cart.checked")
				if req.Msg.Value == "shoes" {
					return nil, connect.NewError(connect.CodeNotFound, errors.New("no shoes"))
				}
				return connect.NewResponse(req.Msg), nil
			}, route).ServeHTTP(w, r)
		case list:
			connect.NewServerStreamHandler(list, func(ctx context.Context, _ *connect.Request[text], s *connect.ServerStream[text]) error {
				marks.Mark(ctx, "list.begun")
				return s.Send(&text{Value: "socks"})
			}, route).ServeHTTP(w, r)
		}
	}))
	rec := bridgetest.New(t)
	srv := httptest.NewServer(bridgehttp.Server{TracerProvider: rec.TracerProvider(), Timeline: rec.Timeline()}.Middleware(mux))
	defer srv.Close()

	buying := connect.NewClient[text, text](srv.Client(), srv.URL+buy)
	if _, err := buying.CallUnary(t.Context(), connect.NewRequest(&text{Value: "socks"})); err != nil {
		t.Fatal(err)
	}
	if _, err := buying.CallUnary(t.Context(), connect.NewRequest(&text{Value: "shoes"})); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("got %v, want not found", err)
	}
	stream, err := connect.NewClient[text, text](srv.Client(), srv.URL+list).CallServerStream(t.Context(), connect.NewRequest(&text{}))
	if err != nil {
		t.Fatal(err)
	}
	for stream.Receive() {
	}
	if err := stream.Err(); err != nil {
		t.Error(err)
	}
	stream.Close()
	srv.Close()
	rec.Want(`
		POST /shop.v1.Shop/Buy http.route=/shop.v1.Shop/Buy http.response.status_code=200 (server)
		  * cart.checked
		POST /shop.v1.Shop/Buy http.route=/shop.v1.Shop/Buy http.response.status_code=404 (server)
		  * cart.checked
		POST /shop.v1.Shop/List http.route=/shop.v1.Shop/List http.response.status_code=200 (server)
		  * list.begun
	`, semconv.HTTPRouteKey, semconv.HTTPResponseStatusCodeKey)
}
