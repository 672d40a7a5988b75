package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/perfline/perfline/integration/backend"
)

// lowest is the first rate, in requests a second; each further one is twice that before.
const lowest = 100

// curve is what the services gave, at every rate.
type curve struct {
	subjects []*subject // those of curveWays with 1 … all processors, and furtherWays with all
	rate     int        // at which all ways are compared
}

// processors are the numbers of them that the service is run with: 1, 2, 4 … and all.
func processors(all int) (counts []int) {
	for n := 1; n < all; n *= 2 {
		counts = append(counts, n)
	}
	return append(counts, all)
}

// measureCurve starts all services, and puts them under load in turns.
func measureCurve(ctx context.Context, o options, say func(string, ...any)) (c *curve, err error) {
	spans, err := startSink(ctx, false)
	if err != nil {
		return nil, err
	}
	defer spans.stop()
	collector, err := backend.StartCollector(ctx, backend.CollectorConfig{Jaeger: spans.address})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, collector.Stop()) }()
	pyroscope, err := backend.StartPyroscope(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, pyroscope.Stop()) }()

	c = &curve{rate: o.rate}
	defer func() {
		for _, s := range c.subjects {
			err = errors.Join(err, s.stop())
		}
	}()
	start := func(w way, procs int) error {
		s, err := startSubject(ctx, w, procs, o.wait, spans, collector.OTLPGRPC(), pyroscope.URL())
		if err != nil {
			return err
		}
		c.subjects = append(c.subjects, s)
		// Pools, connections and the heap become what they stay; the sample is not kept.
		_, err = s.measure(ctx, lowest, min(o.length, time.Second))
		clear(s.samples)
		return err
	}
	all := runtime.NumCPU()
	for _, procs := range processors(all) {
		for _, w := range curveWays {
			if err := start(w, procs); err != nil {
				return nil, err
			}
		}
	}
	for _, s := range c.subjects {
		s.search = newSearch(lowest, float64(o.highest), o.halvings)
	}
	if err := c.climb(ctx, o, say); err != nil {
		return nil, err
	}
	if err := c.repeat(ctx, o, say); err != nil {
		return nil, err
	}
	for _, w := range furtherWays {
		if err := start(w, all); err != nil {
			return nil, err
		}
	}
	return c, c.compare(ctx, o, all, say)
}

// climb takes turns until every search has ended.
func (c *curve) climb(ctx context.Context, o options, say func(string, ...any)) error {
	for again := true; again; {
		again = false
		for _, s := range c.subjects {
			rate, more := s.search.rate()
			if !more {
				continue
			}
			again = true
			m, err := s.measure(ctx, int(rate), o.length)
			if err != nil {
				return err
			}
			if s.search.report(m.why() == "") {
				s.failed = m
			}
			say("%s", s.progress(m))
		}
	}
	return nil
}

// repeat measures the doubled rates that were held, round after round.
func (c *curve) repeat(ctx context.Context, o options, say func(string, ...any)) error {
	for range o.rounds - 1 {
		for rate := lowest; rate <= o.highest; rate *= 2 {
			for _, s := range c.subjects {
				if float64(rate) > s.search.held {
					continue
				}
				m, err := s.measure(ctx, rate, o.length)
				if err != nil {
					return err
				}
				say("%s", s.progress(m))
			}
		}
	}
	return nil
}

// compare measures all ways at one rate, with all processors, in turns.
func (c *curve) compare(ctx context.Context, o options, procs int, say func(string, ...any)) error {
	for range o.rounds {
		for _, s := range c.subjects {
			if s.procs != procs {
				continue
			}
			m, err := s.measure(ctx, c.rate, o.length)
			if err != nil {
				return err
			}
			say("%s", s.progress(m))
		}
	}
	return nil
}

func (s *subject) progress(m sample) string {
	text := fmt.Sprintf("%d processors, %s, %d requests/s: p99 %s, %s of CPU a request", s.procs, s.way.name, m.rate, duration(m.p99), duration(m.cpu))
	if why := m.why(); why != "" {
		text += "; not held: " + why
	}
	return text
}

// find is the service of that way with so many processors.
func (c *curve) find(name string, procs int) *subject {
	i := slices.IndexFunc(c.subjects, func(s *subject) bool { return s.way.name == name && s.procs == procs })
	if i < 0 {
		panic(fmt.Sprintf("no service is run %s with %d processors", name, procs))
	}
	return c.subjects[i]
}

// rates are those that were measured with a doubling, and held by one at least.
func (c *curve) rates() (rates []int) {
	top := 0.0
	for _, s := range c.subjects {
		if s.search != nil {
			top = max(top, s.search.held)
		}
	}
	for rate := lowest; float64(rate) <= top; rate *= 2 {
		rates = append(rates, rate)
	}
	return rates
}

// machine says where the figures are from.
func machine() string {
	model := "an unknown processor"
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%d cores (%s), %s, %s/%s", runtime.NumCPU(), model, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// heldAt is the highest rate that was held, and what it gave there.
func (s *subject) heldAt() (m sample, ok bool) {
	if s.search == nil || s.search.held == 0 {
		return m, false
	}
	return s.at(int(math.Round(s.search.held)))
}
