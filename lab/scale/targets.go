package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/perfline/perfline/integration/backend"
)

// lowestSpans is the first rate of spans a second; each further one is twice that before.
const lowestSpans = 5000

// measureTargets sends the batch through a Collector to a receiver that forgets it, which
// is the first target, and through another to a Jaeger, at rising rates and in turns.
func measureTargets(ctx context.Context, o options, b batch,
	say func(string, ...any)) (targets []*target, err error) {
	spans, err := startSink(ctx)
	if err != nil {
		return nil, err
	}
	defer spans.stop()
	jaeger, err := backend.StartJaeger(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, jaeger.Stop()) }()
	for _, t := range []*target{{name: "a receiver that forgets them"},
		{name: "Jaeger, in memory", jaeger: jaeger}} {
		to := spans.address
		if t.jaeger != nil {
			to = strings.TrimPrefix(t.jaeger.OTLPGRPC(), "http://")
		}
		t.collector, err = backend.StartCollector(ctx, backend.CollectorConfig{Jaeger: to})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, t.collector.Stop()) }()
		t.sender, err = newSender(strings.TrimPrefix(t.collector.OTLPGRPC(), "http://"), b)
		if err != nil {
			return nil, err
		}
		defer t.sender.close()
		t.search = newSearch(lowestSpans, o.spans, o.halvings)
		targets = append(targets, t)
	}
	for again := true; again; {
		again = false
		for _, t := range targets {
			rate, more := t.search.rate()
			if !more {
				continue
			}
			again = true
			c, err := t.carry(ctx, rate, o.length)
			if err != nil {
				return nil, err
			}
			if t.search.report(c.why() == "") {
				t.failed = c
			}
			say("the Collector to %s, %s spans/s: %s of CPU a span, %s of memory, %s",
				t.name, number(rate), duration(c.cpu), size(float64(c.memory)),
				sustainedOr(c.why()))
		}
	}
	if _, ok := targets[0].best(); !ok && !o.short { // a busy machine sustains nothing
		return nil, fmt.Errorf("the Collector did not sustain %d spans/s: %s", lowestSpans,
			targets[0].failed.why())
	}
	return targets, nil
}

func sustainedOr(why string) string {
	if why == "" {
		return "sustained"
	}
	return "not sustained: " + why
}
