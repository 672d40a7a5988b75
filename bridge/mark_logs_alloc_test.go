//go:build !race

// The race detector allocates on its own account.

package bridge_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// noLogs is an output that reads no record.
type noLogs struct{}

func (noLogs) AcceptLogs(bridge.Records)        {}
func (noLogs) ForceFlush(context.Context) error { return nil }
func (noLogs) Shutdown(context.Context) error   { return nil }

// formProvider returns a provider with an exporter, and perhaps a recorder.
func formProvider(tb testing.TB, form bridge.MarkForm, logs bridge.LogOutput, recorders bool) (*bridge.TracerProvider, context.Context) {
	tb.Helper()
	tl := observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {}, MaxPending: 1 << 18, ChildBufferSize: -1})
	c := bridge.TracerProviderConfig{Timeline: tl, Exporters: []bridge.Output{&arrivals{countOnly: true}}, Marks: form, Logs: logs}
	if recorders {
		c.Recorders = c.Exporters
	}
	tp := bridge.NewTracerProvider(c)
	tb.Cleanup(func() {
		if err := tp.Shutdown(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return tp, observer.NewContext(context.Background(), tl)
}

// requestWithMarks serves a request that has five marks and five measures.
func requestWithMarks(ctx context.Context, tracer trace.Tracer) {
	ctx, root := tracer.Start(ctx, "root")
	for range 5 {
		marks.Mark(ctx, "mark", slog.String("k", "v"), slog.Int("n", 1))
		marks.Time(ctx, "measure", slog.Bool("b", true)).End()
	}
	root.End()
}

// Log records of marks allocate nothing: a request has the same allocations with each form, of its span and its unit.
func TestMarkFormAllocs(t *testing.T) {
	overForms(t, func(t *testing.T, form bridge.MarkForm) {
		for name, logs := range map[string]bridge.LogOutput{"without an output": nil, "with an output": noLogs{}} {
			for _, recorders := range []bool{false, true} {
				t.Run(fmt.Sprint(name, ", recorders ", recorders), func(t *testing.T) {
					tp, ctx := formProvider(t, form, logs, recorders)
					tracer := tp.Tracer("t")
					if got := testing.AllocsPerRun(1000, bothproviders.HandedOver(tp, func() { requestWithMarks(ctx, tracer) })); got != 2 {
						t.Errorf("%v allocations, want 2", got)
					}
				})
			}
		}
	})
}

// A mark that becomes a log record at once allocates nothing.
func TestLooseMarkAllocs(t *testing.T) {
	tp, base := formProvider(t, bridge.SpanEvents, noLogs{}, false)
	ended, span := tp.Tracer("t").Start(base, "ended")
	span.End()
	sdk := sdktrace.NewTracerProvider()
	under, _ := sdk.Tracer("t").Start(base, "span of the SDK")
	joined := observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {}, MaxPending: 1 << 18})
	processor := bridge.NewProcessor(bridge.ProcessorConfig{Timeline: joined, Marks: bridge.LogRecords, Logs: noLogs{}})
	defer func() { _ = processor.Shutdown(t.Context()) }()
	for name, ctx := range map[string]context.Context{
		"under no span":                           base,
		"under a remote span":                     trace.ContextWithSpanContext(base, spanContext(true, true)),
		"after its span's end":                    ended,
		"under a span of the SDK, as log records": observer.NewContext(under, joined),
	} {
		t.Run(name, func(t *testing.T) {
			if got := testing.AllocsPerRun(1000, bothproviders.HandedOver(tp, func() { marks.Mark(ctx, "m", slog.String("k", "v"), slog.Int("n", 1)) })); got != 0 {
				t.Errorf("%v allocations, want 0", got)
			}
		})
	}
}

// The cost of a request with each form.
func BenchmarkMarkForms(b *testing.B) {
	for _, c := range []struct {
		name      string
		form      bridge.MarkForm
		logs      bridge.LogOutput
		recorders bool
	}{
		{"without an output", bridge.SpanEvents, nil, false},
		{"span events", bridge.SpanEvents, noLogs{}, false},
		{"log records", bridge.LogRecords, noLogs{}, false},
		{"both", bridge.SpanEventsAndLogRecords, noLogs{}, false},
		{"without an output, recorders", bridge.SpanEvents, nil, true},
		{"log records, recorders", bridge.LogRecords, noLogs{}, true},
		{"both, recorders", bridge.SpanEventsAndLogRecords, noLogs{}, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			tp, ctx := formProvider(b, c.form, c.logs, c.recorders)
			tracer := tp.Tracer("t")
			b.ReportAllocs()
			for b.Loop() {
				requestWithMarks(ctx, tracer)
			}
		})
	}
	b.Run("a mark under no span", func(b *testing.B) {
		for name, logs := range map[string]bridge.LogOutput{"without an output": nil, "with an output": noLogs{}} {
			b.Run(name, func(b *testing.B) {
				_, ctx := formProvider(b, bridge.SpanEvents, logs, false)
				b.ReportAllocs()
				for b.Loop() {
					marks.Mark(ctx, "m", slog.String("k", "v"), slog.Int("n", 1))
				}
			})
		}
	})
}
