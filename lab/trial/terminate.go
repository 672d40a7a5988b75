package main

import (
	"context"
	"fmt"
	"time"

	"github.com/perfline/perfline/integration/backend"
)

// A termination is a service that gets SIGTERM in the middle of the load, while its backend does
// what the kind says.
type termination struct {
	name  string
	part  string
	start start
	kind  backend.Kind
}

var terminations = []termination{
	{"sigterm/healthy", faultsPart, addJaeger, backend.Pass},
	{"sigterm/jaeger hanging", faultsPart, addJaeger, backend.Hang},
	{"sigterm/pyroscope away", faultsPart, addPyroscope, backend.Refuse},
	{"collector/sigterm", signalsPart, addCollector, backend.Refuse},
}

func terminationRows() []row {
	var all []row
	for _, e := range terminations {
		all = append(all, row{name: e.name, part: e.part, start: e.start, try: e.try})
	}
	return all
}

const (
	// deadline is what the service gives its servers and the pipeline to end.
	deadline = 5 * time.Second
	// late is by how much a Shutdown may exceed it: a second, as its documentation says, and the
	// time until a busy machine comes to it.
	late = 3 * time.Second
)

func (e termination) try(ctx context.Context, t *trial, set settings) error {
	t.recoveredMeans = "end"
	if err := t.begin(ctx, set.rate, deadline, often...); err != nil {
		return err
	}
	if err := t.healthyPhase(ctx, set, false); err != nil {
		return err
	}
	c := t.bench.failing()
	if err := c.fail(ctx, e.kind); err != nil {
		return err
	}
	var err error
	if t.faulty, err = t.phaseOf(ctx, set.well()); err != nil {
		return err
	}
	// Requests fail after this, when the service does not listen. Requests that reach it must not
	// fail: its own count of answers shows that.
	l, before := t.load, t.load.Total()
	t.load = nil
	final, err := t.process.Terminate(ctx)
	l.Stop()
	if err != nil {
		return err
	}
	t.requests = before
	t.requests.Answered = l.Total().Answered
	t.fail(before.Err())
	t.check(final)
	t.recovered = final.Drain + final.Shutdown
	if t.recovered > deadline+late && !set.short {
		t.fail(fmt.Errorf("the end took %v, its deadline is %v", t.recovered, deadline))
	}
	for _, f := range t.flows {
		if b := f.read(final.Stats); b.Accepted > b.Delivered && e.kind == backend.Pass {
			t.fail(fmt.Errorf("%d %s were lost though all was well: %s", b.Accepted-b.Delivered,
				f.what, final.Err))
		}
	}
	t.note(fmt.Sprintf("requests drained in %v, Shutdown took %v",
		final.Drain.Round(time.Millisecond), final.Shutdown.Round(time.Millisecond)))
	return t.compareAll(ctx, final, true)
}
