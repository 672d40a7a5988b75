// Package service is a service in a process of its own, which is the calling program again:
//
//	func main() {
//		service.Main() // first
//		…
//		p, err := service.Start(ctx, service.Config{
//			Env: []string{"OTEL_SERVICE_NAME=trial", "OTEL_EXPORTER_OTLP_ENDPOINT=" + url},
//		})
//		…                             // requests to p.URL()
//		account, err := p.Account(ctx) // what it uses, and its pipeline's counts
//		err = account.CheckBalance()
//		final, err := p.Terminate(ctx) // SIGTERM, and its last account
//		…
//	}
//
// The service answers GET /task: a server span, [Measures] measures in it, each of which
// perfline makes a span, and [Marks] marks, for some tens of microseconds of CPU. Environment
// variables say where they go. With OTEL_PROFILES_EXPORTER=otlp it sends profiles over OTLP, as
// often as PYROSCOPE_UPLOAD_INTERVAL says.
package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/profiling/otlpprofiles"
)

// variable makes the program the service, and is how long the service may take to end.
const variable = "PERFLINE_TRIAL_DEADLINE"

// Main is the service, and does not return, in a process that [Start] has started. Else it does
// nothing. Call it before anything else.
func Main() {
	raw, ok := os.LookupEnv(variable)
	if !ok {
		return
	}
	_ = os.Unsetenv(variable) // the name is a constant without "="
	if err := serve(raw); err != nil {
		fmt.Fprintln(os.Stderr, "the service:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// addresses is the service's first line: where it listens.
type addresses struct{ URL, Accounts string }

// serve is the service's process. It ends by SIGTERM, or when its input does:
// then the program that started it has ended.
func serve(raw string) error {
	deadline, err := time.ParseDuration(raw)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	// Ctrl-C goes to the whole group of processes; this one is ended by its parent.
	signal.Ignore(os.Interrupt)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	var config perfline.Config
	if os.Getenv("OTEL_PROFILES_EXPORTER") == "otlp" {
		interval, err := time.ParseDuration(os.Getenv("PYROSCOPE_UPLOAD_INTERVAL"))
		if err != nil {
			return err
		}
		config.ProfileExporter = otlpprofiles.New(otlpprofiles.Config{Interval: interval})
	}
	pl, err := perfline.Start(ctx, config)
	if err != nil {
		return err
	}
	watch := newWatch()
	watching, over := context.WithCancel(context.WithoutCancel(ctx))
	defer over()
	go watch.run(watching)

	var begun, answered atomic.Uint64
	mux := http.NewServeMux()
	mux.HandleFunc("GET /task", func(w http.ResponseWriter, r *http.Request) {
		begun.Add(1)
		defer answered.Add(1)
		task(w, r)
	})
	var connections atomic.Int64
	service, url, err := listen(ctx, bridgehttp.Middleware(mux), &connections)
	if err != nil {
		return err
	}
	account := func() Account {
		a := watch.account()
		// In this order: what is answered has begun, spans and marks are of requests that have
		// begun, and what is counted later is no less.
		a.Answered = answered.Load()
		a.Stats = pl.Stats()
		a.Begun = begun.Load()
		a.Connections = int(connections.Load())
		return a
	}
	accounts, accountsURL,
		err := listen(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/collect" {
			runtime.GC()
		}
		_ = json.NewEncoder(w).Encode(account()) // who cannot read it reports that
	}), &connections)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(addresses{URL: url, Accounts: accountsURL}); err != nil {
		return err
	}

	<-ctx.Done()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), deadline)
	defer cancel()
	began := time.Now()
	err = service.Shutdown(end)
	drained := time.Now()
	err = errors.Join(err, pl.Shutdown(end))
	f := Final{Account: account(), Drain: drained.Sub(began), Shutdown: time.Since(drained)}
	if err != nil {
		f.Err = err.Error()
	}
	_ = accounts.Close() // no more accounts are asked for
	return out.Encode(f)
}

// listen serves h on a loopback port of its own, and counts its connections.
func listen(ctx context.Context, h http.Handler, connections *atomic.Int64) (srv *http.Server,
	url string, err error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	srv = &http.Server{Handler: h, ReadHeaderTimeout: time.Minute,
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				connections.Add(1)
			case http.StateClosed, http.StateHijacked:
				connections.Add(-1)
			default:
			}
		}}
	go func() {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			slog.Error("the service's listener ended", "error", err)
		}
	}()
	return srv, "http://" + l.Addr().String(), nil
}
