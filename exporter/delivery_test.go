package exporter_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/leaktest"
	"github.com/perfline/perfline/internal/otlpenc"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestDelivery(t *testing.T) {
	inBubbles(t, func(t *testing.T, s signal) {
		d, r, log := s.to(t, fine, 100)
		addSome(d, 10)
		if err := d.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if b := d.Stats(); counts(b) != [5]uint64{10, 10} || r.taken() != 10 {
			t.Errorf("stats %+v, backend has %d", b, r.taken())
		}

		r.set(refuse)
		for range 3 {
			addSome(d, 5)
			if err := d.ForceFlush(t.Context()); err == nil || !strings.Contains(err.Error(), "5 "+s.what+" not delivered to the backend: refused") {
				t.Errorf("ForceFlush returned %v", err)
			}
		}
		r.set(fine)
		addSome(d, 1)
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
		addSome(d, 1)
		if b := d.Stats(); counts(b) != [5]uint64{27, 11, 15, 1} || b.Lost() != 16 {
			t.Errorf("stats %+v", b)
		}
		if r.closed != 1 {
			t.Errorf("the sender was closed %d times, want once", r.closed)
		}
	})
}

// A span that the sampler did not sample is no business of a delivery.
func TestDeliveryOfUnsampledSpans(t *testing.T) {
	d, r, _ := newDelivery(t, fine, 0)
	d.OnEnd(tracetest.SpanStub{Name: "not sampled"}.Snapshot())
	if err := d.Shutdown(t.Context()); err != nil || d.Stats() != (exporter.Stats{}) || r.taken() != 0 {
		t.Errorf("%v, stats %+v, backend has %d", err, d.Stats(), r.taken())
	}
}

// TestDeliveryClosesTheSenderOnce has several goroutines that shut the delivery down. All get the sender's error.
func TestDeliveryClosesTheSenderOnce(t *testing.T) {
	inBubbles(t, func(t *testing.T, s signal) {
		d, r, _ := s.to(t, fine, 0)
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
	})
}

// TestDeliveryAcceptChecksSpans gives the delivery spans that no request can have. They are dropped and counted.
func TestDeliveryAcceptChecksSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var groups otlpenc.Groups
		good := encode(&groups, sampled)
		d, r, _ := newDelivery(t, fine, 0)
		for _, c := range []struct {
			name    string
			spans   otlpenc.Spans
			dropped uint64
		}{
			{"nothing", otlpenc.Spans{}, 1},
			{"no group", otlpenc.NewSpans(nil, good.Bytes, 1), 1},
			{"no count", otlpenc.NewSpans(good.Group(), good.Bytes, 0), 1},
			{"a negative count", otlpenc.NewSpans(good.Group(), good.Bytes, -5), 1},
			{"no bytes", otlpenc.NewSpans(good.Group(), nil, 3), 3},
		} {
			before := d.Stats()
			d.Accept([]bridge.Spans{bridge.Spans(c.spans)})
			if s := d.Stats(); s.Accepted-before.Accepted != c.dropped || s.Dropped-before.Dropped != c.dropped {
				t.Errorf("%s: stats %+v, before %+v, want %d more dropped", c.name, s, before, c.dropped)
			}
		}
		d.Accept([]bridge.Spans{{}, bridge.Spans(good), {}})
		if err := d.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if s := d.Stats(); counts(s) != [5]uint64{10, 1, 0, 9} || r.taken() != 1 {
			t.Errorf("stats %+v, want 1 of 10 delivered and 9 dropped", s)
		}
	})
}

func TestDeliveryQueueIsBounded(t *testing.T) {
	inBubbles(t, func(t *testing.T, s signal) {
		d, _, _ := s.to(t, hang, 100)
		addSome(d, 1000)
		if b := d.Stats(); counts(b) != [5]uint64{1000, 0, 0, 900, 100} {
			t.Errorf("stats %+v, want 900 of 1000 dropped", b)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if err := d.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown returned %v, want the deadline", err)
		}
		if b := d.Stats(); b.Lost() != 1000 || b.Failed+b.Dropped+b.Pending != 1000 {
			t.Errorf("stats %+v, want all lost and accounted for", b)
		}
	})
}

func TestDeliveryBytesAreBounded(t *testing.T) {
	inBubbles(t, func(t *testing.T, s signal) {
		d, err := s.start(exporter.Config{Sender: &receiver{decode: s.names, answer: hang}, QueueBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		large := strings.Repeat("s", 100_000)
		for range 100 {
			d.add(large)
		}
		if b := d.Stats(); b.Pending != 10 || b.Dropped != 90 || b.PendingBytes > 1<<20 {
			t.Errorf("stats %+v, want 10 items of 100 kB in 1 MiB", b)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = d.Shutdown(ctx)
	})
}

// TestDeliveryBatches holds the largest requests: 512 items, and 3 MiB unless an item is larger.
func TestDeliveryBatches(t *testing.T) {
	eachSignal(t, func(t *testing.T, s signal) {
		for _, c := range []struct {
			name  string
			items []int // their sizes in kB
		}{
			{"many", make([]int, 1200)},
			{"large", []int{1000, 1000, 1000, 1000}},
			{"one that is too large", []int{1, 1, 4000, 1, 1}},
		} {
			t.Run(c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var most int
					r := &receiver{decode: s.names, answer: fine}
					d, err := s.start(exporter.Config{QueueBytes: 100 << 20, Sender: senderFunc(func(ctx context.Context, body []byte) exporter.Answer {
						before := r.taken()
						a := r.Send(ctx, body)
						n := r.taken() - before
						most = max(most, n)
						if n > 1 && len(body) > 3<<20 {
							t.Errorf("%d items are in a request of %d bytes", n, len(body))
						}
						return a
					})})
					if err != nil {
						t.Fatal(err)
					}
					for _, kB := range c.items {
						d.add(strings.Repeat("s", kB*1000))
					}
					if err := d.Shutdown(t.Context()); err != nil {
						t.Error(err)
					}
					if r.taken() != len(c.items) || most > 512 {
						t.Errorf("%d of %d items arrived, %d in a request", r.taken(), len(c.items), most)
					}
				})
			})
		}
	})
}

// TestDeliveryStatsAreOfOneMoment reads the counts while items are accepted, dropped,
// delivered and refused.
func TestDeliveryStatsAreOfOneMoment(t *testing.T) {
	inBubbles(t, func(t *testing.T, s signal) {
		d, r, _ := s.to(t, fine, 600)
		const goroutines, each, before, after = 4, 4000, 10, 10
		addSome(d, before)
		if err := d.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
		full := make(chan struct{})
		r.set(func(context.Context) exporter.Answer {
			<-full
			return exporter.Answer{}
		})
		var workers sync.WaitGroup
		for i := range goroutines {
			workers.Go(func() {
				addSome(d, each/2)
				if i == 0 {
					r.set(refuse)
				}
				addSome(d, each/2)
			})
		}
		over := make(chan struct{})
		go func() {
			workers.Wait()
			close(over)
		}()
		isFull := sync.OnceFunc(func() { close(full) })
		for reading := true; reading; {
			select {
			case <-over:
				reading = false
			default:
			}
			if d.Stats().Dropped > 0 {
				isFull()
			}
			if b := d.Stats(); b.Accepted != b.Delivered+b.Failed+b.Dropped+b.Pending || b.Pending > 600 {
				t.Fatalf("counts are %+v, want accepted to be the sum of the others, and at most 600 pending", b)
			}
		}
		_ = d.ForceFlush(t.Context()) // it is refused
		addSome(d, after)
		_ = d.Shutdown(t.Context())
		if b := d.Stats(); b.Accepted != before+goroutines*each+after || b.Delivered == 0 || b.Failed == 0 || b.Dropped == 0 || b.Pending != 0 {
			t.Errorf("counts are %+v at the end, want %d accepted, and some of each but pending", b, before+goroutines*each+after)
		}
	})
}

// A healthy receiver gets every item of a small queue: a batch is half of the queue at most, so
// that the other half fills meanwhile.
func TestDeliverySmallQueue(t *testing.T) {
	eachSignal(t, func(t *testing.T, s signal) {
		t.Setenv(s.variables+"SCHEDULE_DELAY", "3600000") // only a full batch is sent
		const size, batches = 256, 20
		sending, proceed := make(chan struct{}), make(chan struct{})
		d, r, _ := s.to(t, func(context.Context) exporter.Answer {
			sending <- struct{}{}
			<-proceed
			return exporter.Answer{}
		}, size)
		addSome(d, size/2)
		for range batches - 1 {
			<-sending
			addSome(d, size/2)
			proceed <- struct{}{}
		}
		<-sending
		close(proceed)
		if err := d.Shutdown(t.Context()); err != nil || r.taken() != batches*size/2 {
			t.Errorf("%v, %d of %d arrived", err, r.taken(), batches*size/2)
		}
	})
}

func TestDeliveryQueueSizeVariable(t *testing.T) {
	eachSignal(t, func(t *testing.T, s signal) {
		t.Setenv(s.variables+"MAX_QUEUE_SIZE", "7")
		d, _, _ := s.to(t, hang, 0)
		addSome(d, 10)
		if b := d.Stats(); b.Pending != 7 {
			t.Errorf("%d items wait, want 7", b.Pending)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = d.Shutdown(ctx)
	})
}

// Fields that are wrong are errors with their name.
func TestNewErrors(t *testing.T) {
	eachSignal(t, func(t *testing.T, s signal) {
		for _, c := range []struct {
			c    exporter.Config
			says string
		}{
			{exporter.Config{QueueSize: -1}, "exporter: QueueSize -1: must not be negative"},
			{exporter.Config{QueueSize: 1<<24 + 1}, "exporter: QueueSize 16777217: must be 16777216 or less"},
			{exporter.Config{QueueBytes: -1}, "exporter: QueueBytes -1: must not be negative"},
			{exporter.Config{Endpoint: "localhost"}, `exporter: Endpoint "localhost": must be a URL`},
			{exporter.Config{Protocol: "http/json"}, `exporter: Protocol "http/json": must be grpc or http/protobuf`},
		} {
			if _, err := s.start(c.c); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %s", err, c.says)
			}
		}
	})
}
