package exporter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a backend whose answer the test decides.
type fake struct {
	mu     sync.Mutex
	answer func(ctx context.Context, n int) error
	taken  int
}

func (f *fake) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	f.mu.Lock()
	answer := f.answer
	f.mu.Unlock()
	if err := answer(ctx, len(spans)); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.taken += len(spans)
	return nil
}

func (f *fake) Shutdown(context.Context) error { return nil }

func (f *fake) set(answer func(context.Context, int) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
}

func fine(context.Context, int) error   { return nil }
func refuse(context.Context, int) error { return errors.New("refused") }
func hang(ctx context.Context, _ int) error {
	<-ctx.Done()
	return ctx.Err()
}

func newFake(answer func(context.Context, int) error, size int) (*Delivery, *fake, *bytes.Buffer) {
	f := &fake{answer: answer}
	var log bytes.Buffer
	return NewDelivery(&Target{SpanExporter: f, Name: "the backend"},
		DeliveryConfig{QueueSize: size, Logger: slog.New(slog.NewTextHandler(&log, nil))}), f, &log
}

var sampledSpan = tracetest.SpanStub{Name: "s", SpanContext: trace.NewSpanContext(trace.SpanContextConfig{
	TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled})}.Snapshot()

func (d *Delivery) end(n int) {
	for range n {
		d.OnEnd(sampledSpan)
	}
}

// A log handler may ask for the counts, and make spans of its own.
func TestDeliveryLogsWithoutItsLock(t *testing.T) {
	var d *Delivery
	lines := 0
	d = NewDelivery(&Target{SpanExporter: &fake{answer: refuse}, Name: "the backend"}, DeliveryConfig{Logger: slog.New(handlerFunc(func() {
		lines++
		d.OnEnd(sampledSpan)
		if s := d.Stats(); s.Failed != 1 || s.Accepted != 2 {
			t.Errorf("while it logs the counts are %+v", s)
		}
	}))})
	d.end(1)
	if err := d.ForceFlush(t.Context()); err == nil {
		t.Error("nothing failed")
	}
	if err := d.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if s := d.Stats(); lines != 1 || s.Failed != 2 {
		t.Errorf("%d lines, counts %+v", lines, s)
	}
}

// handlerFunc is a log handler that is told of each line.
type handlerFunc func()

func (f handlerFunc) Enabled(context.Context, slog.Level) bool  { return true }
func (f handlerFunc) Handle(context.Context, slog.Record) error { f(); return nil }
func (f handlerFunc) WithAttrs([]slog.Attr) slog.Handler        { return f }
func (f handlerFunc) WithGroup(string) slog.Handler             { return f }

func TestDelivery(t *testing.T) {
	d, f, log := newFake(fine, 100)
	d.OnEnd(tracetest.SpanStub{Name: "not sampled"}.Snapshot())
	d.end(10)
	if err := d.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := d.Stats(); s != (DeliveryStats{Accepted: 10, Delivered: 10}) || f.taken != 10 {
		t.Errorf("stats %+v, backend has %d", s, f.taken)
	}

	f.set(refuse)
	for range 3 {
		d.end(5)
		if err := d.ForceFlush(t.Context()); err == nil || !strings.Contains(err.Error(), "5 spans not delivered to the backend: refused") {
			t.Errorf("ForceFlush returned %v", err)
		}
	}
	f.set(fine)
	d.end(1)
	if err := d.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := log.String(); strings.Count(s, "\n") != 2 || !strings.Contains(s, "not delivered") || !strings.Contains(s, "lost=15") {
		t.Errorf("three failures and a success must be two log lines:\n%s", s)
	}

	for range 2 {
		if err := d.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	d.end(1)
	if s := d.Stats(); s != (DeliveryStats{Accepted: 27, Delivered: 11, Failed: 15, Dropped: 1}) || s.Lost() != 16 {
		t.Errorf("stats %+v", s)
	}
}

func TestDeliveryQueueIsBounded(t *testing.T) {
	d, _, _ := newFake(hang, 100)
	d.end(1000)
	if s := d.Stats(); s.Accepted != 1000 || s.Dropped != 900 || s.Pending != 100 {
		t.Errorf("stats %+v, want 900 of 1000 dropped", s)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := d.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown returned %v, want the deadline", err)
	}
	if s := d.Stats(); s.Lost() != 1000 || s.Failed+s.Dropped+s.Pending != 1000 {
		t.Errorf("stats %+v, want all lost and accounted for", s)
	}
}

// TestDeliveryStatsAreOfOneMoment reads the counts while spans are accepted, dropped,
// delivered and refused.
func TestDeliveryStatsAreOfOneMoment(t *testing.T) {
	d, f, _ := newFake(fine, 600) // a batch is 512: some are dropped
	const goroutines, each, before, after = 4, 20_000, 10, 10
	d.end(before)
	if err := d.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	var ending sync.WaitGroup
	for i := range goroutines {
		ending.Go(func() {
			d.end(each / 2)
			if i == 0 {
				f.set(refuse)
			}
			d.end(each / 2)
		})
	}
	over := make(chan struct{})
	go func() {
		ending.Wait()
		close(over)
	}()
	for reading := true; reading; {
		select {
		case <-over:
			reading = false
		default:
		}
		if s := d.Stats(); s.Accepted != s.Delivered+s.Failed+s.Dropped+s.Pending || s.Pending > 600 {
			t.Fatalf("counts are %+v, want accepted to be the sum of the others, and at most 600 pending", s)
		}
	}
	_ = d.ForceFlush(t.Context()) // it is refused
	d.end(after)
	if err := d.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := d.Stats(); s.Accepted != before+goroutines*each+after || s.Delivered == 0 || s.Failed == 0 || s.Dropped == 0 || s.Pending != 0 {
		t.Errorf("counts are %+v at the end, want %d accepted, and some of each but pending", s, before+goroutines*each+after)
	}
}

func TestDeliveryPartialSuccess(t *testing.T) {
	partial := func(n int) error { return fmt.Errorf("OTLP partial success: bad span (%d spans rejected)", n) }
	for _, c := range []struct {
		name   string
		err    error
		failed uint64
	}{
		{"some", errors.Join(partial(3)), 3},
		{"wrapped", fmt.Errorf("traces export: %w", errors.Join(partial(3))), 3},
		{"of several lines", errors.Join(fmt.Errorf("OTLP partial success: bad\nspan (%d spans rejected)", 3)), 3},
		{"only a warning", errors.Join(partial(0)), 0},
		{"more than sent", errors.Join(partial(99)), 10},
		{"and a failure", errors.Join(partial(3), errors.New("broken")), 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, _, _ := newFake(func(context.Context, int) error { return c.err }, 100)
			d.end(10)
			if err := d.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			if s := d.Stats(); s.Failed != c.failed || s.Delivered != 10-c.failed {
				t.Errorf("stats %+v, want %d failed", s, c.failed)
			}
		})
	}
}

// No value of a variable or a field panics, loses spans of a healthy backend or keeps the processor busy.
func TestDeliveryBatches(t *testing.T) {
	for _, c := range []struct {
		name, variable, value string
		field                 int
		size                  uint64
		warns                 bool
	}{
		{"queue", "OTEL_BSP_MAX_QUEUE_SIZE", "256", 0, 256, false},
		{"negative queue", "OTEL_BSP_MAX_QUEUE_SIZE", "-5", 0, DefaultQueueSize, true},
		{"huge queue", "OTEL_BSP_MAX_QUEUE_SIZE", "4611686018427387904", 0, DefaultQueueSize, true},
		{"queue smaller than a batch", "", "", 256, 256, false},
		{"the field wins", "OTEL_BSP_MAX_QUEUE_SIZE", "9", 256, 256, false},
		{"negative batch", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "-5", 0, DefaultQueueSize, true},
		{"no delay", "OTEL_BSP_SCHEDULE_DELAY", "0", 0, DefaultQueueSize, false},
		{"negative delay", "OTEL_BSP_SCHEDULE_DELAY", "-1", 0, DefaultQueueSize, true},
		{"no timeout", "OTEL_BSP_EXPORT_TIMEOUT", "0", 0, DefaultQueueSize, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.variable != "" {
				t.Setenv(c.variable, c.value)
			}
			exported := make(chan int, 1000)
			d, _, log := newFake(func(_ context.Context, n int) error { exported <- n; return nil }, c.field)
			for range 3000 {
				d.end(1)
				for d.Stats().Pending == c.size { // as fast as a healthy backend takes them
					<-exported
				}
			}
			if err := d.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			if s := d.Stats(); d.size != c.size || s.Delivered != 3000 {
				t.Errorf("size is %d, want %d; %+v, want 3000 delivered", d.size, c.size, s)
			}
			if warned := strings.Contains(log.String(), c.variable+" "); warned != c.warns || strings.Count(log.String(), "\n") > 1 {
				t.Errorf("logged %q, want a line: %v", log, c.warns)
			}
		})
	}
}
