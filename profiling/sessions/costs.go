package sessions

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/spanlabels"
)

const (
	costRounds = 16
	costBatch  = 32
)

// measureCosts measures what a session, whose sampler runs, makes the program pay for an entry
// that nobody else wants, and for labelling a goroutine for a span. It takes about a millisecond.
func measureCosts() costs {
	var c costs
	tl := observer.NewTimeline(observer.TimelineOptions{BufferSize: -1})
	obs, err := tl.Observe(func(observer.List) {}, observer.Options{Type: observer.Mark})
	if err == nil { // a callback and a type are given
		attrs := []slog.Attr{slog.String("key", "value"), slog.Int("n", 1)}
		c.entry = median(func() {
			tl.Record(observer.Mark, "cost", tl.Now(), 0, attrs)
		})
		obs.Disconnect()
	}
	sc := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled})
	c.label = median(func() { spanlabels.Set(context.Background(), sc, "cost", true).End("") })
	return c
}

// median is the median time of a call: what came between in a few batches does not count.
func median(f func()) time.Duration {
	times := make([]time.Duration, costRounds)
	for i := range times {
		began := time.Now()
		for range costBatch {
			f()
		}
		times[i] = time.Since(began) / costBatch
	}
	slices.Sort(times)
	return times[len(times)/2]
}

// A demand tells which entries are recorded for others than the session.
type demand struct {
	observed map[observer.Type]bool // by other observers
	spans    bool                   // that every span labels its goroutine, by other profilers
}

// demandOf is the demand before the session observes anything.
func demandOf(tl *observer.Timeline) demand {
	d := demand{observed: map[observer.Type]bool{}, spans: spanlabels.Wanted() == spanlabels.EverySpan}
	for _, t := range observer.SupportedEntryTypes() {
		d.observed[t] = tl.Observed(t)
	}
	return d
}

// ours reports whether nothing but the session wanted an entry.
func (d *demand) ours(e *observer.Entry) bool {
	if d.observed[e.Type()] {
		return false
	}
	switch e.Type() {
	case observer.GC, observer.Navigation: // made for observers only
		return true
	default: // the timeline keeps the others, or a trace has them
		return e.Span().ObserversOnly
	}
}
