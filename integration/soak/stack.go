package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/integration/trial"
)

// service is the name that its spans and profiles have.
const service = "soak"

// A stack is the three components, each behind a proxy: the service delivers its spans
// to the Collector, that to Jaeger, and the service its profiles to Pyroscope.
type stack struct {
	jaeger    *backend.Jaeger
	collector *backend.Collector
	pyroscope *backend.Pyroscope
	proxies   map[component]*trial.Proxy
	stops     []func() error // in the order of the starts
}

func startStack(ctx context.Context) (_ *stack, err error) {
	s := &stack{proxies: map[component]*trial.Proxy{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	front := func(c component, address string) (*trial.Proxy, error) {
		p, err := trial.NewProxy(ctx, address)
		if err != nil {
			return nil, err
		}
		s.proxies[c] = p
		s.stops = append(s.stops, p.Close)
		return p, nil
	}
	if s.jaeger, err = backend.StartJaeger(ctx); err != nil {
		return nil, err
	}
	s.stops = append(s.stops, s.jaeger.Stop)
	before, err := front(jaegerComponent, s.jaeger.OTLPGRPC())
	if err != nil {
		return nil, err
	}
	if s.collector, err = backend.StartCollector(ctx, backend.CollectorConfig{Jaeger: before.Address()}); err != nil {
		return nil, err
	}
	s.stops = append(s.stops, s.collector.Stop)
	if _, err = front(collectorComponent, s.collector.OTLPGRPC()); err != nil {
		return nil, err
	}
	if s.pyroscope, err = backend.StartPyroscope(ctx); err != nil {
		return nil, err
	}
	s.stops = append(s.stops, s.pyroscope.Stop)
	_, err = front(pyroscopeComponent, s.pyroscope.URL())
	return s, err
}

// env is the service's: all else is perfline's default.
func (s *stack) env(uploads time.Duration) []string {
	return []string{
		"OTEL_SERVICE_NAME=" + service,
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + s.proxies[collectorComponent].URL(),
		"PYROSCOPE_SERVER_ADDRESS=" + s.proxies[pyroscopeComponent].URL(),
		"PYROSCOPE_UPLOAD_INTERVAL=" + uploads.String(),
	}
}

func (s *stack) stop() error {
	var err error
	for i := len(s.stops) - 1; i >= 0; i-- {
		err = errors.Join(err, s.stops[i]())
	}
	return err
}

// process is what can be killed and started again.
func (s *stack) process(c component) interface {
	Kill() error
	Start(context.Context) error
} {
	switch c {
	case jaegerComponent:
		return s.jaeger
	case collectorComponent:
		return s.collector
	default:
		return s.pyroscope
	}
}

// slowly is a second for each answer, and less than the spans and profiles need.
var slowly = trial.Mode{Kind: trial.Slow, Delay: time.Second, BytesPerSecond: 20_000}

// begin makes the component fail, and end makes it well again. Each component has one
// episode at a time.
func (s *stack) begin(e episode) error {
	switch e.kind {
	case killed:
		return s.process(e.component).Kill()
	case trial.Slow:
		return s.proxies[e.component].Set(slowly)
	default:
		return s.proxies[e.component].Set(trial.Mode{Kind: e.kind})
	}
}

func (s *stack) end(ctx context.Context, e episode) error {
	if e.kind == killed {
		if err := s.process(e.component).Start(ctx); err != nil {
			return fmt.Errorf("%s after it was killed: %w", e.component, err)
		}
		return nil
	}
	return s.proxies[e.component].Set(trial.Mode{Kind: trial.Pass})
}

// play plays the episodes, each component's one after the other, and returns when all of
// them are over. When ctx is over the rest is left out.
func (s *stack) play(ctx context.Context, began time.Time, episodes []episode, say func(string)) error {
	errs := make(chan error, len(components))
	for _, c := range components {
		go func() {
			errs <- func() error {
				for _, e := range episodes {
					if e.component != c {
						continue
					}
					if !until(ctx, began.Add(e.begin)) {
						return nil
					}
					say(fmt.Sprintf("%s: %s", e.component, e.kind))
					if err := s.begin(e); err != nil {
						return err
					}
					until(ctx, began.Add(e.end())) // whatever happens, it ends
					say(fmt.Sprintf("%s: well again", e.component))
					if err := s.end(context.WithoutCancel(ctx), e); err != nil {
						return err
					}
				}
				return nil
			}()
		}()
	}
	var all error
	for range components {
		all = errors.Join(all, <-errs)
	}
	return all
}

// until waits until a time, and reports false if ctx is over before.
func until(ctx context.Context, at time.Time) bool {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
