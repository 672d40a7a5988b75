package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/lab/trial/internal/service"
)

// uploadEvery is the shortest interval of profiles: a row is short.
const uploadEvery = time.Second

// A fault is a way in which one backend fails.
type fault struct {
	name   string // "" means the name of the kind
	kind   backend.Kind
	times  int  // that it fails in the fault's time; 0 means once, for all of it
	absent bool // from before the service starts

	// loses says that the backend may lose what it has acknowledged. The report has how much,
	// and the service is not at fault.
	loses bool
}

var faults = []fault{
	{name: "absent", kind: backend.Refuse, absent: true},
	{kind: backend.Refuse},
	{kind: backend.Hang},
	{kind: backend.Slow},
	{kind: backend.Garbage},
	{kind: backend.Forget, times: 3},
	{name: "killed and started", kind: killed, times: 3},
	{kind: diskFull, loses: true},
}

// lying is a server that takes nothing and says that it has. Only HTTP has it: a gateway may
// answer in place of the backend.
var lying = fault{kind: backend.Lie, loses: true}

func (f fault) String() string { return cmp.Or(f.name, string(f.kind)) }

func faultRows() []row {
	var all []row
	for _, b := range []struct {
		name   string
		part   string
		start  start
		faults []fault
	}{
		{"jaeger", faultsPart, addJaeger, faults},
		{"collector", signalsPart, addCollector, faults},
		{"pyroscope", faultsPart, addPyroscope, faults},
		{"jaeger by http", faultsPart, addJaegerByHTTP, []fault{lying}},
		{"pyroscope", faultsPart, addPyroscope, []fault{lying}},
	} {
		for _, f := range b.faults {
			all = append(all, row{name: b.name + "/" + f.String(), part: b.part, start: b.start,
				try: f.try})
		}
	}
	return all
}

// often has batches of spans and log records, and profiles, sent each second: a row is short.
var often = []string{"OTEL_BSP_SCHEDULE_DELAY=1000", "OTEL_BLRP_SCHEDULE_DELAY=1000",
	"PYROSCOPE_UPLOAD_INTERVAL=" + uploadEvery.String()}

func (f fault) try(ctx context.Context, t *trial, set settings) error {
	c := t.bench.failing()
	if f.kind == diskFull {
		if err := c.useSmallDisk(ctx); err != nil {
			return err
		}
	}
	if f.absent {
		if err := c.fail(ctx, f.kind); err != nil {
			return err
		}
	}
	if err := t.begin(ctx, set.rate, 0, often...); err != nil {
		return err
	}
	if err := t.healthyPhase(ctx, set, f.absent); err != nil {
		return err
	}
	if err := t.faultPhase(ctx, c, f, set.length); err != nil {
		return err
	}
	if f.absent { // there is no healthy part
		healthy := t.healthy
		t.healthy = phase{}
		t.faulty.memory, t.faulty.goroutines = max(t.faulty.memory, healthy.memory),
			max(t.faulty.goroutines, healthy.goroutines)
		t.faulty.goroutinesIdle = healthy.goroutinesIdle
	}
	if err := t.recover(ctx, set, c, f); err != nil {
		return err
	}
	return t.settle(ctx, set, !f.loses)
}

// healthyPhase is when all is well; its second half is measured.
func (t *trial) healthyPhase(ctx context.Context, set settings, absent bool) error {
	if _, err := t.phaseOf(ctx, set.well()/2); err != nil {
		return err
	}
	if !absent { // a connection has goroutines, too
		_, err := t.recovers(ctx, "nothing was delivered before the fault",
			func(a service.Account) bool {
				return !slices.ContainsFunc(t.flows,
					func(f *flow) bool { return f.read(a.Stats).Delivered == 0 })
			})
		if err != nil {
			return err
		}
	}
	t.load.Take()
	var err error
	if t.healthy, err = t.phaseOf(ctx, set.well()/2); err != nil {
		return err
	}
	a, err := t.process.Collected(ctx)
	t.heap = a.LiveHeap
	return err
}

// faultPhase plays the fault's schedule, for length at least.
func (t *trial) faultPhase(ctx context.Context, c *component, f fault, length time.Duration) error {
	began := time.Now()
	during, cancel := context.WithCancel(ctx)
	defer cancel()
	var note string
	var playErr error
	over := make(chan struct{})
	go func() {
		defer close(over)
		note, playErr = t.bench.play(during, began, fixed(c.name, f.kind, max(f.times, 1), length))
	}()
	p, err := t.phase(ctx, func(service.Account) bool {
		select {
		case <-over:
			return time.Since(began) >= length
		default:
			return false
		}
	})
	if err != nil { // only one goroutine may start and stop the backend
		cancel()
	}
	<-over
	t.faulty = p
	if f.times > 0 {
		note = fmt.Sprintf("%s %d times", f.kind, f.times)
	}
	if note != "" {
		t.note(note)
		for _, f := range t.flows {
			then, now := f.read(t.healthy.last.Stats), f.read(p.last.Stats)
			f.notes = append(f.notes,
				fmt.Sprintf("%d of %d were taken in that time", now.Delivered-then.Delivered,
					now.Accepted-then.Accepted))
		}
	}
	return errors.Join(err, playErr)
}

// recover waits until what was accepted until now is delivered or lost, and something that is
// accepted from now on is delivered. A process whose disk was full may end some time after there is
// room again: it prints what all its goroutines were doing.
func (t *trial) recover(ctx context.Context, set settings, c *component, f fault) error {
	began := time.Now()
	a, err := t.process.Account(ctx)
	if err != nil {
		return err
	}
	stats, restarted := a.Stats, false
	var notStarted error
	_, err = t.recovers(ctx, "not recovered", func(a service.Account) bool {
		if f.kind == diskFull && notStarted == nil {
			var ended bool
			ended, notStarted = c.startAgain(ctx)
			restarted = restarted || ended
		}
		return notStarted != nil || !slices.ContainsFunc(t.flows, func(f *flow) bool {
			then, now := f.read(stats), f.read(a.Stats)
			return now.Delivered <= then.Delivered || now.Settled() < then.Accepted ||
				now.Accepted <= then.Accepted
		})
	})
	if err = errors.Join(err, notStarted); err != nil {
		return err
	}
	if restarted {
		t.note("it ended, and was started again")
	}
	t.recovered = time.Since(began)
	_, err = t.phaseOf(ctx, max(2*time.Second, set.well()-t.recovered))
	return err
}
