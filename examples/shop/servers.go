package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/guard"
	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/mcpserver"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/service"
)

const summaryPrefix = "/debug/summary/"

// mount returns the shop behind the middleware. The pages and the health check are beside the
// middleware: their traces are of no use.
func mount(pl *perfline.Pipeline, o options, s *store, shop http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", bridgehttp.Server{
		ServerTiming: bridgehttp.ServerTiming{
			Trace: true,
			Names: []string{"render", "checkout", "sql.*", "shop.*"},
		},
	}.Middleware(shop))
	mux.HandleFunc("GET /healthz", s.health)
	mountPages(mux, pl, o)
	return mux
}

// mountPages adds the live page, its tools for agents, its summary, profiles and sessions.
func mountPages(mux *http.ServeMux, pl *perfline.Pipeline, o options) {
	var authorize func(*http.Request) error // nil allows clients on this machine
	if o.published {
		authorize = published
	}
	mux.Handle(live.Prefix, live.Handler(pl, live.Config{
		Authorize: authorize,
		Data:      guard.Everything,
	}))
	mux.Handle(live.Prefix+"mcp", mcpserver.Handler(pl, mcpserver.Config{
		Authorize: authorize,
		Data:      guard.Everything,
	}))
	// A page without requests, as a service in production has it.
	mux.Handle(summaryPrefix, live.Handler(pl, live.Config{
		Prefix:    summaryPrefix,
		Authorize: authorize,
		Data:      guard.Summary,
	}))
	// In place of the handler of net/http/pprof, which fails while profiles are pushed.
	mux.Handle("GET /debug/pprof/profile",
		guard.Guard{Authorize: authorize}.Handler(http.HandlerFunc(profiling.ServeProfile)))
	mux.Handle(service.NewHandler(pl.Sessions(), service.Config{Authorize: authorize}))
}

// servePayments starts the payment service.
func servePayments(ctx context.Context) (*http.Server, error) {
	return serve(ctx, "127.0.0.1:0", bridgehttp.Server{
		ServerTiming: bridgehttp.ServerTiming{Trace: true, Names: []string{"bank"}},
	}.Middleware(paymentHandler()))
}

// serve starts an HTTP server on addr. Its Addr is the address that it listens on.
func serve(ctx context.Context, addr string, h http.Handler) (*http.Server, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	s := &http.Server{Addr: l.Addr().String(), Handler: h, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			slog.Error("server stopped", "addr", s.Addr, "error", err)
		}
	}()
	return s, nil
}

// stopServers lets requests under way end, one server after the other.
func stopServers(ctx context.Context, servers ...*http.Server) (err error) {
	for _, s := range servers {
		err = errors.Join(err, s.Shutdown(ctx))
	}
	return err
}
