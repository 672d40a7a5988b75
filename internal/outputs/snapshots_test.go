package outputs_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/outputs"
)

// An exporterStub keeps the names of the spans, unless a test answers otherwise.
type exporterStub struct {
	answer func(context.Context) error // nil: all spans are taken
	close  error                       // of Shutdown

	mu        sync.Mutex
	names     []string
	shutdowns int
}

func (e *exporterStub) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if e.answer != nil {
		if err := e.answer(ctx); err != nil {
			return err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range spans {
		e.names = append(e.names, s.Name())
	}
	return nil
}

func (e *exporterStub) Shutdown(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shutdowns++
	return e.close
}

func newSnapshots(e *exporterStub, size int) *outputs.Snapshots {
	log := slog.New(slog.DiscardHandler)
	return outputs.NewSnapshots(environ.NewReader(log), e, "stub", size, log)
}

// end ends spans that are called 0, 1, 2 and so on, and one that is not sampled.
func end(s *outputs.Snapshots, n int) {
	sc := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled})
	s.OnEnd(tracetest.SpanStub{Name: "not sampled"}.Snapshot())
	for i := range n {
		s.OnEnd(tracetest.SpanStub{Name: fmt.Sprint(i), SpanContext: sc}.Snapshot())
	}
}

func books(s exporter.Stats) [5]uint64 {
	return [5]uint64{s.Accepted, s.Delivered, s.Failed, s.Dropped, s.Pending}
}

// The exporter gets all sampled spans in their order, in batches of the variable's size at most.
func TestSnapshots(t *testing.T) {
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "30")
	e := &exporterStub{}
	s := newSnapshots(e, 0)
	end(s, 100)
	if err := s.ForceFlush(t.Context()); err != nil {
		t.Error(err)
	}
	want := make([]string, 100)
	for i := range want {
		want[i] = fmt.Sprint(i)
	}
	if b := s.Stats(); !slices.Equal(e.names, want) || books(b) != [5]uint64{100, 100} {
		t.Errorf("books %+v; exported %v", b, e.names)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	end(s, 1)
	if b := s.Stats(); books(b) != [5]uint64{101, 100, 0, 1} {
		t.Errorf("books after Shutdown %+v", b)
	}
}

// Spans that the exporter does not take are failed: whether to try again is the exporter's affair.
func TestSnapshotsExporterFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &exporterStub{answer: func(context.Context) error { return errors.New("disk full") }}
		s := newSnapshots(e, 0)
		end(s, 3)
		if err := s.ForceFlush(t.Context()); err == nil || !strings.Contains(err.Error(), "exporter: 3 spans not delivered to stub: disk full") {
			t.Errorf("ForceFlush returned %v", err)
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if b := s.Stats(); books(b) != [5]uint64{3, 0, 3} {
			t.Errorf("books %+v", b)
		}
	})
}

// Spans that find the queue full are dropped. When ctx ends, the rest is given up, and the exporter is shut down.
func TestSnapshotsContextEnds(t *testing.T) {
	exporting := make(chan struct{}, 1)
	e := &exporterStub{answer: func(ctx context.Context) error {
		exporting <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}}
	s := newSnapshots(e, 10)
	end(s, 15)
	<-exporting
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.ForceFlush(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("ForceFlush returned %v", err)
	}
	if err := s.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown returned %v", err)
	}
	b := s.Stats()
	if b.Accepted != 15 || b.Dropped != 5 || b.Delivered != 0 || b.Failed+b.Pending != 10 || e.shutdowns != 1 {
		t.Errorf("books %+v, %d shutdowns of the exporter", b, e.shutdowns)
	}
}

// Several goroutines may shut the processor down. All get the error of the exporter, which is shut down once.
func TestSnapshotsShutdownOnce(t *testing.T) {
	e := &exporterStub{close: errors.New("cannot close")}
	s := newSnapshots(e, 0)
	var closers sync.WaitGroup
	for range 4 {
		closers.Go(func() {
			if err := s.Shutdown(t.Context()); !errors.Is(err, e.close) {
				t.Errorf("Shutdown returned %v", err)
			}
		})
	}
	closers.Wait()
	if e.shutdowns != 1 {
		t.Errorf("the exporter was shut down %d times, want once", e.shutdowns)
	}
}
