package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"time"

	"github.com/perfline/perfline/integration/load"
	"github.com/perfline/perfline/internal/blackbox"
)

// The load of a death.
const (
	longest  = 200  // milliseconds of a request
	underWay = 2048 // requests at a time, at most
	warm     = time.Second
	jitter   = 300 * time.Millisecond // the death comes at any time of a heartbeat
)

// die makes a death of a kind under load, and compares the report with the truth.
func (o options) die(ctx context.Context, k *kind) (_ outcome, err error) {
	v, err := o.begin(ctx, k.group)
	if err != nil {
		return outcome{}, err
	}
	defer func() { err = errors.Join(err, v.end()) }()
	stop := v.load(ctx, o.rate, shortOrLong("wait"))
	defer stop()
	time.Sleep(warm + rand.N(jitter)) //nolint:gosec // no secret
	if err := k.die(ctx, v); err != nil {
		return outcome{}, err
	}
	r, a, alone, err := v.after(ctx, stop)
	if err != nil {
		return outcome{}, err
	}
	result := judge(v.truth, r, a, v.dying)
	result.alone = alone
	return result, nil
}

// shortOrLong returns the paths of requests that take 1 to 200 ms.
func shortOrLong(route string) func() string {
	return func() string {
		return fmt.Sprintf("/%s/%d", route, 1+rand.IntN(longest)) //nolint:gosec // no secret
	}
}

// begin starts a service in a folder of its own.
func (o options) begin(ctx context.Context, limited bool) (*service, error) {
	folder, err := os.MkdirTemp("", "deaths-")
	if err != nil {
		return nil, err
	}
	v, err := start(ctx, folder, limited)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	return v, nil
}

func (v *service) end() error { return errors.Join(v.close(), os.RemoveAll(v.folder)) }

// load makes requests at a rate. Requests fail from the death on.
func (v *service) load(ctx context.Context, rate float64, path func() string) (stop func()) {
	transport := &http.Transport{MaxIdleConnsPerHost: underWay}
	client := &http.Client{Transport: transport}
	l := load.Start(ctx, load.Config{PerSecond: rate, UnderWay: underWay,
		Do: func() error { return v.get(ctx, client, path(), newTrace()) }})
	return func() {
		l.Stop()
		transport.CloseIdleConnections()
	}
}

// after waits for the death, runs the next process, and decodes what the backend has.
func (v *service) after(ctx context.Context, stop func()) (r *reported, a *arrivals,
	alone blackbox.Kind, err error) {
	if alone, err = v.wait(); err != nil {
		return nil, nil, "", err
	}
	stop()
	first := v.backend.settle()
	v.backend.down.Store(false)
	if r, err = v.succeed(ctx); err != nil {
		return nil, nil, "", err
	}
	a, err = v.backend.decode(first)
	return r, a, alone, err
}
