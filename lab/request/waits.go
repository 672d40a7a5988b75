package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/trace"
	"slices"
	"strings"
	"time"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/waits/flight"
)

const (
	unarmed = pipelined + ", waits recorder not armed"
	armed   = pipelined + ", waits recorder armed"
	traced  = none + ", the runtime's flight recorder alone"
)

// recorders are compared with each other, and not with OpenTelemetry.
var recorders = []variant{
	{none, bare, nothing},
	{pipelined, native, perflineStart(bridge.KeepPolicy{})},
	{unarmed, native, recording(flight.Config{})},
	{armed, native, recording(flight.Config{Armed: true})},
	{traced, bare, tracedAlone},
}

// every has all variants, some twice: a service's process gets the number of its own.
var every = slices.Concat(variants, recorders, boxes, judged)

// recording is perfline.Start with a waits recorder.
func recording(c flight.Config) opener {
	return func(ctx context.Context, s setting) (*pipeline, error) {
		return started(perfline.Config{Waits: flight.NewRecorder(c)})(ctx, s)
	}
}

// tracedAlone is what the runtime itself takes for an armed recorder: no program can have one for
// less.
func tracedAlone(context.Context, setting) (*pipeline, error) {
	r := trace.NewFlightRecorder(
		trace.FlightRecorderConfig{MinAge: 15 * time.Second, MaxBytes: 10 << 20})
	if err := r.Start(); err != nil {
		return nil, err
	}
	return &pipeline{
		flush:    func(context.Context) error { return nil },
		shutdown: func(context.Context) error { r.Stop(); return nil },
	}, nil
}

// waitsRates are the loads of runWaits, in requests a second; 0 is as many as the service can take.
var waitsRates = []int{0, 1000}

// runWaits measures what the waits recorder costs a whole request, over loopback.
func runWaits(ctx context.Context, o options) error {
	o.peers = false
	fmt.Fprintln(o.out, o.conditions())
	for _, s := range o.shapes {
		if err := waits(ctx, o, s); err != nil {
			return err
		}
	}
	return nil
}

func waits(ctx context.Context, o options, s shape) (err error) {
	f, err := startFleet(ctx, o, s, recorders)
	defer func() { err = errors.Join(err, f.stop(ctx)) }()
	if err != nil {
		return err
	}
	loads, err := measure(ctx, o, s, f.services, waitsRates)
	if err != nil {
		return err
	}
	for _, m := range loads {
		fmt.Fprintf(o.out, "\n%s", m.comparedTable("without a recorder"))
		b := ratioBudget(m.figureName(s)+cpuRatioArmed, m.recorded(len(recorders)-2))
		if err := b.figure(o.figures); err != nil {
			return err
		}
	}
	return nil
}

// recorded compares the CPU time of whole requests with the time of the same set-up without a
// recorder.
func (m *measured) recorded(variant int) ratio {
	plain := 1
	if m.names[variant] == traced {
		plain = 0
	}
	return ratioOf(m.values(variant, cpuTime), m.values(plain, cpuTime))
}

// comparedTable compares the variants with the second one, which is without something.
func (m *measured) comparedTable(without string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| **%s** | CPU | × %s | 95 %% | p50 | p99 |\n|---|---:|---:|---:|---:|---:|\n", m.loadTitle(), without)
	for i, name := range m.names {
		slices.Sort(m.latencies[i])
		compared := "– | –"
		if i > 1 {
			r := m.recorded(i)
			compared = fmt.Sprintf("%.2f | %.2f … %.2f", r.median, r.low, r.high)
		}
		fmt.Fprintf(&b, "| %s | %.1f µs | %s | %v | %v |\n", name, median(m.values(i, cpuTime))/1e3,
			compared,
			quantile(m.latencies[i], 0.5).Round(time.Microsecond),
			quantile(m.latencies[i], 0.99).Round(time.Microsecond))
	}
	return b.String()
}
