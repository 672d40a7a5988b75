//go:build lab

package analysis_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
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
	"called-before-trace": func(r *recorder) {
		client, server := r.connect()
		defer client.Close()
		defer server.Close()
		call := newSpan().SpanID()
		called, traced := make(chan bool), make(chan bool)
		go answer(server, "GET /inner", call, func() {
			close(called)
			<-traced
			rest()
		})
		done := make(chan bool)
		go func() {
			outer := start("GET /")
			spanning(call, "call", func() { ask(client) })
			outer.end()
			r.want(outer)
			close(done)
		}()
		<-called
		time.Sleep(long / 4) // until the request waits
		r.trace(func() {
			close(traced)
			<-done
		})
	},
	"called-instrumented-twice": func(r *recorder) {
		client, server := r.connect()
		defer client.Close()
		defer server.Close()
		r.trace(func() {
			call := newSpan().SpanID()
			go answer(server, "GET /inner", call, func() {
				x := startCalled("GET", call, func() {})
				rest()
				x.end()
			})
			r.want(do("GET /", func() { spanning(call, "call", func() { ask(client) }) }))
		})
	},
	"called-grpc":           calledGRPC,
	"connection-of-another": connectionOfAnother,
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

// calledGRPC calls a server of this process in two requests.
func calledGRPC(r *recorder) {
	parents := map[string]trace.SpanID{"Charge": newSpan().SpanID(), "Refund": newSpan().SpanID()}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.Fatalf("%v", err)
	}
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(s)
		_, method, _ = strings.Cut(method[1:], "/")
		x := startCalled("shop.Payment/"+method, parents[method], func() {})
		rest()
		x.end()
		return s.SendMsg(new(emptypb.Empty))
	}))
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	call := func(conn *grpc.ClientConn, method string) {
		spanning(parents[method], method, func() {
			err := conn.Invoke(context.Background(), "/shop.Payment/"+method, new(emptypb.Empty), new(emptypb.Empty))
			if err != nil {
				r.Fatalf("%v", err)
			}
		})
	}
	r.trace(func() {
		var conn *grpc.ClientConn
		r.want(
			do("POST /order", func() {
				conn, err = grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
				if err != nil {
					r.Fatalf("%v", err)
				}
				conn.Connect()
				call(conn, "Charge")
			}),
			do("POST /return", func() { call(conn, "Refund") }),
		)
		_ = conn.Close()
	})
}

func connectionOfAnother(r *recorder) {
	slow := make(chan bool, 1)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if <-slow {
			time.Sleep(long)
		}
	}))
	defer server.Close()
	client := server.Client()
	r.trace(func() {
		connected, done := make(chan bool), make(chan bool)
		go func() {
			do("GET /another", func() {
				slow <- false
				get(r, client, server.URL)
				close(connected)
				time.Sleep(3 * long)
			})
			close(done)
		}()
		<-connected
		r.want(do("GET /", func() {
			slow <- true
			get(r, client, server.URL)
		}))
		<-done
	})
}

//go:noinline
func get(r *recorder, client *http.Client, url string) {
	resp, err := client.Get(url)
	if err != nil {
		r.Fatalf("%v", err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
}
