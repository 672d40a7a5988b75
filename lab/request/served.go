package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/perfline/perfline/lab/internal/otlp"
	"github.com/perfline/perfline/lab/internal/process"
	"github.com/perfline/perfline/lab/internal/service"
)

// A served is a service in a process of its own, and what takes its spans.
type served struct {
	name     string
	process  *service.Process
	arrived  func() int64 // spans, of a peer traces
	each     int64        // spans or traces of a request
	wire     func() int64 // bytes that have arrived
	close    func()       // of the receiver
	client   *http.Client
	calls    *grpc.ClientConn
	shape    shape
	requests int64
}

// serve is the process of every[i]: it serves until its input ends.
func serve(ctx context.Context, s shape, i int, endpoint string) error {
	if i < 0 || i >= len(every) {
		return fmt.Errorf("-variant %d: must be below %d", i, len(every))
	}
	p, err := every[i].open(ctx, setting{sampler: s.sampler, endpoint: endpoint})
	if err != nil {
		return err
	}
	l, err := s.open(every[i].instrumented())
	if err != nil {
		return err
	}
	served := service.Service{Handler: l.handler, Flush: p.flush, Shutdown: p.shutdown}
	if server, ok := l.handler.(*grpc.Server); ok {
		served.Calls = server
	}
	return service.Run(ctx, served)
}

// startServices starts variants, and for HTTP requests the peers. It returns those that it
// has started, with an error too.
func startServices(ctx context.Context, o options, s shape, variants []variant) (all []*served, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	for _, v := range variants {
		i := slices.IndexFunc(every, func(e variant) bool { return e.name == v.name })
		received, err := otlp.Listen(ctx)
		if err != nil {
			return all, err
		}
		command := exec.CommandContext(ctx, self, append(o.flags(), "-variant", strconv.Itoa(i), "-endpoint", received.Endpoint(), "-only", "^"+s.name+"$", "serve")...)
		command.Env = o.environment()
		w, err := startService(command, v.name, s)
		if err != nil {
			received.Close()
			return all, err
		}
		w.arrived, w.wire, w.close = received.Spans, received.Wire, received.Close
		if v.name != none {
			w.each = s.spans
		}
		all = append(all, w)
	}
	if s.name == "http" && o.peers {
		return startPeers(ctx, o, s, all)
	}
	return all, nil
}

func startService(command *exec.Cmd, name string, s shape) (*served, error) {
	command.Stderr = os.Stderr
	p, err := service.Start(command)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	w := &served{name: name, process: p, shape: s, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}}
	w.calls, err = grpc.NewClient(p.Calls, grpc.WithTransportCredentials(insecure.NewCredentials()))
	return w, err
}

// stop ends the process, and checks that every span arrived and no other.
func (v *served) stop() error {
	err := errors.Join(v.calls.Close(), v.process.Stop())
	v.close()
	if got, want := v.arrived(), v.each*v.requests; err == nil && got != want {
		err = fmt.Errorf("%d spans arrived of %d requests, want %d", got, v.requests, want)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", v.name, err)
	}
	return err
}

// arrival is how long spans may be on the way after they were delivered: some peers do not wait.
const arrival = 30 * time.Second

// used returns the process's usage after all spans of the requests so far have arrived.
func (v *served) used(ctx context.Context) (process.Usage, error) {
	u, err := v.process.Used(ctx)
	if err != nil || v.arrived() == v.each*v.requests {
		return u, err
	}
	for begin := time.Now(); v.arrived() != v.each*v.requests; time.Sleep(time.Millisecond) {
		if time.Since(begin) > arrival {
			return u, fmt.Errorf("%d spans arrived of %d requests, want %d", v.arrived(), v.requests, v.each*v.requests)
		}
	}
	return v.process.Used(ctx)
}

// quiet closes unused connections.
func (v *served) quiet() { v.client.CloseIdleConnections() }

// ask makes one request.
func (v *served) ask(ctx context.Context) error {
	if v.shape.name == "grpc" {
		_, err := healthpb.NewHealthClient(v.calls).Check(ctx, &healthpb.HealthCheckRequest{Service: "shop"})
		return err
	}
	return service.Get(ctx, v.client, "http://"+v.process.Requests+path)
}

// load makes requests for the given length at a rate, and returns how long each took.
func (v *served) load(ctx context.Context, rate int, length time.Duration) ([]time.Duration, time.Duration, error) {
	begin := time.Now()
	took, err := load(rate, length, func() error { return v.ask(ctx) })
	v.requests += int64(len(took))
	return took, time.Since(begin), err
}
