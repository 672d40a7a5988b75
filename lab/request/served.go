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

	"github.com/perfline/perfline/lab/internal/process"
	"github.com/perfline/perfline/lab/internal/service"
)

// A fleet is services in processes of their own, and the process of their receivers.
type fleet struct {
	services  []*served
	receivers *receivers
}

// A served is a service in a process of its own.
type served struct {
	name      string
	process   *service.Process
	receivers *receivers
	receiver  int   // of the receivers
	each      int64 // spans or traces of a request
	client    *http.Client
	calls     *grpc.ClientConn
	shape     shape
	requests  int64
	lossy     bool // spans may be lost
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
	served := service.Service{Handler: l.handler, Answer: s.answer, Flush: p.flush,
		Shutdown: p.shutdown}
	if p.around != nil {
		served.Handler = p.around(l.handler)
	}
	if server, ok := l.handler.(*grpc.Server); ok {
		served.Calls = server
	}
	return service.Run(ctx, served)
}

// startFleet starts variants, and the peers where they have this kind of requests and o has peers.
// It returns those that it has started, with an error too.
func startFleet(ctx context.Context, o options, s shape, variants []variant) (f *fleet, err error) {
	f = &fleet{}
	self, err := os.Executable()
	if err != nil {
		return f, err
	}
	var others []peer
	if s.name == working.name && o.peers {
		others = peers
	}
	if f.receivers, err = startReceivers(ctx, o, kindsOf(len(variants), others)); err != nil {
		return f, err
	}
	to, err := f.receivers.all(ctx)
	if err != nil {
		return f, err
	}
	for k, v := range variants {
		i := slices.IndexFunc(every, func(e variant) bool { return e.name == v.name })
		command := exec.CommandContext(ctx, self,
			append(o.flags(), "-variant", strconv.Itoa(i), "-endpoint", to[k].Endpoint, "-only",
				"^"+s.name+"$", "serve")...)
		command.Env = o.environment()
		each := s.spans
		if v.name == none || v.name == traced {
			each = 0
		}
		if err := f.start(command, v.name, s, each); err != nil {
			return f, err
		}
	}
	return f, f.startPeers(ctx, o, s, others, to[len(variants):])
}

// start starts a service, whose receiver is the next one.
func (f *fleet) start(command *exec.Cmd, name string, s shape, each int64) error {
	command.Stderr = os.Stderr
	p, err := service.Start(command)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	calls, err := grpc.NewClient(p.Calls, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return errors.Join(err, p.Stop())
	}
	f.services = append(f.services, &served{
		name: name, process: p, receivers: f.receivers, receiver: len(f.services), each: each,
		client: service.NewClient(), calls: calls, shape: s,
	})
	return nil
}

// stop ends all processes, and checks that every span arrived and no other.
func (f *fleet) stop(ctx context.Context) (err error) {
	for _, v := range f.services {
		err = errors.Join(err, v.stop(ctx))
	}
	if f.receivers != nil {
		err = errors.Join(err, f.receivers.process.Stop())
	}
	return err
}

// stop ends the process. Its last spans arrive as it ends.
func (v *served) stop(ctx context.Context) error {
	err := errors.Join(v.calls.Close(), v.process.Stop())
	if err == nil && !v.lossy {
		_, _, err = v.arrived(ctx)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", v.name, err)
	}
	return err
}

// arrival is how long spans may be on the way after they were delivered: some peers do not wait.
const arrival = 30 * time.Second

// arrived waits until the receiver has all spans of the requests so far. It is an error if it has
// others, or does not get them.
func (v *served) arrived(ctx context.Context) (r received, waited bool, err error) {
	want := v.each * v.requests
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		now, err := v.receivers.all(ctx)
		if err != nil {
			return r, waited, err
		}
		r = now[v.receiver]
		if r.Arrived == want {
			return r, waited, nil
		}
		if r.Arrived > want || time.Since(begin) > arrival {
			return r, waited, fmt.Errorf("%d spans arrived of %d requests, want %d", r.Arrived,
				v.requests, want)
		}
		waited = true
	}
}

// used returns the process's usage after all spans of the requests so far have arrived.
func (v *served) used(ctx context.Context) (u process.Usage, wire int64, err error) {
	if u, err = v.process.Used(ctx); err != nil {
		return u, 0, err
	}
	r, waited, err := v.arrived(ctx)
	if err == nil && waited {
		u, err = v.process.Used(ctx)
	}
	return u, r.Wire, err
}

// quiet closes unused connections.
func (v *served) quiet() { v.client.CloseIdleConnections() }

// ask makes one request.
func (v *served) ask(ctx context.Context) error {
	url := "http://" + v.process.Requests + path
	switch {
	case v.shape.name == "grpc":
		_, err := healthpb.NewHealthClient(v.calls).Check(ctx,
			&healthpb.HealthCheckRequest{Service: "shop"})
		return err
	case v.shape.answer != nil:
		return service.Expect(ctx, v.client, url, v.shape.answer)
	default:
		return service.Get(ctx, v.client, url)
	}
}

// load makes requests for the given length at a rate, and returns how long each took.
func (v *served) load(ctx context.Context, rate int, length time.Duration) ([]time.Duration,
	time.Duration, error) {
	begin := time.Now()
	took, err := service.Repeat(ctx, rate, length, v.ask)
	v.requests += int64(len(took))
	return took, time.Since(begin), err
}

// loadItself makes the service's process its own client.
func (v *served) loadItself(ctx context.Context, rate int, length time.Duration,
	profiled bool) (service.Loaded, error) {
	did, err := v.process.Load(ctx,
		service.Load{Path: path, Rate: rate, Length: length, Profiled: profiled})
	v.requests += int64(did.Requests)
	return did, err
}
