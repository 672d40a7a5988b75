package main

import (
	"context"
	"fmt"
	"time"

	"github.com/perfline/perfline/integration/backend"
)

// A target is a Collector with something behind it that takes its spans.
type target struct {
	name      string
	collector *backend.Collector
	jaeger    *backend.Jaeger // nil: a receiver that forgets them
	search    *search
	sender    *sender
	sustained []carried // by rising rate
	failed    carried   // of the lowest rate that was not sustained; zero: none
}

// carried is what the target gave at a rate of spans.
type carried struct {
	rate      float64 // asked for, spans a second
	p99       time.Duration
	refused   int           // batches
	unsent    int           // batches
	left      int64         // spans that were in the Collector a second after the end
	cpu       time.Duration // of the Collector, a span
	memory    uint64        // of the Collector, at most
	jaegerCPU time.Duration // a span; 0 without a Jaeger
}

// A rate of spans is sustained if no batch is refused and each is answered within this time.
// After the end, and the same time again, the Collector's queue may hold only the spans of
// the other time.
const (
	sustainedAnswer = time.Second
	heldQueue       = 100 * time.Millisecond
)

func (c carried) why() string {
	switch {
	case c.refused > 0:
		return fmt.Sprintf("%d batches refused", c.refused)
	case c.unsent > 0:
		return fmt.Sprintf("%d batches could not be sent in time", c.unsent)
	case c.p99 > sustainedAnswer:
		return fmt.Sprintf("p99 of the answers %s", duration(c.p99))
	case c.left > int64(heldQueue.Seconds()*c.rate):
		return fmt.Sprintf("%d spans left in its queue", c.left)
	}
	return ""
}

// carry sends spans at the search's next rate, and keeps what it gave.
func (t *target) carry(ctx context.Context, rate float64, length time.Duration) (c carried,
	err error) {
	if err := t.collector.ResetPeak(); err != nil {
		return c, err
	}
	before, err := t.used()
	if err != nil {
		return c, err
	}
	delivered, err := t.delivered(ctx)
	if err != nil {
		return c, err
	}
	r := t.sender.steadily(ctx, rate, length)
	if ctx.Err() != nil {
		return c, context.Cause(ctx)
	}
	want := delivered + int64(r.Answered*t.sender.batch.spans())
	ended := time.Now()
	c = carried{rate: rate, p99: r.P(0.99), refused: r.Failed, unsent: r.Unsent}
	// The rest must leave before the next attempt, or it would count for that one.
	now, late := int64(0), false
	err = backend.Poll(ctx, func() (bool, error) {
		if now, err = t.delivered(ctx); err != nil {
			return false, err
		}
		if !late && time.Since(ended) > sustainedAnswer {
			late, c.left = true, max(0, want-now)
		}
		return now >= want || time.Since(ended) > time.Minute, nil
	})
	if err != nil {
		return c, err
	}
	if now < want {
		return c, fmt.Errorf(
			"%s: of %d spans that the Collector took, %d are not delivered after a minute", t.name,
			want-delivered, want-now)
	}
	after, err := t.used()
	if err != nil {
		return c, err
	}
	spans := time.Duration(max(1, now-delivered))
	c.cpu, c.jaegerCPU, c.memory = (after.collector.CPU-before.collector.CPU)/spans,
		(after.jaeger.CPU-before.jaeger.CPU)/spans, after.collector.Peak
	if c.why() == "" {
		t.sustained = append(t.sustained, c)
	}
	return c, nil
}

// best returns the result of the highest sustained rate.
func (t *target) best() (c carried, ok bool) {
	for _, h := range t.sustained {
		if h.rate > c.rate {
			c, ok = h, true
		}
	}
	return c, ok
}

type usages struct{ collector, jaeger backend.Usage }

func (t *target) used() (u usages, err error) {
	if u.collector, err = t.collector.Usage(); err == nil && t.jaeger != nil {
		u.jaeger, err = t.jaeger.Usage()
	}
	return u, err
}

// delivered is how many spans the Collector has passed on, as it says.
func (t *target) delivered(ctx context.Context) (int64, error) {
	n, err := t.collector.Count(ctx, "otelcol_exporter_sent_spans", "")
	return int64(n), err
}
