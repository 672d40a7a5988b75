package exporter_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/otlpenc"
)

// Accept and AcceptLogs copy bytes that no Writer has made: their callers use them again.
func TestDeliveryCopiesBytes(t *testing.T) {
	const blockSize = 16 << 10
	inBubbles(t, func(t *testing.T, s signal) {
		d, r, _ := s.to(t, fine, 0)
		var want []string
		for i, size := range []int{1, 100, blockSize/4 - 100, blockSize / 4, blockSize/4 + 1, 3000, 3000, 3000, 3000, 3000, 3000, blockSize, 100_000, 1} {
			name := fmt.Sprint(i, strings.Repeat("s", size))
			want = append(want, name)
			d.accept(name) // and overwrites the bytes
		}
		if err := d.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if got := strings.Join(r.names, " "); got != strings.Join(want, " ") {
			t.Errorf("%d of %d names arrived as they were: %.300q", len(r.names), len(want), got)
		}
	})
}

func overwrite(b []byte) {
	for i := range b {
		b[i] = 0xff
	}
}

// A fickle receiver takes requests, refuses them, fails, hangs or panics, by chance. It checks each span that it sees.
type fickle struct {
	t     *testing.T
	mu    sync.Mutex // guards what follows
	taken map[string]int
	well  bool // it takes everything
}

func (f *fickle) Send(ctx context.Context, body []byte) exporter.Answer {
	var names []string
	var request tracepb.TracesData
	if err := proto.Unmarshal(body, &request); err != nil {
		f.t.Error(err)
	}
	for _, resource := range request.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				names = append(names, span.GetName())
				if got, want := span.GetAttributes()[0].GetValue().GetStringValue(), filler(span.GetName()); got != want {
					f.t.Errorf("span %.60q arrives with %.60q, want %.60q", span.GetName(), got, want)
				}
			}
		}
	}
	failure := errors.New("fickle")
	switch f.chance() {
	case 1, 2:
		return exporter.Answer{Err: failure, Retry: true}
	case 3:
		return exporter.Answer{Err: failure, Retry: true, Unanswered: true}
	case 4:
		return exporter.Answer{Err: failure}
	case 5:
		panic("fickle")
	case 6: // its time is over
		<-ctx.Done()
		return exporter.Answer{Err: ctx.Err(), Unanswered: true}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range names {
		f.taken[name]++
	}
	return exporter.Answer{}
}

func (f *fickle) chance() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.well {
		return 0
	}
	return rand.IntN(10)
}

// filler returns a text that belongs to a name. The lengths differ; some are too long for a block.
func filler(name string) string {
	var hash uint32
	for _, c := range name {
		hash = hash*31 + uint32(c)
	}
	n := hash >> 8 % 50
	if hash%100 == 0 {
		n *= 30
	}
	return strings.Repeat(name+".", int(n))
}

// numberedSpan returns a span whose attribute belongs to its name.
func numberedSpan(name string) sdktrace.ReadOnlySpan {
	s := tracetest.SpanStubFromReadOnlySpan(spanOf(name))
	s.Attributes = []attribute.KeyValue{attribute.String("filler", filler(name))}
	return s.Snapshot()
}

// Writers use their blocks again while requests fail, are tried again and are dropped, and while the queue is full. The
// spans that arrive are the ones that were accepted.
func TestDeliveryReleasesBlocks(t *testing.T) {
	for _, c := range []struct {
		name string
		end  time.Duration // of Shutdown
	}{{"delivered in the end", time.Hour}, {"given up", 0}} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
			t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "50")
			t.Setenv("OTEL_BSP_EXPORT_TIMEOUT", "2000")
			synctest.Test(t, func(t *testing.T) {
				f := &fickle{t: t, taken: map[string]int{}}
				d, err := exporter.NewDelivery(exporter.Config{Sender: f, QueueSize: 400, Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				var groups otlpenc.Groups
				var senders sync.WaitGroup
				for g := range 4 {
					senders.Go(func() {
						var w otlpenc.Writer
						for i := range 2000 {
							if i%20 == 0 {
								time.Sleep(rand.N(time.Second))
							}
							if i%2 == 0 {
								d.OnEnd(numberedSpan(fmt.Sprint(g, "/", i)))
								continue
							}
							spans := func(what string) (s otlpenc.Spans) {
								for j := range 1 + i%5 {
									one := encode(&groups, numberedSpan(fmt.Sprint(g, "/", i, what, j)))
									s = otlpenc.NewSpans(one.Group(), append(s.Bytes, one.Bytes...), s.Count+1)
								}
								return s
							}
							all := []bridge.Spans{write(&w, spans("/in a block/")), bridge.Spans(spans("/"))}
							d.Accept(all)
							otlpenc.Spans(all[0]).Release()
							overwrite(all[1].Bytes)
						}
					})
				}
				if c.end > 0 {
					senders.Wait()
					f.mu.Lock()
					f.well = true
					f.mu.Unlock()
				} else {
					time.Sleep(30 * time.Second) // about the middle
				}
				ctx, cancel := context.WithTimeout(t.Context(), c.end)
				defer cancel()
				_ = d.Shutdown(ctx)
				senders.Wait()
				s := d.Stats()
				t.Logf("%+v", s)
				for name, n := range f.taken {
					if n > 1 {
						t.Errorf("span %s arrived %d times", name, n)
					}
				}
				if uint64(len(f.taken)) != s.Delivered || s.Delivered == 0 || s.Failed == 0 || s.Dropped == 0 || s.Retries == 0 {
					t.Errorf("%d spans arrived: %+v", len(f.taken), s)
				}
			})
		})
	}
}

// encode returns s with bytes of its own.
func encode(groups *otlpenc.Groups, s sdktrace.ReadOnlySpan) (encoded otlpenc.Spans) {
	groups.Encode(s, func(one otlpenc.Spans) { encoded = one.Clone() })
	return encoded
}

// write returns spans whose bytes the writer has.
func write(w *otlpenc.Writer, s otlpenc.Spans) bridge.Spans {
	s.Bytes = append(w.Next(), s.Bytes...)
	return bridge.Spans(w.Spans(s))
}
