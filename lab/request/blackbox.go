package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/perfline/perfline"
)

const boxed = pipelined + ", black box"

// boxes are compared with each other, and not with OpenTelemetry.
var boxes = []variant{
	{none, bare, nothing},
	{pipelined, native, started(perfline.Config{})},
	{boxed, native, withBlackBox},
}

// withBlackBox is perfline.Start with a black box in a directory of its own.
func withBlackBox(ctx context.Context, s setting) (*pipeline, error) {
	dir, err := os.MkdirTemp("", "blackbox")
	if err != nil {
		return nil, err
	}
	p, err := started(perfline.Config{BlackBox: dir})(ctx, s)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	shutdown := p.shutdown
	p.shutdown = func(ctx context.Context) error {
		return errors.Join(shutdown(ctx), os.RemoveAll(dir))
	}
	return p, nil
}

// runBlackBox measures what the black box costs a whole request whose handler works, over loopback.
func runBlackBox(ctx context.Context, o options) (err error) {
	o.peers = false
	fmt.Fprintln(o.out, o.conditions())
	f, err := startFleet(ctx, o, working, boxes)
	defer func() { err = errors.Join(err, f.stop(ctx)) }()
	if err != nil {
		return err
	}
	loads, err := measure(ctx, o, working, f.services, waitsRates)
	if err != nil {
		return err
	}
	for _, m := range loads {
		fmt.Fprintf(o.out, "\n%s", m.comparedTable("without a black box"))
		b := ratioBudget(m.figureName(working)+cpuRatioBoxed,
			m.recorded(slices.Index(m.names, boxed)))
		if err := b.figure(o.figures); err != nil {
			return err
		}
	}
	return nil
}
