package main

import (
	"context"
	"fmt"
	"time"

	"github.com/perfline/perfline/integration/trial"
)

// An end is a service that gets SIGTERM in the middle of the load.
type end struct {
	name    string
	subject string
	mode    trial.Mode
}

var ends = []end{
	{"sigterm/healthy", "jaeger", trial.Mode{Kind: trial.Pass}},
	{"sigterm/jaeger hanging", "jaeger", trial.Mode{Kind: trial.Hang}},
	{"sigterm/collector away", "collector", trial.Mode{Kind: trial.Refuse}},
	{"sigterm/pyroscope away", "pyroscope", trial.Mode{Kind: trial.Refuse}},
}

const (
	// deadline is what the service gives its servers and the pipeline to end.
	deadline = 5 * time.Second
	// late is by how much a Shutdown may exceed it: a second, as it says, and the time
	// until a busy machine comes to it.
	late = 3 * time.Second
)

func terminated(ctx context.Context, set settings, e end) *result {
	r := &result{name: e.name, recoveredMeans: "end"}
	ctx, cancel := context.WithTimeout(ctx, set.total()+3*recoverWithin)
	defer cancel()
	s, err := subjects[e.subject](ctx, e.name)
	if err != nil {
		r.fail(err)
		return r
	}
	defer func() { r.fail(s.stop()) }()
	if err := r.end(ctx, set, s, e); err != nil {
		r.fail(fmt.Errorf("%w; the backend's log ends with: %s", err, tail(s.process.Log())))
	}
	return r
}

func (r *result) end(ctx context.Context, set settings, s *subject, e end) error {
	service, err := trial.StartService(ctx, trial.ServiceConfig{
		Env: append([]string{"OTEL_SERVICE_NAME=" + r.name}, s.env...), Deadline: deadline,
	})
	if err != nil {
		return err
	}
	defer service.Kill() //nolint:errcheck // it has ended, or something failed that is told
	t := &trialled{result: r, service: service, load: trial.StartLoad(service.URL(), set.rate), subject: s}
	defer t.endLoad()
	if err := t.healthyPhase(ctx, set, false); err != nil {
		return err
	}
	if err := s.proxy.Set(e.mode); err != nil {
		return err
	}
	if t.faulty, err = t.watchFor(ctx, set.well()); err != nil {
		return err
	}
	// Requests fail after this, when nobody listens. Those that reach the service must not:
	// its own count of answers tells.
	load, before := t.load, t.load.Total()
	t.load = nil
	defer load.Stop()
	final, err := service.Terminate(ctx)
	if err != nil {
		return err
	}
	load.Stop()
	t.requests = load.Total()
	t.requests.Failed, t.requests.Errors = before.Failed, before.Errors
	t.fail(t.requests.Err())
	t.hold(final)
	t.recovered = final.Drain + final.Shutdown
	if t.recovered > deadline+late {
		t.fail(fmt.Errorf("the end took %v, its deadline is %v", t.recovered, deadline))
	}
	if lost := t.book.Accepted - t.book.Delivered; lost > 0 && e.mode.Kind == trial.Pass {
		t.fail(fmt.Errorf("%d were lost though all was well: %s", lost, final.Err))
	}
	t.note(fmt.Sprintf("requests drained in %v, Shutdown took %v", final.Drain.Round(time.Millisecond), final.Shutdown.Round(time.Millisecond)))
	return t.compare(ctx, true)
}
