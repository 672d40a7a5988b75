package flight

import (
	"bytes"
	"context"
	"errors"
	"io"
	rt "runtime/trace"
	"testing"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/cputime"
	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/waits"
	"github.com/perfline/perfline/waits/flight/internal/analysis"
)

// These tests and the example run the runtime's flight recorder. They assert what holds on any
// machine, and no times. Recorded traces in internal/analysis show the rest.

// A service makes requests with spans of perfline's provider, and has a recorder that they are slow
// for.
type service struct {
	*recorder
	tracer  trace.Tracer
	spans   *tracetest.SpanRecorder
	answers chan *waits.Request
	traces  chan []byte // the snapshots
}

func newService(t *testing.T) *service {
	t.Helper()
	s := &service{spans: tracetest.NewSpanRecorder(), answers: make(chan *waits.Request, 10), traces: make(chan []byte, 10)}
	provider := bridge.NewTracerProvider(bridge.TracerProviderConfig{
		Timeline: observer.NewTimeline(observer.TimelineOptions{}), Processors: []sdk.SpanProcessor{s.spans},
	})
	s.tracer = provider.Tracer("test")
	s.recorder = newRecorder(Config{MinInterval: -1, MinAge: time.Hour, MaxCPU: -1}, process{
		newRecorder: func(c rt.FlightRecorderConfig) flightRecorder { return rt.NewFlightRecorder(c) },
		read: func(r io.ReadSeeker, wanted []analysis.Root, own func(string) bool, pause func()) ([]waits.Request, time.Time, error) {
			data, err := io.ReadAll(r)
			if err != nil {
				return nil, time.Time{}, err
			}
			s.traces <- data
			return analysis.Read(r, wanted, own, pause)
		},
		threadTime: cputime.Thread,
	})
	s.Watch(func(_ bridge.Root, result *waits.Request) { s.answers <- result })
	t.Cleanup(func() {
		if err := errors.Join(s.Shutdown(context.Background()), provider.Shutdown(context.Background())); err != nil {
			t.Error(err)
		}
	})
	return s
}

// serve makes a slow request, and returns its result.
func (s *service) serve(t *testing.T, name string, do func(context.Context)) *waits.Request {
	t.Helper()
	began := time.Now()
	ctx, span := s.tracer.Start(context.Background(), name, trace.WithSpanKind(trace.SpanKindServer))
	do(ctx)
	span.End()
	id := span.SpanContext()
	if !s.Slow(bridge.Root{TraceID: id.TraceID(), SpanID: id.SpanID(), Name: name, Start: began, End: time.Now()}) {
		t.Fatalf("the recorder refuses the request: %+v", s.Stats())
	}
	result := <-s.answers
	if result == nil {
		t.Fatalf("the request has no result: %+v", s.Stats())
	}
	if stored, ok := s.Result(id.TraceID(), id.SpanID()); !ok || stored != result || result.Name != name {
		t.Errorf("the stored result is %+v, want %+v", stored, result)
	}
	addsUp(t, result)
	return result
}

// addsUp fails unless the states of the serving goroutine cover the request. The causes and the goroutine's gaps also cover the request.
func addsUp(t *testing.T, r *waits.Request) {
	t.Helper()
	if r.Duration <= 0 || len(r.Goroutines) == 0 || r.Sentence() == "" {
		t.Fatalf("the result is %+v", r)
	}
	var at, causes, gaps time.Duration
	for _, i := range r.Goroutines[0].Intervals {
		if i.Start != at || i.End <= i.Start {
			t.Errorf("an interval is [%v, %v), the one before ended at %v", i.Start, i.End, at)
		}
		at = i.End
		if i.Kind == waits.Gap {
			gaps += i.Duration()
		}
	}
	for _, c := range r.Causes {
		causes += c.Duration
	}
	if at != r.Duration || causes+gaps != r.Duration {
		t.Errorf("the states take %v, the causes %v and the gaps %v, want %v", at, causes, gaps, r.Duration)
	}
}

// The smoke test of the flight recorder: slow requests are found, with all of their spans, in
// snapshots after one another.
func TestSlowRequestsAreFound(t *testing.T) {
	s := newService(t)
	if err := s.Arm(0); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s.spans.Reset()
		got := s.serve(t, "GET /", func(ctx context.Context) {
			nap := func() { time.Sleep(time.Millisecond) } // a shorter span has no note
			func() {
				defer marks.Time(ctx, "measure").End()
				nap()
			}()
			ctx, same := s.tracer.Start(ctx, "same")
			defer same.End()
			done := make(chan bool)
			go func() {
				defer close(done)
				_, other := s.tracer.Start(ctx, "other")
				defer other.End()
				nap()
			}()
			<-done
		})
		spans := s.spans.Ended()
		if len(spans) != 4 {
			t.Errorf("the request has %d spans, want 4", len(spans))
		}
		for _, span := range spans {
			if goruntime.GoroutineID() == 0 && span.Name() == "measure" {
				continue // the goroutine of a measure is not known
			}
			sum := time.Duration(0)
			for _, d := range waiting.Times(got, span.SpanContext().SpanID()) {
				sum += d
			}
			if sum == 0 {
				t.Errorf("no time counts for %s", span.Name())
			}
		}
		if data := <-s.traces; !bytes.Contains(data, []byte("perfline.cpu")) && cputime.Process() > 0 {
			t.Errorf("a snapshot of %d bytes has no note of the CPU time", len(data))
		} else if !bytes.Contains(data, []byte("perfline.beat")) {
			t.Errorf("a snapshot of %d bytes has no beat", len(data))
		}
	}
	s.Disarm()
	if got := s.Stats(); got.Analysed != 2 || got.Snapshots != 2 || got.SnapshotBytes == 0 || got.Pending != 0 || got.Armed <= 0 {
		t.Errorf("got %+v, want 2 results", got)
	}
}

// Others use the execution tracer at the same time: of flight recorders, one runs in a process. Arm
// reports another one and leaves it alone. runtime/trace.Start and the recorder do not disturb each
// other, whichever starts or stops first.
func TestOtherUsersOfTracer(t *testing.T) {
	t.Run("flight recorder", func(t *testing.T) {
		s := newService(t)
		other := rt.NewFlightRecorder(rt.FlightRecorderConfig{})
		if err := other.Start(); err != nil {
			t.Fatal(err)
		}
		defer other.Stop()
		if err := s.Arm(0); !errors.Is(err, waits.ErrInUse) {
			t.Errorf("Arm returned %v, want ErrInUse", err)
		}
		if got := s.State(); got.Status != waits.InUse {
			t.Errorf("got %+v, want in use", got)
		}
		s.Disarm()
		if _, err := other.WriteTo(io.Discard); err != nil || !other.Enabled() {
			t.Errorf("the other flight recorder does not work any more: %v", err)
		}
		other.Stop()
		if err := s.Arm(0); err != nil {
			t.Fatal(err)
		}
		if err := other.Start(); err == nil {
			t.Error("another flight recorder started while ours was armed: change the documentation")
		}
		s.Disarm() // waits for the flight recorder
		if err := other.Start(); err != nil {
			t.Errorf("after Disarm, another flight recorder does not start: %v", err)
		}
	})
	for _, c := range []struct {
		name                   string
		traceFirst, traceEnded bool // trace.Start before Arm; trace.Stop before Disarm
	}{{"trace within", false, true}, {"trace around", true, false}, {"trace before", true, true}, {"trace after", false, false}} {
		t.Run(c.name, func(t *testing.T) {
			s := newService(t)
			var b bytes.Buffer
			starts := []func() error{func() error { return rt.Start(&b) }, func() error { return s.Arm(0) }}
			if !c.traceFirst {
				starts[0], starts[1] = starts[1], starts[0]
			}
			for _, start := range starts {
				if err := start(); err != nil {
					t.Fatal(err)
				}
			}
			idle := func(context.Context) {}
			s.serve(t, "GET /both", idle)
			if c.traceEnded {
				rt.Stop()
				s.serve(t, "GET /ours", idle)
				s.Disarm()
			} else {
				s.Disarm()
				_, span := s.tracer.Start(t.Context(), "GET /theirs")
				span.End()
				rt.Stop()
			}
			if got := bytes.Contains(b.Bytes(), []byte("GET /theirs")); !bytes.Contains(b.Bytes(), []byte("GET /both")) || got == c.traceEnded {
				t.Errorf("the program's own execution trace has %d bytes and lacks a request",
					b.Len())
			}
		})
	}
}
