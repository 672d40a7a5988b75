package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/profiling/flight"
)

const (
	unarmed = pipelined + ", flight recorder not armed"
	armed   = pipelined + ", flight recorder armed"
)

// recorders are compared with each other, and not with OpenTelemetry.
var recorders = []variant{
	{none, bare, nothing},
	{pipelined, native, perflineStart(bridge.KeepPolicy{})},
	{unarmed, native, recording(flight.Config{})},
	{armed, native, recording(flight.Config{Armed: true})},
}

// every has all variants: a service's process gets the number of its own.
var every = slices.Concat(variants, recorders)

// recording is perfline.Start with a flight recorder.
func recording(c flight.Config) opener {
	return func(ctx context.Context, s setting) (*pipeline, error) {
		p, err := perfline.Start(ctx, perfline.Config{
			Traces:  perflineTo(s),
			Sampler: s.sampler,
			Waits:   flight.NewRecorder(c),
			Logger:  slog.New(slog.NewTextHandler(os.Stderr, nil)),
		})
		if err != nil {
			return nil, err
		}
		return &pipeline{p.Flush, cleared(p.Shutdown)}, nil
	}
}

// mostArmed is how much more CPU a request may take while the flight recorder is armed: 15 % of what it takes otherwise.
const mostArmed = 1.15

// errLimit is wrapped by errors about figures that are complete, and over a limit. A document gets them, too.
var errLimit = errors.New("over the limit")

// leastRounds are needed for a judgement. Fewer are no measurement.
const leastRounds = 5

// waitsRates are the loads of runWaits, in requests a second; 0 is as many as the service can take.
var waitsRates = []int{0, 1000}

// runWaits measures what the flight recorder costs a whole request, over loopback.
func runWaits(ctx context.Context, o options) error {
	o.peers = false
	fmt.Fprintln(o.out, o.conditions())
	var errs []error
	for _, s := range o.shapes {
		errs = append(errs, waits(ctx, o, s))
	}
	return errors.Join(errs...)
}

func waits(ctx context.Context, o options, s shape) (err error) {
	services, err := startServices(ctx, o, s, recorders)
	defer func() {
		for _, v := range services {
			err = errors.Join(err, v.stop())
		}
	}()
	if err != nil {
		return err
	}
	loads, err := measure(ctx, o, s, services, waitsRates)
	if err != nil {
		return err
	}
	var errs []error
	for _, m := range loads {
		fmt.Fprintf(o.out, "\n%s", m.waitsTable())
		if r := m.recorded(len(recorders) - 1); o.rounds >= leastRounds && r.low > mostArmed {
			fmt.Fprintf(o.out, "\nThis is more than the limit, × %.2f.\n", mostArmed)
			errs = append(errs, fmt.Errorf("%s: %w: an armed flight recorder takes %.2f times the CPU, must be at most %.2f", m.loadTitle(), errLimit, r.median, mostArmed))
		}
	}
	return errors.Join(errs...)
}

// recorded compares the CPU time of whole requests with the time of the same set-up without a recorder.
func (m *measured) recorded(variant int) ratio {
	return ratioOf(m.values(variant, cpuTime), m.values(1, cpuTime))
}

func (m *measured) waitsTable() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| **%s** | CPU | × without a recorder | 95 %% | p50 | p99 |\n|---|---:|---:|---:|---:|---:|\n", m.loadTitle())
	for i, name := range m.names {
		slices.Sort(m.latencies[i])
		compared := "– | –"
		if i > 1 {
			r := m.recorded(i)
			compared = fmt.Sprintf("%.2f | %.2f … %.2f", r.median, r.low, r.high)
		}
		fmt.Fprintf(&b, "| %s | %.1f µs | %s | %v | %v |\n", name, median(m.values(i, cpuTime))/1e3, compared,
			quantile(m.latencies[i], 0.5).Round(time.Microsecond), quantile(m.latencies[i], 0.99).Round(time.Microsecond))
	}
	return b.String()
}
