package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/perfline/perfline/lab/internal/process"
)

// rates are the loads of the report in requests a second; 0 is as many as the service can take.
var rates = []int{0, 100, 1000, 5000}

// A measured is what a service's process took under one load.
type measured struct {
	result
	rate      int
	latencies [][]time.Duration // by service
	reached   float64           // requests a second, the least
}

// report measures services in processes of their own, with their receivers and the load in this
// one, and prints a table for each load.
func report(ctx context.Context, o options, s shape) (err error) {
	f, err := startFleet(ctx, o, s, variants)
	defer func() { err = errors.Join(err, f.stop(ctx)) }()
	if err != nil {
		return err
	}
	loads, err := measure(ctx, o, s, f.services, rates)
	if err != nil {
		return err
	}
	switches, err := idle(ctx, f.services, o.idle)
	if err != nil {
		return err
	}
	for _, m := range loads {
		fmt.Fprintf(o.out, "\n%s", m.table())
	}
	fmt.Fprintf(o.out, "\n%s", idleTable(f.services, switches, o.idle))
	return addFigures(o, reportBudgets(s, loads))
}

// reportBudgets compares what the variants add, and has no promises.
func reportBudgets(s shape, loads []*measured) (all []budget) {
	for _, m := range loads {
		for i := 2; i < len(m.names); i++ {
			all = append(all, ratioBudget(m.names[i]+", "+m.figureName(s)+cpuRatio, m.against(i)))
		}
	}
	return all
}

// measure loads the services in rounds: in each, every service has its turn at every rate.
func measure(ctx context.Context, o options, s shape, services []*served, rates []int) ([]*measured,
	error) {
	var loads []*measured
	for _, rate := range rates {
		loads = append(loads, newMeasured(s.title, rate, services))
	}
	for round := range o.rounds {
		for _, m := range loads {
			for k := range services {
				i := (k + round) % len(services)
				if err := m.turn(ctx, i, services[i], o.length); err != nil {
					return nil, fmt.Errorf("%s, %s: %w", s.name, services[i].name, err)
				}
			}
		}
		fmt.Fprintf(os.Stderr, "\r%s: round %d of %d ", s.name, round+1, o.rounds)
	}
	fmt.Fprintln(os.Stderr)
	return loads, nil
}

func newMeasured(title string, rate int, services []*served) *measured {
	m := &measured{rate: rate, latencies: make([][]time.Duration, len(services)),
		result: result{title: title, samples: make([][]sample, len(services))}}
	for _, v := range services {
		m.names = append(m.names, v.name)
	}
	return m
}

// turn loads a service for the given length, after a part of it that is not measured.
func (m *measured) turn(ctx context.Context, i int, v *served, length time.Duration) error {
	var latencies []time.Duration
	got, reached, err := window(ctx, v, length,
		func(length time.Duration) (n int, lasted time.Duration, err error) {
			latencies, lasted, err = v.load(ctx, m.rate, length)
			return len(latencies), lasted, err
		})
	if err != nil {
		return err
	}
	m.latencies[i] = append(m.latencies[i], latencies...)
	m.add(i, got, reached)
	return nil
}

// add adds what a variant took in a turn, and the rate that was reached.
func (m *measured) add(variant int, got sample, reached float64) {
	m.samples[variant] = append(m.samples[variant], got)
	if m.reached == 0 || reached < m.reached {
		m.reached = reached
	}
}

// window measures what a service's process takes for a request while drive loads it, after a part
// of the length that is not measured. It waits until every span has arrived, before and after.
func window(ctx context.Context, v *served, length time.Duration,
	drive func(time.Duration) (int, time.Duration, error)) (got sample, reached float64,
	err error) {
	if _, _, err := drive(length / 5); err != nil {
		return got, 0, err
	}
	before, wire, err := v.used(ctx)
	if err != nil {
		return got, 0, err
	}
	n, lasted, err := drive(length)
	if err != nil {
		return got, 0, err
	}
	after, read, err := v.used(ctx)
	if err != nil {
		return got, 0, err
	}
	got = perRequest(after.Since(before), n)
	got.wire = float64(read-wire) / float64(n)
	return got, float64(n) / lasted.Seconds(), nil
}

// perRequest divides what n requests have used.
func perRequest(used process.Usage, n int) sample {
	return sample{
		cpu:         float64(used.CPU) / float64(n),
		allocations: float64(used.Allocations) / float64(n),
		bytes:       float64(used.Bytes) / float64(n),
		collections: float64(used.Collections) / float64(n),
	}
}

// figureName names the kind of requests and the load.
func (m *measured) figureName(s shape) string {
	if m.rate == 0 {
		return s.name + ", flat out"
	}
	return fmt.Sprintf("%s, %d/s", s.name, m.rate)
}

// loadTitle names the load, and the rate that was reached where the machine did not keep up.
func (m *measured) loadTitle() string {
	switch {
	case m.rate == 0:
		return m.title + ", flat out"
	case m.reached < 0.97*float64(m.rate):
		return fmt.Sprintf("%s, %d/s (the slowest reached %.0f/s)", m.title, m.rate, m.reached)
	}
	return fmt.Sprintf("%s, %d/s", m.title, m.rate)
}

func (m *measured) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| **%s** | CPU | added | × reference | 95 %% | p50 | p99 | bytes on the wire |\n|---|---:|---:|---:|---:|---:|---:|---:|\n", m.loadTitle())
	for i, name := range m.names {
		slices.Sort(m.latencies[i])
		wire := median(m.values(i, func(s sample) float64 { return s.wire }))
		fmt.Fprintf(&b, "| %s | %.1f µs | %s | %v | %v | %.0f |\n", name,
			median(m.values(i, cpuTime))/1e3, m.addedTime(i),
			quantile(m.latencies[i], 0.5).Round(time.Microsecond),
			quantile(m.latencies[i], 0.99).Round(time.Microsecond), wire)
	}
	return b.String()
}

// idle counts the voluntary context switches of all services while they have nothing to do. It lets
// them rest before, for as long.
func idle(ctx context.Context, services []*served, length time.Duration) ([]int64, error) {
	fmt.Fprintf(os.Stderr, "idle for %v\n", length)
	switches := make([]int64, len(services))
	for _, v := range services {
		v.quiet()
	}
	if err := sleep(ctx, length); err != nil {
		return nil, err
	}
	for i, v := range services {
		u, _, err := v.used(ctx)
		if err != nil {
			return nil, err
		}
		switches[i] = -u.Switches
	}
	if err := sleep(ctx, length); err != nil {
		return nil, err
	}
	for i, v := range services {
		u, _, err := v.used(ctx)
		if err != nil {
			return nil, err
		}
		switches[i] += u.Switches
	}
	return switches, nil
}

func sleep(ctx context.Context, length time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(length):
		return nil
	}
}

func idleTable(services []*served, switches []int64, length time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| idle for %v | voluntary context switches | added |\n|---|---:|---:|\n",
		length)
	for i, v := range services {
		fmt.Fprintf(&b, "| %s | %d | %+d |\n", v.name, switches[i], switches[i]-switches[0])
	}
	return b.String()
}
