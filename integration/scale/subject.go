package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perfline/perfline/integration/trial"
)

// A subject is the service, run in one way with so many processors, in front of the
// Collector: with a proxy of its own between them, which counts bytes. It runs as long as
// the others do, idle while it is not its turn.
type subject struct {
	way     way
	procs   int
	wait    time.Duration // of spans in the service for their batch, at most
	service *trial.Service
	proxy   *trial.Proxy
	spans   *sink // behind the Collector
	search  *search
	samples map[int][]sample // by the rate that was asked for
	failed  sample           // of the lowest rate that was not held; zero: none
}

// A sample is what one time under load gave.
type sample struct {
	rate     int           // asked for, requests a second
	reached  float64       // answered in that time, a second
	p50, p99 time.Duration // since the request was due
	failed   int           // requests
	backlog  int           // requests that were due and not answered at the end
	cpu      time.Duration // of the service's process, a request
	memory   uint64        // of the service's process, at most
	spans    float64       // at the Collector's receiver, a request
	wire     float64       // bytes from the service to the Collector, a request
	lost     int           // spans
}

// What a rate must give to be held: the requests wait no longer than this, no request
// fails and no span is lost.
const (
	heldP99     = 100 * time.Millisecond
	heldBacklog = 100 * time.Millisecond // of requests: so many may be unanswered at the end
)

// inCollector is how much longer than in the service spans wait on their way to where they
// are counted.
const inCollector = 400 * time.Millisecond

// why says why the rate was not held; empty: it was.
func (s sample) why() string {
	switch {
	case s.failed > 0:
		return fmt.Sprintf("%d requests failed", s.failed)
	case s.backlog > max(2, int(heldBacklog.Seconds()*float64(s.rate))):
		return fmt.Sprintf("%d requests waited at the end", s.backlog)
	case s.p99 > heldP99:
		return fmt.Sprintf("p99 %s", duration(s.p99))
	case s.lost > 0:
		return fmt.Sprintf("%d spans lost", s.lost)
	}
	return ""
}

// startSubject starts the service. traces and profiles are where the Collector and
// Pyroscope are; profiles may be empty when the way needs none.
func startSubject(ctx context.Context, w way, procs int, wait time.Duration, spans *sink, traces, profiles string) (*subject, error) {
	p, err := trial.NewProxy(ctx, traces)
	if err != nil {
		return nil, err
	}
	s := &subject{way: w, procs: procs, wait: wait, proxy: p, spans: spans, samples: map[int][]sample{}}
	s.service, err = trial.StartService(ctx, trial.ServiceConfig{
		Telemetry: w.telemetry, InUse: inUse, Env: w.environment(procs, wait, p.URL(), profiles),
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", w.name, err), p.Close())
	}
	return s, nil
}

// stop ends the service. What it says at its end is not needed.
func (s *subject) stop() error { return errors.Join(s.service.Kill(), s.proxy.Close()) }

// measure puts the service under load, waits for its spans and keeps the sample.
func (s *subject) measure(ctx context.Context, rate int, length time.Duration) (sample, error) {
	before, err := s.service.Account(ctx)
	if err != nil {
		return sample{}, err
	}
	arrived, up := s.spans.spans.Load(), s.sent()
	load := trial.StartLoad(s.service.URL(), rate)
	whole := sleep(ctx, length)
	backlog := load.Backlog()
	inTime := load.Take()
	late := load.Stop()
	if !whole {
		return sample{}, context.Cause(ctx)
	}
	answered := inTime.Answered + late.Answered
	if answered == 0 {
		return sample{}, fmt.Errorf("%s: no request of %d a second was answered: %v %v", s.way.name, rate, inTime.Errors, late.Errors)
	}
	// All ways get the same time after the load, whatever they do in it: what the process
	// takes when idle is in the figures of all alike.
	if !sleep(ctx, s.wait+inCollector) {
		return sample{}, context.Cause(ctx)
	}
	after, err := s.service.Account(ctx)
	if err != nil {
		return sample{}, err
	}
	want := int64(answered * s.way.spans)
	got, err := s.spans.settled(ctx, arrived+want, s.wait+inCollector)
	if err != nil {
		return sample{}, err
	}
	latencies := slices.Concat(inTime.Latencies, late.Latencies)
	slices.Sort(latencies)
	m := sample{
		rate:    rate,
		reached: float64(inTime.Answered) / length.Seconds(),
		p50:     quantile(latencies, 0.5),
		p99:     quantile(latencies, 0.99),
		failed:  inTime.Failed + late.Failed,
		backlog: backlog,
		cpu:     (after.CPU - before.CPU) / time.Duration(answered),
		memory:  after.MemoryPeak,
		spans:   float64(got-arrived) / float64(answered),
		wire:    float64(s.sent()-up) / float64(answered),
		lost:    int(max(0, arrived+want-got)),
	}
	s.samples[rate] = append(s.samples[rate], m)
	return m, nil
}

// sent is how many bytes have gone to the Collector.
func (s *subject) sent() int64 {
	up, _ := s.proxy.Bytes()
	return up
}

// at is the sample of that rate whose every value is the median of the rounds', of those
// that were held if any were. ok is false if there is none.
func (s *subject) at(rate int) (m sample, ok bool) {
	all := s.samples[rate]
	held := slices.DeleteFunc(slices.Clone(all), func(m sample) bool { return m.why() != "" })
	if len(held) == 0 {
		held = all
	}
	if len(held) == 0 {
		return m, false
	}
	return medians(held), true
}

func medians(all []sample) sample {
	return sample{
		rate:    all[0].rate,
		reached: median(all, func(m sample) float64 { return m.reached }),
		p50:     time.Duration(median(all, func(m sample) float64 { return float64(m.p50) })),
		p99:     time.Duration(median(all, func(m sample) float64 { return float64(m.p99) })),
		failed:  int(median(all, func(m sample) float64 { return float64(m.failed) })),
		backlog: int(median(all, func(m sample) float64 { return float64(m.backlog) })),
		cpu:     time.Duration(median(all, func(m sample) float64 { return float64(m.cpu) })),
		memory:  uint64(median(all, func(m sample) float64 { return float64(m.memory) })),
		spans:   median(all, func(m sample) float64 { return m.spans }),
		wire:    median(all, func(m sample) float64 { return m.wire }),
		lost:    int(median(all, func(m sample) float64 { return float64(m.lost) })),
	}
}

func median[T any](all []T, of func(T) float64) float64 {
	values := make([]float64, len(all))
	for i, v := range all {
		values[i] = of(v)
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
