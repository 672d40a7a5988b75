package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perfline/perfline/integration/trial"
)

// A fault is a way to fail.
type fault struct {
	name string

	// before is done before the service starts.
	before func(context.Context, *subject) error

	// during lasts until ctx is over. What it returns is told in the table.
	during func(context.Context, *subject) (note string, err error)

	// after makes all well again.
	after func(context.Context, *subject) (note string, err error)

	// durable is false where the backend may lose what it has acknowledged, which is told,
	// not held against the service.
	durable bool
}

// The disk that gets full has room for a healthy third of the time.
const diskSize = 256 << 20

var faults = []fault{
	{name: "absent", before: mode(trial.Mode{Kind: trial.Refuse}), during: lasts, after: pass, durable: true},
	broken(trial.Mode{Kind: trial.Refuse}),
	broken(trial.Mode{Kind: trial.Hang}),
	// A second for each answer, and less than a batch of spans takes in that time.
	broken(trial.Mode{Kind: trial.Slow, Delay: time.Second, BytesPerSecond: 50_000}),
	broken(trial.Mode{Kind: trial.Garbage}),
	{name: "killed and started", during: restarts, after: pass, durable: true},
	{name: "disk full", before: smallDisk, during: fullDisk, after: spaceAgain},
}

// lying is a server that takes nothing and says that it has: what is counted as delivered
// is what it said. Only of HTTP, which a gateway may answer in place of the backend.
var lying = fault{name: string(trial.Lie), after: pass, during: func(ctx context.Context, s *subject) (string, error) {
	if err := s.proxy.Set(trial.Mode{Kind: trial.Lie}); err != nil {
		return "", err
	}
	<-ctx.Done()
	return "it said 200 to all", nil
}}

func broken(m trial.Mode) fault {
	return fault{name: string(m.Kind), durable: true, after: pass, during: func(ctx context.Context, s *subject) (string, error) {
		if err := s.proxy.Set(m); err != nil {
			return "", err
		}
		return lasts(ctx, s)
	}}
}

func mode(m trial.Mode) func(context.Context, *subject) error {
	return func(_ context.Context, s *subject) error { return s.proxy.Set(m) }
}

func pass(_ context.Context, s *subject) (string, error) {
	return "", s.proxy.Set(trial.Mode{Kind: trial.Pass})
}

func lasts(ctx context.Context, _ *subject) (string, error) {
	<-ctx.Done()
	return "", nil
}

// kills is how often the backend is killed in the fault's time.
const kills = 3

// restarts kills the backend, starts it at once, and has it work for a while.
func restarts(ctx context.Context, s *subject) (string, error) {
	deadline, _ := ctx.Deadline()
	each := time.Until(deadline) / kills
	// Half of the time it is away: it is started, whatever time is left.
	alive := context.WithoutCancel(ctx)
	n := 0
	for ; n < kills && !errors.Is(ctx.Err(), context.Canceled); n++ {
		if err := s.kill(alive); err != nil {
			return "", err
		}
		pause(ctx, each/2)
		if err := s.again(alive); err != nil {
			return "", err
		}
		pause(ctx, each/2)
	}
	return fmt.Sprintf("killed %d times", n), nil
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// errNotMade is of a fault that this machine does not allow.
var errNotMade = errors.New("not made")

// smallDisk starts the backend again with its folder on a disk of its own.
func smallDisk(ctx context.Context, s *subject) error {
	if err := s.process.Kill(); err != nil {
		return err
	}
	if err := mount(s.process.Dir(), diskSize); err != nil {
		return fmt.Errorf("%w: %w", errNotMade, err)
	}
	s.mounted = true
	return s.process.Start(ctx)
}

// fullDisk leaves no room on that disk. What a Collector passes on at once needs none, so
// that has nowhere to pass it on to.
func fullDisk(ctx context.Context, s *subject) (string, error) {
	note := "its disk was full"
	if s.next != nil {
		if err := s.next.Set(trial.Mode{Kind: trial.Refuse}); err != nil {
			return "", err
		}
		note += " and its Jaeger away"
	}
	if err := fill(s.process.Dir()); err != nil {
		return "", err
	}
	<-ctx.Done()
	if !s.process.Running() {
		return note + ": it ended", nil
	}
	return note + ": it stayed up", nil
}

// spaceAgain makes room, and starts the backend again if it has ended.
func spaceAgain(ctx context.Context, s *subject) (string, error) {
	if s.next != nil {
		if err := s.next.Set(trial.Mode{Kind: trial.Pass}); err != nil {
			return "", err
		}
	}
	if err := empty(s.process.Dir()); err != nil {
		return "", err
	}
	if s.process.Running() {
		return "", nil
	}
	return "started again", s.process.Start(ctx)
}
