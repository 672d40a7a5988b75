package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/lab/internal/otlp"
	"github.com/perfline/perfline/observer"
)

// spanMakers make the same spans, and deliver them.
var spanMakers = []variant{
	{none, bare, nothing},
	{"SDK + BatchSpanProcessor + otlptrace", contrib, sdk(batched)},
	{"SDK + our exporter", contrib, sdk(ours)},
	{ownAlone, contrib, ownProvider},
}

const (
	ownAlone     = "bridge.TracerProvider + our exporter"
	cpuRatioSpan = ": CPU time of a span to the wire, × SDK + BatchSpanProcessor + otlptrace"
)

// runSpans compares what spans take from their start to encoded OTLP.
func runSpans(ctx context.Context, o options) error {
	results, err := diagnose(ctx, o, spanMakers, spanShapes)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.out, "%s\n\n| set-up | shape | CPU of a span, ns | × | 95 %% | allocations | bytes allocated |\n|---|---|---:|---:|---:|---:|---:|\n", o.conditions())
	for k, r := range results {
		spans := float64(spanShapes[k].spans)
		for i := 1; i < len(r.names); i++ {
			a := r.against(i)
			fmt.Fprintf(o.out, "| %s | %s | %.0f | %.2f | %.2f … %.2f | %.2f | %.0f |\n",
				r.names[i], spanShapes[k].name, median(r.added(i, cpuTime))/spans,
				a.median, a.low, a.high, median(r.added(i, allocations))/spans,
				median(r.added(i, allocated))/spans)
		}
	}
	cuts, err := cutTimes(ctx, o.cuts)
	if err != nil {
		return err
	}
	end := cuts[len(cuts)-1]
	fmt.Fprintf(o.out, "\nAn End that hands over a part of 512 spans, %d times: median %v, 99th percentile %v, longest %v.\n",
		len(cuts), cuts[len(cuts)/2].Round(time.Microsecond),
		cuts[len(cuts)*99/100].Round(time.Microsecond), end.Round(time.Microsecond))
	return addFigures(o, spanBudgetsOf(results))
}

func spanBudgets(ctx context.Context, o options) (all []budget, err error) {
	results, err := diagnose(ctx, o, spanMakers, spanShapes)
	if err != nil {
		return nil, err
	}
	return spanBudgetsOf(results), nil
}

// spanBudgetsOf are of perfline's provider.
func spanBudgetsOf(results []result) (all []budget) {
	provider := len(spanMakers) - 1
	for k, r := range results {
		all = append(all, ratioBudget(spanShapes[k].name+", "+ownAlone+cpuRatioSpan,
			r.against(provider)))
	}
	return all
}

// part is how many spans a unit hands over at once.
const part = 512

// cutTimes returns how long the calls of End took that handed over one of so many parts, sorted.
func cutTimes(ctx context.Context, parts int) (cuts []time.Duration, err error) {
	d, err := exporter.NewDelivery(exporter.Config{Sender: taking{&otlp.Receiver{}}})
	if err != nil {
		return nil, err
	}
	timeline := observer.NewTimeline(observer.TimelineOptions{})
	tp := bridge.NewTracerProvider(
		bridge.TracerProviderConfig{Timeline: timeline, Exporters: []bridge.Output{d}})
	tracer := tp.Tracer("shop")
	under, root := tracer.Start(ctx, "import")
	for range parts {
		for range part - 1 {
			startAndEnd(under, tracer)
		}
		_, span := tracer.Start(under, "stock.query")
		begin := time.Now()
		span.End()
		cuts = append(cuts, time.Since(begin))
		if err := tp.ForceFlush(ctx); err != nil { // so that the queue has room
			return nil, err
		}
	}
	if n := (*record.Timeline)(timeline).UnitStats().LongUnits; n != uint64(parts) { //nolint:gosec // not negative
		return nil, fmt.Errorf("%d parts of %d spans were handed over, want %d", n, part, parts)
	}
	root.End()
	slices.Sort(cuts)
	return cuts, tp.Shutdown(ctx)
}
