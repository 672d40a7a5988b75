package exporter_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter"
)

// receiver is a Sender whose answer the test decides. It decodes what it takes.
type receiver struct {
	decode func(body []byte) (names []string, err error)
	mu     sync.Mutex
	answer func(ctx context.Context) exporter.Answer
	names  []string // of the items that it took
	closed int

	closeErr error // Close returns it
}

func (r *receiver) Send(ctx context.Context, body []byte) exporter.Answer {
	names, err := r.decode(body)
	if err != nil {
		return exporter.Answer{Err: err}
	}
	r.mu.Lock()
	answer := r.answer
	r.mu.Unlock()
	a := answer(ctx)
	if a.Err != nil {
		return a
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names = append(r.names, names...)
	return a
}

func (r *receiver) String() string { return "the backend" }

func (r *receiver) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed++
	return r.closeErr
}

func (r *receiver) taken() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.names)
}

func (r *receiver) set(answer func(context.Context) exporter.Answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func fine(context.Context) exporter.Answer   { return exporter.Answer{} }
func refuse(context.Context) exporter.Answer { return exporter.Answer{Err: errors.New("refused")} }
func hang(ctx context.Context) exporter.Answer {
	<-ctx.Done()
	return exporter.Answer{Err: ctx.Err()}
}

func newDelivery(t *testing.T, answer func(context.Context) exporter.Answer, size int) (*exporter.Delivery, *receiver, *bytes.Buffer) {
	t.Helper()
	d, r, log := ofSpans.to(t, answer, size)
	return d.(*spanSender).Delivery, r, log
}

// to returns a delivery to a receiver in the process, with its log.
func (s signal) to(t *testing.T, answer func(context.Context) exporter.Answer, size int) (sender, *receiver, *bytes.Buffer) {
	t.Helper()
	r := &receiver{decode: s.names, answer: answer}
	var log bytes.Buffer
	d, err := s.start(exporter.Config{Sender: r, QueueSize: size, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return d, r, &log
}

// lossless returns a delivery that must lose nothing until the test ends.
func (s signal) lossless(tb testing.TB, c exporter.Config, answer func(context.Context) exporter.Answer) sender {
	tb.Helper()
	c.Sender = senderFunc(func(ctx context.Context, _ []byte) exporter.Answer { return answer(ctx) })
	d, err := s.start(c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := d.Shutdown(context.Background()); err != nil || d.Stats().Lost() > 0 {
			tb.Errorf("%v, %+v", err, d.Stats())
		}
	})
	return d
}

// spanOf returns a sampled span.
func spanOf(name string) sdktrace.ReadOnlySpan {
	return tracetest.SpanStub{Name: name, SpanContext: trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled})}.Snapshot()
}

var sampled = spanOf("s")

// addSome adds n items.
func addSome(d sender, n int) {
	for range n {
		d.add("s")
	}
}

// counts returns what became of items.
func counts(s exporter.Stats) [5]uint64 {
	return [5]uint64{s.Accepted, s.Delivered, s.Failed, s.Dropped, s.Pending}
}

type senderFunc func(context.Context, []byte) exporter.Answer

func (f senderFunc) Send(ctx context.Context, body []byte) exporter.Answer { return f(ctx, body) }
