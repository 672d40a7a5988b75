package main

import (
	"context"
	"fmt"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

const (
	batchedAlone = "BatchSpanProcessor + otlptrace"
	oursAlone    = "exporter.Delivery"
)

// exporters have the same instrumentation and the same SDK. The first one does nothing with the
// spans, and so the others add what an exporter takes from the end of a span until its client has
// the bytes.
var exporters = []variant{
	{none, contrib, sdk(
		func(context.Context, setting) (sdktrace.SpanProcessor, error) { return discard{}, nil })},
	{batchedAlone, contrib, sdk(batched)},
	{oursAlone, contrib, sdk(ours)},
}

// discard is a processor that does nothing.
type discard struct{}

func (discard) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (discard) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (discard) ForceFlush(context.Context) error                { return nil }
func (discard) Shutdown(context.Context) error                  { return nil }

// runExporter compares what the exporters add to a span.
func runExporter(ctx context.Context, o options) error {
	results, err := diagnose(ctx, o, exporters, o.shapes)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.out, "%s\n\n| exporter | a span of | CPU, ns | × | 95 %% | allocations | bytes allocated |\n|---|---|---:|---:|---:|---:|---:|\n", o.conditions())
	for k, r := range results {
		spans := float64(o.shapes[k].spans)
		if spans == 0 {
			continue
		}
		for i := 1; i < len(r.names); i++ {
			a := r.against(i)
			fmt.Fprintf(o.out, "| %s | %s | %.0f | %.2f | %.2f … %.2f | %.2f | %.0f |\n",
				r.names[i], o.shapes[k].name, median(r.added(i, cpuTime))/spans,
				a.median, a.low, a.high, median(r.added(i, allocations))/spans,
				median(r.added(i, allocated))/spans)
		}
	}
	return addFigures(o, aloneBudgetsOf(o.shapes, results))
}

// aloneBudgets are of the exporters' spans of the first shape.
func aloneBudgets(ctx context.Context, o options) ([]budget, error) {
	results, err := diagnose(ctx, o, exporters, shapes[:1])
	if err != nil {
		return nil, err
	}
	return aloneBudgetsOf(shapes[:1], results), nil
}

func aloneBudgetsOf(ss []shape, results []result) (all []budget) {
	ours := len(exporters) - 1
	for k, r := range results {
		if ss[k].spans == 0 {
			continue
		}
		what := ss[k].name + ", " + oursAlone
		all = append(all,
			ratioBudget(what+cpuRatioAlone, r.against(ours)),
			budget{what + allocationsOfSpan,
				median(r.added(ours, allocations)) / float64(ss[k].spans), ""})
	}
	return all
}
