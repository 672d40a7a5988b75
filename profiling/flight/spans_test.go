package flight_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/trace"
	otel "go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/flight"
	"github.com/perfline/perfline/profiling/states"
)

// nap is how long a span of a test sleeps.
const nap = 20 * time.Millisecond

// A seen remembers the ids of spans by their names, as a processor does that must see all spans at their end.
type seen struct {
	trace.SpanProcessor
	mu    sync.Mutex
	spans map[string]otel.SpanID
}

func (s *seen) OnStart(context.Context, trace.ReadWriteSpan) {}
func (s *seen) OnEnd(span trace.ReadOnlySpan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spans[span.Name()] = span.SpanContext().SpanID()
}
func (s *seen) ForceFlush(context.Context) error { return nil }
func (s *seen) Shutdown(context.Context) error   { return nil }

// Each span has what its own goroutine did in its time. A span may be on its parent's goroutine or on another one. A measure of
// marks.Time is a span when it is over.
func TestTimesOfSpans(t *testing.T) {
	spans := &seen{spans: map[string]otel.SpanID{}}
	provider := bridge.NewTracerProvider(bridge.TracerProviderConfig{
		Timeline: observer.NewTimeline(observer.TimelineOptions{}), Processors: []trace.SpanProcessor{spans},
	})
	r := flight.NewRecorder(flight.Config{MinInterval: -1})
	defer func() {
		if err := r.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := provider.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	answers := make(chan *states.Request, 1)
	r.Watch(func(_ states.Root, result *states.Request) { answers <- result })
	if err := r.Arm(0); err != nil {
		t.Fatal(err)
	}

	tracer, began := provider.Tracer("test"), time.Now()
	ctx, root := tracer.Start(context.Background(), "GET /", otel.WithSpanKind(otel.SpanKindServer))
	func() {
		defer marks.Time(ctx, "measure").End()
		time.Sleep(nap)
	}()
	func() {
		ctx, span := tracer.Start(ctx, "same")
		defer span.End()
		time.Sleep(nap)
		done := make(chan bool)
		go func() {
			ctx, span := tracer.Start(ctx, "other")
			_, inside := tracer.Start(ctx, "inside")
			time.Sleep(nap)
			inside.End()
			time.Sleep(nap)
			span.End()
			close(done)
		}()
		<-done
	}()
	root.End()
	id := root.SpanContext()
	if !r.Slow(states.Root{TraceID: id.TraceID(), RootID: id.SpanID(), Name: "GET /", Start: began, End: time.Now()}) {
		t.Fatalf("the request was refused: %+v", r.Stats())
	}
	got := <-answers
	if got == nil {
		t.Fatalf("no result: %+v", r.Stats())
	}
	want := map[string]int{"GET /": 0, "measure": 1, "same": 1, "other": 1, "inside": 1}
	if goruntime.GoroutineID() == 0 { // then the goroutine of a measure is not known
		want["GET /"], want["measure"] = 1, 0
	}
	for name, naps := range want {
		slept := got.Times(spans.spans[name])[states.Timer]
		if slept < time.Duration(naps)*nap-nap/2 || naps == 0 && slept > 0 {
			t.Errorf("%s slept %v, want %d times %v or a little more", name, slept, naps, nap)
		}
	}
}
