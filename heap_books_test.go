//go:build !race

// The race detector's own memory is larger.

package perfline_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"pgregory.net/rapid"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	memory "github.com/perfline/perfline/internal/garbage"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/sessions"
)

// A shape is what the entries of a test look like.
type shape struct {
	name, text        int // bytes
	texts, list, ints int // attributes: texts, texts in a list, numbers
	links, members    int // links, and members of the trace state of each
}

var anyShape = rapid.Custom(func(t *rapid.T) shape {
	size := func(most int, name string) int {
		return rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(0, most)).Draw(t, name)
	}
	return shape{
		name: size(1500, "name"), text: size(8000, "text"), texts: size(4, "texts"), list: size(4, "list"), ints: size(30, "ints"),
		links: rapid.IntRange(0, 16).Draw(t, "links"), members: rapid.IntRange(0, 32).Draw(t, "members"),
	}
})

// attrs makes attributes of their own memory.
func (s shape) attrs() (all []slog.Attr) {
	text := func() string { return strings.Repeat("x", s.text) }
	for i := range s.texts {
		all = append(all, slog.String(fmt.Sprint("text", i), text()))
	}
	if s.list > 0 {
		var list []string
		for range s.list {
			list = append(list, text())
		}
		all = append(all, slog.Any("list", list), slog.Group("group", slog.String("in", text())))
	}
	for i := range s.ints {
		all = append(all, slog.Int(fmt.Sprint("number of something ", i), i))
	}
	return all
}

// record makes entries of a request.
func (s shape) record(ctx context.Context, tracer trace.Tracer) {
	name := func() string { return "n" + strings.Repeat("x", s.name) }
	marks.Mark(ctx, name(), s.attrs()...)
	marks.Time(ctx, name(), s.attrs()...).End()
	_, below := tracer.Start(ctx, name(), trace.WithLinks(s.someLinks()...))
	below.AddEvent(name(), trace.WithAttributes(attribute.String("text", strings.Repeat("x", s.text))))
	below.SetStatus(codes.Error, name())
	below.End()
}

// someLinks makes links whose trace states have their own memory, as those of messages have.
func (s shape) someLinks() (all []trace.Link) {
	for range s.links {
		var state []string
		for i := range s.members {
			state = append(state, fmt.Sprintf("k%d=v", i))
		}
		ts, err := trace.ParseTraceState(strings.Join(state, ","))
		if err != nil {
			panic(err)
		}
		all = append(all, trace.Link{SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceState: ts})})
	}
	return all
}

// A ledger keeps what requests record, and has books of its memory.
type ledger struct {
	provider *bridge.TracerProvider
	tl       *observer.Timeline
	books    func() int
	keep     []trace.Span // that do not end
	release  func()
	read     bool // the requests' entries have a reader
}

// serve records something in a request. The request goes on unless it ends.
func (l *ledger) serve(s shape, ends bool) {
	tracer := l.provider.Tracer("t")
	ctx, span := tracer.Start(observer.NewContext(context.Background(), l.tl), "GET /", trace.WithSpanKind(trace.SpanKindServer))
	if l.read {
		_ = observer.FromContext(ctx).Entries()
	}
	for range 4 {
		s.record(ctx, tracer)
	}
	if ends {
		span.End()
	} else {
		l.keep = append(l.keep, span)
	}
}

func newLedger(t *testing.T, c bridge.TracerProviderConfig) *ledger {
	t.Helper()
	l := &ledger{tl: observer.NewTimeline(observer.TimelineOptions{BufferSize: -1}), release: func() {}}
	c.Timeline = l.tl
	l.provider = bridge.NewTracerProvider(c)
	return l
}

// A silent receiver answers nothing until it is released.
type silentReceiver struct{ release chan struct{} }

func (s silentReceiver) Send(context.Context, []byte) exporter.Answer {
	<-s.release
	return exporter.Answer{}
}

// nowhere keeps nothing.
type nowhere struct{}

func (nowhere) Accept([]bridge.Spans)            {}
func (nowhere) ForceFlush(context.Context) error { return nil }
func (nowhere) Shutdown(context.Context) error   { return nil }

// What waits in memory takes no more than the books say, whatever the entries look like: names, texts, lists, many attributes or none. Bounds
// of memory hold by these books.
func TestHeapAgainstTheBooks(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(t *testing.T) *ledger
		ends bool
	}{
		{"journals", func(t *testing.T) *ledger {
			l := newLedger(t, bridge.TracerProviderConfig{Exporters: []bridge.Output{nowhere{}}})
			l.books = func() int { return (*record.Timeline)(l.tl).UnitStats().WaitingBytes }
			return l
		}, false},
		{"undecided requests", func(t *testing.T) *ledger {
			l := newLedger(t, bridge.TracerProviderConfig{
				Exporters: []bridge.Output{nowhere{}},
				Sampler:   sdktrace.NeverSample(), Keep: &bridge.KeepPolicy{Slow: time.Hour},
			})
			l.books = func() int { return (*record.Timeline)(l.tl).UnitStats().WaitingBytes }
			return l
		}, false},
		{"views", func(t *testing.T) *ledger {
			l := newLedger(t, bridge.TracerProviderConfig{Exporters: []bridge.Output{nowhere{}}})
			l.read = true
			l.books = func() int {
				s := (*record.Timeline)(l.tl).UnitStats()
				return s.ViewBytes + s.WaitingBytes
			}
			return l
		}, false},
		{"the queue", func(t *testing.T) *ledger {
			to := silentReceiver{make(chan struct{})}
			d, err := exporter.NewDelivery(exporter.Config{Sender: to, QueueSize: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			l := newLedger(t, bridge.TracerProviderConfig{Exporters: []bridge.Output{d}})
			l.books = func() int { return d.Stats().PendingBytes }
			l.release = func() { close(to.release) }
			return l
		}, true},
		{"requests in memory", func(t *testing.T) *ledger {
			recent := requests.NewRecent(requests.Config{Requests: 1 << 20, MaxBytes: 64 << 20})
			l := newLedger(t, bridge.TracerProviderConfig{Recorders: []bridge.Output{recent}})
			l.books = func() int { return int(recent.Stats().Bytes) }
			return l
		}, true},
		{"newest requests, which retain their spans", func(t *testing.T) *ledger {
			recent := requests.NewRecent(requests.Config{Requests: 256, MaxBytes: 64 << 20})
			l := newLedger(t, bridge.TracerProviderConfig{Recorders: []bridge.Output{recent}})
			l.books = func() int { return int(recent.Stats().Bytes) }
			return l
		}, true},
		{"sessions", func(t *testing.T) *ledger {
			l := newLedger(t, bridge.TracerProviderConfig{Exporters: []bridge.Output{nowhere{}}})
			r := sessions.NewRecorder(sessions.Config{Timeline: l.tl, MaxEvents: 4096})
			l.release = r.Close
			if _, err := r.Start(context.Background(), sessions.StartOptions{NoSamples: true}); err != nil {
				t.Fatal(err)
			}
			l.books = func() int {
				_ = l.provider.ForceFlush(context.Background()) // what has ended waits for its hand-over
				l.tl.Deliver()
				return 4096 * (300 + 256) // what the documentation of MaxEvents says, however long it goes on
			}
			return l
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range 8 {
				s := anyShape.Example(seed)
				if seed%2 == 1 {
					s.list = 0 // texts and numbers alone are counted on another way
				}
				if seed%4 == 0 {
					s.links, s.members = 16, 32
				}
				l := c.set(t)
				l.serve(s, c.ends) // the first request makes what all requests share
				before, booked := memory.Heap(), l.books()
				const enough = 4 << 20
				n := 0
				for ; n < 1000 && (n < 100 || l.books()-booked < enough); n++ {
					l.serve(s, c.ends)
				}
				books := l.books() - booked
				if c.name == "sessions" {
					books = l.books()
				}
				heap := memory.Heap() - before
				t.Logf("%+v: %d requests, %d kB of the heap, %d kB in the books, %.2f", s, n, heap>>10, books>>10, float64(heap)/float64(books))
				if most := books + books/3 + 1<<20; heap > most {
					t.Errorf("%d requests take %d kB of the heap, and the books say %d kB", n, heap>>10, books>>10)
				}
				runtime.KeepAlive(l)
				l.release()
				_ = l.provider.Shutdown(context.Background())
			}
		})
	}
}
