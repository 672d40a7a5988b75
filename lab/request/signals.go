package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"runtime"
	"strings"

	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/lab/internal/otlp"
)

// A signalRow is a form that perfline's data may have beside spans. Its set-up is the one of the
// row beside, and one thing more: the difference is what the signal costs.
type signalRow struct {
	name   string
	beside string // "" for the first one of a shape, which only others are compared with
	shape  shape
	open   opener
}

const (
	plain              = "http.server.request.duration, no exemplars"
	exemplars          = "exemplars of http.server.request.duration"
	nameHistogram      = "perfline.measure.duration of the 2 measures, with exemplars"
	attributeHistogram = "perfline.measure.duration with 1 attribute of each measure"
	logRecords         = "marks as log records"
	bothForms          = "marks as span events and log records"
	unsampled          = ", not sampled"
)

// signals are compared in the same rounds. A further signal is a line.
var signals = []signalRow{
	{pipelined, "", shapes[0], perflineStart(bridge.KeepPolicy{})},
	{logRecords, pipelined, shapes[0], withLogs(bridge.LogRecords)},
	{bothForms, pipelined, shapes[0], withLogs(bridge.SpanEventsAndLogRecords)},
	{plain, pipelined, shapes[0], withMetrics("always_off", bridge.MeasureConfig{})},
	{exemplars, plain, shapes[0], withMetrics("trace_based", bridge.MeasureConfig{})},
	{nameHistogram, exemplars, shapes[0], withMetrics("trace_based", ofNames)},
	{attributeHistogram, exemplars, shapes[0], withMetrics("trace_based", ofAttributes)},
	{pipelined + unsampled, "", shapes[1], perflineStart(bridge.KeepPolicy{})},
	{plain + unsampled, pipelined + unsampled, shapes[1],
		withMetrics("always_off", bridge.MeasureConfig{})},
	{exemplars + unsampled, plain + unsampled, shapes[1],
		withMetrics("trace_based", bridge.MeasureConfig{})},
	{nameHistogram + unsampled, exemplars + unsampled, shapes[1],
		withMetrics("trace_based", ofNames)},
}

var (
	ofNames      = bridge.MeasureConfig{Names: []string{"stock.query", "payment.*"}}
	ofAttributes = bridge.MeasureConfig{Names: ofNames.Names,
		Attributes: []string{"stock.site", "payment.method"}}
)

// withMetrics is perfline.Start with metrics, which are aggregated and not read: reading costs the
// same however many requests there were.
func withMetrics(filter string, measures bridge.MeasureConfig) opener {
	return func(ctx context.Context, s setting) (*pipeline, error) {
		const variable = "OTEL_METRICS_EXEMPLAR_FILTER" // read by Start alone
		if err := os.Setenv(variable, filter); err != nil {
			return nil, err
		}
		p, err := perfline.Start(ctx, perfline.Config{
			Traces:   perflineTo(s),
			Sampler:  s.sampler,
			Metrics:  sdkmetric.NewManualReader(),
			Measures: measures,
			Logger:   slog.New(slog.NewTextHandler(os.Stderr, nil)),
		})
		if err := errors.Join(err, os.Unsetenv(variable)); err != nil {
			return nil, err
		}
		shutdown := func(ctx context.Context) error {
			err := p.Shutdown(ctx)
			otel.SetMeterProvider(meters(false))
			return err
		}
		return &pipeline{flush: p.Flush, shutdown: cleared(shutdown)}, nil
	}
}

// withLogs is perfline.Start with marks as log records.
func withLogs(form bridge.MarkForm) opener {
	return func(ctx context.Context, s setting) (*pipeline, error) {
		p, err := perfline.Start(ctx, perfline.Config{
			Traces:  perflineTo(s),
			Sampler: s.sampler,
			Marks:   form,
			Logs:    exporter.Config{Sender: takingLogs{s.memory}},
			Logger:  slog.New(slog.NewTextHandler(os.Stderr, nil)),
		})
		if err != nil {
			return nil, err
		}
		shutdown := func(ctx context.Context) error {
			err := p.Shutdown(ctx)
			if got, want := s.memory.Records(), int64(p.Stats().Logs.Accepted); err == nil &&
				(got != want || got == 0) {
				err = fmt.Errorf("%d log records arrived, want %d", got, want)
			}
			return err
		}
		return &pipeline{flush: p.Flush, shutdown: cleared(shutdown)}, nil
	}
}

// takingLogs takes requests with log records.
type takingLogs struct{ to *otlp.Receiver }

func (t takingLogs) Send(_ context.Context, body []byte) exporter.Answer {
	t.to.TakeLogs(body)
	return exporter.Answer{}
}

// durationsOnly is perfline's instrumentation with the metrics that it records by itself.
func durationsOnly() instrumentation {
	i := native()
	i.handler = bridgehttp.Middleware
	return i
}

func (s signalRow) row() row { return row{s.name, s.shape, variant{s.name, durationsOnly, s.open}} }

// signalRows are the rows of all signals, after one without telemetry. The signal i has the row
// i+1.
func signalRows() []row {
	rows := []row{{none, shapes[0], variants[0]}}
	for _, s := range signals {
		rows = append(rows, s.row())
	}
	return rows
}

// rowOf returns the row of the signal called name.
func rowOf(name string) int {
	for i, s := range signals {
		if s.name == name {
			return i + 1
		}
	}
	panic(fmt.Sprintf("no signal is called %q", name)) // in the list above
}

// runSignals prints what each signal adds to a request.
func runSignals(ctx context.Context, o options) error {
	r, err := rounds(ctx, o, "signals", shapes[0].title, signalRows())
	if err != nil {
		return err
	}
	o.metrics = false
	fmt.Fprintf(o.out, "%s Metrics of perfline are aggregated and not read.\n\n%s",
		strings.Replace(o.conditions(), "metrics: none; ", "", 1), signalTable(r))
	return addFigures(o, signalBudgets(r))
}

// signalBudgets compare each signal's row with the row beside. They have no promises.
func signalBudgets(r result) (all []budget) {
	for i, s := range signals {
		if s.beside != "" {
			all = append(all, ratioBudget(s.name+": CPU time added, × "+s.beside,
				r.over(i+1, rowOf(s.beside))))
		}
	}
	return all
}

func signalTable(r result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| **%s** | telemetry, µs | signal, µs | × the row beside | 95 %% | allocations of the signal | encoded, bytes | beside |\n|---|---:|---:|---:|---:|---:|---:|---|\n", r.title)
	for i, s := range signals {
		row := i + 1
		fmt.Fprintf(&b, "| %s | %.2f |", s.name, median(r.added(row, cpuTime))/1e3)
		if s.beside == "" {
			fmt.Fprintf(&b, " | | | | %.0f | |\n", median(r.values(row, encodedBytes)))
			continue
		}
		base := rowOf(s.beside)
		a := r.over(row, base)
		added := differences(r.values(row, cpuTime), r.values(base, cpuTime))
		more := differences(r.values(row, allocations), r.values(base, allocations))
		fmt.Fprintf(&b, " %.2f | %.2f | %.2f … %.2f | %.1f | %.0f | %s |\n", median(added)/1e3,
			a.median, a.low, a.high, math.Round(median(more)*10)/10+0,
			median(r.values(row, encodedBytes)), s.beside)
	}
	return b.String()
}

// countAllocationsOfSignals counts the allocations that each signal adds to a request, whole ones.
func countAllocationsOfSignals(ctx context.Context) ([]count, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var taken []float64
	for _, w := range signalRows()[1:] {
		fmt.Fprintf(os.Stderr, "\rcounting %s\x1b[K", w.name)
		got, err := fewest(ctx, w.variant, w.shape)
		if err != nil {
			return nil, err
		}
		taken = append(taken, got)
	}
	fmt.Fprintln(os.Stderr)
	var all []count
	for i, s := range signals {
		if s.beside != "" {
			all = append(all, count{s.name + allocationsAdded,
				math.Round(taken[i] - taken[rowOf(s.beside)-1]), false})
		}
	}
	return all, nil
}
