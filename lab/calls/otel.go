package main

import (
	"context"
	"fmt"

	otelpyroscope "github.com/grafana/otel-profiling-go"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
)

const (
	otelGroup   = "through the provider: perfline's also encodes"
	twoRequests = "the same, 2 goroutines at once in 2 requests"
)

// counting is at the end of both ways: it counts and drops.
type counting struct{ spans, events uint64 }

func (c *counting) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (c *counting) OnEnd(s sdktrace.ReadOnlySpan) {
	c.spans++
	c.events += uint64(len(s.Events()))
}
func (c *counting) Accept(all []bridge.Spans) {
	for _, s := range all {
		c.spans += uint64(s.Count)
	}
}
func (c *counting) Shutdown(context.Context) error   { return nil }
func (c *counting) ForceFlush(context.Context) error { return nil }

// perSpan is how many calls one parent span gets: fewer than a unit hands over at once. So a call's
// time on its goroutine is without hand-over, and its CPU has it. The limit of events of a span is
// lifted for both ways.
const perSpan = 500

// A way is a provider, the SDK's or perfline's, under which spans are made
// with a parent at the given depth of the context.
type way struct {
	end     *counting
	own     *bridge.TracerProvider // nil if the provider is the SDK's
	tracer  trace.Tracer
	depth   int
	parents chan parent // of the bursts, one for each goroutine

	provider interface {
		trace.TracerProvider
		ForceFlush(ctx context.Context) error
		Shutdown(ctx context.Context) error
	}
}

// A parent is an open span, and the context under it.
type parent struct {
	ctx  context.Context //nolint:containedctx // of the calls of a burst
	span trace.Span
}

func newWay(own, sampled bool, depth int) *way {
	w := &way{end: &counting{}, depth: depth}
	limits := sdktrace.NewSpanLimits()
	limits.EventCountLimit = -1
	sampler := sdktrace.ParentBased(sdktrace.NeverSample())
	if sampled {
		sampler = sdktrace.ParentBased(sdktrace.AlwaysSample())
	}
	if own {
		w.own = bridge.NewTracerProvider(bridge.TracerProviderConfig{
			Timeline: quiet(), Sampler: sampler, Limits: &limits, Exporters: []bridge.Output{w.end},
		})
		w.provider = w.own
	} else {
		w.provider = sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler),
			sdktrace.WithRawSpanLimits(limits), sdktrace.WithSpanProcessor(w.end))
	}
	w.tracer = w.provider.Tracer("lab")
	return w
}

// begin starts the parents of a burst on that many goroutines.
func (w *way) begin(procs int) {
	w.parents = make(chan parent, procs)
	for range procs {
		ctx, span := w.tracer.Start(context.Background(), "parent")
		w.parents <- parent{deep(ctx, w.depth-1), span}
	}
}

// settle ends the parents, hands over what was under them, and starts others.
func (w *way) settle() error {
	procs := len(w.parents)
	for range procs {
		(<-w.parents).span.End()
	}
	w.begin(procs)
	return w.provider.ForceFlush(context.Background())
}

// under makes calls under a parent that no other goroutine has.
func (w *way) under(f func(ctx context.Context, n int)) func(int) {
	return func(n int) {
		p := <-w.parents
		f(p.ctx, n)
		w.parents <- p
	}
}

// events and spans check that no item was lost on the way, and that unsampled spans
// made none.
func (w *way) events(sampled bool) func(uint64) error {
	return func(calls uint64) error {
		if !sampled {
			calls = 0
		}
		events := w.end.events
		if w.own != nil {
			events = w.own.Stats().MarkEvents
		}
		if events != calls {
			return fmt.Errorf("%d events arrived, want %d", events, calls)
		}
		return nil
	}
}

func (w *way) spans(sampled bool) func(uint64) error {
	return func(calls uint64) error {
		want := calls + calls/perSpan // with their parents
		if !sampled {
			want = 0
		}
		if w.end.spans != want {
			return fmt.Errorf("%d spans arrived, want %d", w.end.spans, want)
		}
		return nil
	}
}

// spansOf checks that each call made that many.
func (w *way) spansOf(call uint64) func(uint64) error {
	return func(calls uint64) error {
		if want := call * calls; w.end.spans != want {
			return fmt.Errorf("%d spans arrived, want %d", w.end.spans, want)
		}
		return nil
	}
}

func otelMark(ctx context.Context, i int) {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.AddEvent("m", trace.WithAttributes(attribute.String("k", "v"), attribute.Int("n", i)))
	}
}

func otelMeasure(ctx context.Context, tracer trace.Tracer, i int) {
	_, span := tracer.Start(ctx, "t")
	if span.IsRecording() {
		span.SetAttributes(attribute.String("k", "v"), attribute.Int("n", i))
	}
	span.End()
}

func otelMarks(ctx context.Context, _ trace.Tracer, n int) {
	for i := range n {
		otelMark(ctx, i)
	}
}

func otelMeasures(ctx context.Context, tracer trace.Tracer, n int) {
	for i := range n {
		otelMeasure(ctx, tracer, i)
	}
}

// ours makes an operation one that takes a tracer, as OpenTelemetry's need it.
func ours(op operation) func(context.Context, trace.Tracer, int) {
	return func(ctx context.Context, _ trace.Tracer, n int) { op(ctx, n) }
}

func otelRows() (rows []*row) {
	for _, r := range []struct {
		name         string
		own, sampled bool
		procs, depth int
		events       bool // the calls make events, not spans
		op           func(context.Context, trace.Tracer, int)
		wrap         func(trace.TracerProvider) trace.TracerProvider
	}{
		{"perfline `Mark`, 2 attributes, depth 5", true, true, 1, 5, true, ours(mark2), nil},
		{twoRequests, true, true, 2, 5, true, ours(mark2), nil},
		{"perfline `Mark`", true, true, 1, 1, true, ours(mark0), nil},
		{"perfline `Mark`, 4 attributes, depth 10", true, true, 1, 10, true, ours(mark4), nil},
		{"OpenTelemetry `AddEvent`, 2 attributes, depth 5", false, true, 1, 5, true, otelMarks,
			nil},
		{"perfline `Time…End`, 2 attributes", true, true, 1, 1, false, ours(timeEnd2), nil},
		{"perfline `Time…End`", true, true, 1, 1, false, ours(timeEnd0), nil},
		{"perfline `Start…End`, 2 attributes", true, true, 1, 1, false, ours(startEnd2), nil},
		{"OpenTelemetry `Start`/`End`, 2 attributes", false, true, 1, 1, false, otelMeasures, nil},
		{"the same with otel-profiling-go", false, true, 1, 1, false, otelMeasures, profiled},
		{"perfline `Mark`, unsampled", true, false, 1, 1, true, ours(mark2), nil},
		{"OpenTelemetry `AddEvent` if `IsRecording`, unsampled", false, false, 1, 1, true,
			otelMarks, nil},
		{"perfline `Time…End`, unsampled", true, false, 1, 1, false, ours(timeEnd2), nil},
		{"OpenTelemetry `Start`/`End`, unsampled", false, false, 1, 1, false, otelMeasures, nil},
	} {
		rows = append(rows, &row{group: otelGroup, name: r.name, procs: r.procs,
			open: func() (*bench, error) {
				w := newWay(r.own, r.sampled, r.depth)
				if r.wrap != nil {
					w.tracer = r.wrap(w.provider).Tracer("lab")
				}
				w.begin(r.procs)
				b := &bench{burst: perSpan, settle: w.settle,
					close: func() error { return w.provider.Shutdown(context.Background()) }}
				b.op = w.under(func(ctx context.Context, n int) { r.op(ctx, w.tracer, n) })
				b.check = w.spans(r.sampled)
				if r.events {
					b.check = w.events(r.sampled)
				}
				return b, nil
			}})
	}
	return rows
}

func profiled(tp trace.TracerProvider) trace.TracerProvider {
	return otelpyroscope.NewTracerProvider(tp)
}
