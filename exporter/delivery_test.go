package exporter_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/exporter/otlpenc"
)

func TestMain(m *testing.M) {
	// Parallel tests wait, and take little of the processors.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// receiver is a Sender whose answer the test decides. It decodes what it takes.
type receiver struct {
	mu     sync.Mutex
	answer func(ctx context.Context) exporter.Answer
	names  []string // of the spans that it took
	closed int

	closeErr error // Close returns it
}

func (r *receiver) Send(ctx context.Context, body []byte) exporter.Answer {
	var request coltracepb.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &request); err != nil {
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
	for _, resource := range request.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				r.names = append(r.names, span.GetName())
			}
		}
	}
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
	r := &receiver{answer: answer}
	var log bytes.Buffer
	d, err := exporter.NewDelivery(exporter.Config{Sender: r, QueueSize: size, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return d, r, &log
}

// start returns a delivery that must lose nothing until the test ends.
func start(tb testing.TB, c exporter.Config, answer func(context.Context) exporter.Answer) *exporter.Delivery {
	tb.Helper()
	c.Sender = senderFunc(func(ctx context.Context, _ []byte) exporter.Answer { return answer(ctx) })
	d, err := exporter.NewDelivery(c)
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

func end(d *exporter.Delivery, n int) {
	for range n {
		d.OnEnd(sampled)
	}
}

// counts returns what became of spans.
func counts(s exporter.Stats) [5]uint64 {
	return [5]uint64{s.Accepted, s.Delivered, s.Failed, s.Dropped, s.Pending}
}

func TestDelivery(t *testing.T) {
	d, r, log := newDelivery(t, fine, 100)
	d.OnEnd(tracetest.SpanStub{Name: "not sampled"}.Snapshot())
	end(d, 10)
	if err := d.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := d.Stats(); counts(s) != [5]uint64{10, 10} || r.taken() != 10 {
		t.Errorf("stats %+v, backend has %d", s, r.taken())
	}

	r.set(refuse)
	for range 3 {
		end(d, 5)
		if err := d.ForceFlush(t.Context()); err == nil || !strings.Contains(err.Error(), "5 spans not delivered to the backend: refused") {
			t.Errorf("ForceFlush returned %v", err)
		}
	}
	r.set(fine)
	end(d, 1)
	if err := d.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := d.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if s := log.String(); strings.Count(s, "\n") != 2 || !strings.Contains(s, "refused") || !strings.Contains(s, "lost=15") {
		t.Errorf("three failures and a success must be two log lines:\n%s", s)
	}
	end(d, 1)
	if s := d.Stats(); counts(s) != [5]uint64{27, 11, 15, 1} || s.Lost() != 16 {
		t.Errorf("stats %+v", s)
	}
	if r.closed != 1 {
		t.Errorf("the sender was closed %d times, want once", r.closed)
	}
}

// TestDeliveryClosesTheSenderOnce has several goroutines that shut the delivery down. All get the sender's error.
func TestDeliveryClosesTheSenderOnce(t *testing.T) {
	d, r, _ := newDelivery(t, fine, 0)
	r.closeErr = errors.New("cannot close")
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			if err := d.Shutdown(t.Context()); !errors.Is(err, r.closeErr) {
				t.Errorf("Shutdown returned %v, want the error of Close", err)
			}
		})
	}
	workers.Wait()
	if r.closed != 1 {
		t.Errorf("the sender was closed %d times, want once", r.closed)
	}
}

// TestDeliveryAcceptChecksSpans gives the delivery spans that no request can have. They are dropped and counted.
func TestDeliveryAcceptChecksSpans(t *testing.T) {
	var groups otlpenc.Groups
	good := encode(&groups, sampled)
	d, r, _ := newDelivery(t, fine, 0)
	for _, c := range []struct {
		name    string
		spans   otlpenc.Spans
		dropped uint64
	}{
		{"nothing", otlpenc.Spans{}, 1},
		{"no group", otlpenc.Spans{Bytes: good.Bytes, Count: 1}, 1},
		{"no count", otlpenc.Spans{Group: good.Group, Bytes: good.Bytes}, 1},
		{"a negative count", otlpenc.Spans{Group: good.Group, Bytes: good.Bytes, Count: -5}, 1},
		{"no bytes", otlpenc.Spans{Group: good.Group, Count: 3}, 3},
	} {
		before := d.Stats()
		d.Accept(c.spans)
		if s := d.Stats(); s.Accepted-before.Accepted != c.dropped || s.Dropped-before.Dropped != c.dropped {
			t.Errorf("%s: stats %+v, before %+v, want %d more dropped", c.name, s, before, c.dropped)
		}
	}
	d.Accept(good)
	if err := d.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if s := d.Stats(); counts(s) != [5]uint64{8, 1, 0, 7} || r.taken() != 1 {
		t.Errorf("stats %+v, want 1 of 8 delivered and 7 dropped", s)
	}
}

func TestDeliveryQueueIsBounded(t *testing.T) {
	d, _, _ := newDelivery(t, hang, 100)
	end(d, 1000)
	if s := d.Stats(); counts(s) != [5]uint64{1000, 0, 0, 900, 100} {
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

func TestDeliveryBytesAreBounded(t *testing.T) {
	d, err := exporter.NewDelivery(exporter.Config{Sender: &receiver{answer: hang}, QueueBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	large := spanOf(strings.Repeat("s", 100_000))
	for range 100 {
		d.OnEnd(large)
	}
	if s := d.Stats(); s.Pending != 10 || s.Dropped != 90 || s.PendingBytes > 1<<20 {
		t.Errorf("stats %+v, want 10 spans of 100 kB in 1 MiB", s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = d.Shutdown(ctx)
}

// TestDeliveryBatches holds the largest requests: 512 spans, and 3 MiB unless a span is larger.
func TestDeliveryBatches(t *testing.T) {
	for _, c := range []struct {
		name  string
		spans []int // their sizes in kB
	}{
		{"many", make([]int, 3000)},
		{"large", []int{1000, 1000, 1000, 1000, 1000, 1000}},
		{"one that is too large", []int{1, 1, 20_000, 1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var most int
			r := &receiver{answer: fine}
			d, err := exporter.NewDelivery(exporter.Config{QueueBytes: 100 << 20, Sender: senderFunc(func(ctx context.Context, body []byte) exporter.Answer {
				before := r.taken()
				a := r.Send(ctx, body)
				n := r.taken() - before
				most = max(most, n)
				if n > 1 && len(body) > 3<<20 {
					t.Errorf("%d spans are in a request of %d bytes", n, len(body))
				}
				return a
			})})
			if err != nil {
				t.Fatal(err)
			}
			for _, kB := range c.spans {
				d.OnEnd(spanOf(strings.Repeat("s", kB*1000)))
			}
			if err := d.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			if r.taken() != len(c.spans) || most > 512 {
				t.Errorf("%d of %d spans arrived, %d in a request", r.taken(), len(c.spans), most)
			}
		})
	}
}

type senderFunc func(context.Context, []byte) exporter.Answer

func (f senderFunc) Send(ctx context.Context, body []byte) exporter.Answer { return f(ctx, body) }

// TestDeliveryStatsAreOfOneMoment reads the counts while spans are accepted, dropped,
// delivered and refused.
func TestDeliveryStatsAreOfOneMoment(t *testing.T) {
	d, r, _ := newDelivery(t, fine, 600) // some are dropped
	const goroutines, each, before, after = 4, 20_000, 10, 10
	end(d, before)
	if err := d.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	var workers sync.WaitGroup
	for i := range goroutines {
		workers.Go(func() {
			end(d, each/2)
			if i == 0 {
				r.set(refuse)
			}
			end(d, each/2)
		})
	}
	over := make(chan struct{})
	go func() {
		workers.Wait()
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
	end(d, after)
	_ = d.Shutdown(t.Context())
	if s := d.Stats(); s.Accepted != before+goroutines*each+after || s.Delivered == 0 || s.Failed == 0 || s.Dropped == 0 || s.Pending != 0 {
		t.Errorf("counts are %+v at the end, want %d accepted, and some of each but pending", s, before+goroutines*each+after)
	}
}

// A healthy receiver gets every span of a small queue: a batch is half of the queue at most, so
// that the other half fills meanwhile.
func TestDeliverySmallQueue(t *testing.T) {
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "3600000") // only a full batch is sent
	const size, batches = 256, 20
	sending, proceed := make(chan struct{}), make(chan struct{})
	d, r, _ := newDelivery(t, func(context.Context) exporter.Answer {
		sending <- struct{}{}
		<-proceed
		return exporter.Answer{}
	}, size)
	end(d, size/2)
	for range batches - 1 {
		<-sending
		end(d, size/2)
		proceed <- struct{}{}
	}
	<-sending
	close(proceed)
	if err := d.Shutdown(t.Context()); err != nil || r.taken() != batches*size/2 {
		t.Errorf("%v, %d of %d arrived", err, r.taken(), batches*size/2)
	}
}

func TestDeliveryQueueSizeVariable(t *testing.T) {
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "7")
	d, _, _ := newDelivery(t, hang, 0)
	end(d, 10)
	if s := d.Stats(); s.Pending != 7 {
		t.Errorf("%d spans wait, want 7", s.Pending)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = d.Shutdown(ctx)
}

// Fields that are wrong are errors with their name.
func TestNewErrors(t *testing.T) {
	for _, c := range []struct {
		c    exporter.Config
		says string
	}{
		{exporter.Config{QueueSize: -1}, "exporter: QueueSize -1: must not be negative"},
		{exporter.Config{QueueSize: 1<<24 + 1}, "exporter: QueueSize 16777217: must be 16777216 or less"},
		{exporter.Config{QueueBytes: -1}, "exporter: QueueBytes -1: must not be negative"},
		{exporter.Config{Endpoint: "localhost:4317"}, `exporter: Endpoint "localhost:4317": must be a URL`},
		{exporter.Config{Protocol: "http/json"}, `exporter: Protocol "http/json": must be grpc or http/protobuf`},
	} {
		if _, err := exporter.NewDelivery(c.c); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("got %v, want %s", err, c.says)
		}
	}
}
