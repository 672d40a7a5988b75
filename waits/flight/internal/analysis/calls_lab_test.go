//go:build lab

package analysis_test

import (
	"context"
	"net"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/internal/tracelog"
)

var _ = add(map[string]func(*recorder){
	"called": func(r *recorder) {
		client, server := r.connect()
		defer client.Close()
		defer server.Close()
		r.trace(func() {
			var x index
			locked, done := make(chan bool), make(chan bool)
			go func() {
				do("GET /search", func() { x.rebuild(locked) })
				close(done)
			}()
			<-locked
			outer := start("GET /")
			call := newSpan().SpanID()
			go answer(server, "GET /inner", call, x.lookUp)
			spanning(call, "call", func() { ask(client) })
			outer.end()
			<-done
			r.want(outer)
		})
	},
	"called-twice": func(r *recorder) {
		client, server := r.connect()
		defer client.Close()
		defer server.Close()
		next, nextServer := r.connect()
		defer next.Close()
		defer nextServer.Close()
		r.trace(func() {
			outer := start("GET /")
			call, nextCall := newSpan().SpanID(), newSpan().SpanID()
			go answer(nextServer, "GET /innermost", nextCall, rest)
			go answer(server, "GET /inner", call, func() {
				spanning(nextCall, "next", func() { ask(next) })
			})
			spanning(call, "call", func() { ask(client) })
			outer.end()
			r.want(outer)
		})
	},
	"grpc": func(r *recorder) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			r.Fatalf("%v", err)
		}
		server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
			if err := s.RecvMsg(new(emptypb.Empty)); err != nil {
				return err
			}
			time.Sleep(long)
			return s.SendMsg(new(emptypb.Empty))
		}))
		go func() { _ = server.Serve(listener) }()
		defer server.Stop()
		conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			r.Fatalf("%v", err)
		}
		defer conn.Close()
		charge(r, conn) // connects
		r.trace(func() {
			r.want(do("POST /order", func() {
				within("shop.Payment/Charge", func() { charge(r, conn) })
			}))
		})
	},
	"equal": func(r *recorder) {
		r.trace(func() {
			r.want(do("GET /", func() {
				for range 3 {
					within("query", rest)
				}
			}))
		})
	},
})

// spanning runs f as an inner span of this goroutine.
//
//go:noinline
func spanning(id trace.SpanID, name string, f func()) {
	goroutine, began := goruntime.GoroutineID(), goruntime.Nanotime()
	f()
	tracelog.Inner(id, goroutine, began, goruntime.Nanotime(), name)
}

// ask waits for the answer to a call.
//
//go:noinline
func ask(c net.Conn) {
	_, _ = c.Write([]byte{1})
	_, _ = c.Read(make([]byte, 1))
}

// answer serves the next call of a connection.
func answer(c net.Conn, name string, parent trace.SpanID, f func()) {
	_, _ = c.Read(make([]byte, 1))
	r := startCalled(name, parent, func() {})
	f()
	r.end()
	_, _ = c.Write([]byte{1})
}

//go:noinline
func charge(r *recorder, c *grpc.ClientConn) {
	err := c.Invoke(context.Background(), "/shop.Payment/Charge", new(emptypb.Empty), new(emptypb.Empty))
	if err != nil {
		r.Fatalf("%v", err)
	}
}
