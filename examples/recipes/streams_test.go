package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
	gorilla "github.com/gorilla/websocket"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/bridge/bridgetest"
	"github.com/perfline/perfline/examples/recipes"
	"github.com/perfline/perfline/marks"
)

// serveStream serves a handler. wait returns when the span of its one request has ended.
func serveStream(t *testing.T, rec *bridgetest.Recorder, pattern string, handler http.HandlerFunc) (srv *httptest.Server, wait func()) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc(pattern, handler)
	traced := bridgehttp.Server{TracerProvider: rec.TracerProvider(), Timeline: rec.Timeline()}.Middleware(mux)
	done := make(chan struct{})
	srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(done)
		traced.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv, func() { <-done }
}

// Each message of a websocket is a unit of work. Its error is its own: the connection's span has none.
func TestMessages(t *testing.T) {
	rec := bridgetest.New(t)
	sold := errors.New("sold out")
	srv, wait := serveStream(t, rec, "GET /orders", func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = c.CloseNow() }()
		if err := recipes.ReadMessages(r.Context(), c, "order", func(ctx context.Context, message []byte) error {
			marks.Mark(ctx, string(message))
			if string(message) == "shoes" {
				return sold
			}
			return nil
		}); !errors.Is(err, sold) {
			t.Errorf("got %v, want the handler's error", err)
		}
	})
	c, _, err := websocket.Dial(t.Context(), srv.URL+"/orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.CloseNow() }()
	for _, message := range []string{"socks", "shoes"} {
		if err := c.Write(t.Context(), websocket.MessageText, []byte(message)); err != nil {
			t.Fatal(err)
		}
	}
	wait()
	rec.Want(`
		GET /orders http.response.status_code=101 perfline.stream=true (server)
		order
		  * socks
		order (error: sold out)
		  * shoes
		  * exception
	`, semconv.HTTPResponseStatusCodeKey, "perfline.stream")
}

// A websocket's handler that returns after the upgrade has a short span of the class stream. What a goroutine writes afterwards are
// units of work, also when the request's context has ended.
func TestWrites(t *testing.T) {
	rec := bridgetest.New(t)
	prices, written := make(chan int, 1), make(chan error, 1)
	srv, wait := serveStream(t, rec, "GET /prices", func(w http.ResponseWriter, r *http.Request) {
		conn, err := new(gorilla.Upgrader).Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
		go func() {
			defer cancel()
			defer conn.Close()
			written <- recipes.Write(ctx, "price", prices, func(ctx context.Context, price int) error {
				marks.Mark(ctx, fmt.Sprint(price))
				return conn.WriteJSON(price)
			})
		}()
	})
	c, answer, err := gorilla.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(srv.URL, "http")+"/prices", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	defer c.Close()
	wait() // the request has ended
	for _, price := range []int{7, 8} {
		prices <- price
		var got int
		if err := c.ReadJSON(&got); err != nil || got != price {
			t.Fatalf("got %d, %v", got, err)
		}
	}
	close(prices)
	if err := <-written; err != nil {
		t.Error(err)
	}
	rec.Want(`
		GET /prices perfline.stream=true (server)
		price
		  * 7
		price
		  * 8
	`, "perfline.stream")
}

// Write ends with its context and with the first error.
func TestWriteEnds(t *testing.T) {
	rec := bridgetest.New(t)
	ctx, cancel := context.WithCancel(rec.Context(t.Context()))
	cancel()
	if err := recipes.Write(ctx, "price", make(chan int), func(context.Context, int) error { return nil }); err != nil {
		t.Errorf("got %v at the end of the context", err)
	}
	prices := make(chan int, 2)
	prices <- 7
	prices <- 8
	left := errors.New("the client left")
	if err := recipes.Write(rec.Context(t.Context()), "price", prices, func(context.Context, int) error { return left }); !errors.Is(err, left) {
		t.Errorf("got %v, want the error of the write", err)
	}
	rec.Want(`
		price (error: the client left)
		  * exception
	`)
}

// Each server-sent event is a unit of work. The request is a stream, which is never slow.
func TestEvents(t *testing.T) {
	rec := bridgetest.New(t)
	prices := make(chan int, 2)
	prices <- 7
	prices <- 8
	close(prices)
	srv, wait := serveStream(t, rec, "GET /prices", func(w http.ResponseWriter, r *http.Request) {
		if err := recipes.SendEvents(w, r, "price", prices, func(ctx context.Context, w io.Writer, price int) error {
			marks.Mark(ctx, "looked.up")
			_, err := fmt.Fprintf(w, "data: %d\n\n", price)
			return err
		}); err != nil {
			t.Error(err)
		}
	})
	answer, err := http.Get(srv.URL + "/prices")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if got, err := io.ReadAll(answer.Body); err != nil || string(got) != "data: 7\n\ndata: 8\n\n" {
		t.Errorf("got %q, %v", got, err)
	}
	wait()
	rec.Want(`
		GET /prices http.response.status_code=200 perfline.stream=true (server)
		price
		  * looked.up
		price
		  * looked.up
	`, semconv.HTTPResponseStatusCodeKey, "perfline.stream")
}
