package flight_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	rt "runtime/trace"
	"slices"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/flight"
	"github.com/perfline/perfline/profiling/states"
)

// A service makes requests with spans of perfline's provider, and a recorder that they are slow for.
type service struct {
	*flight.Recorder
	tracer  trace.Tracer
	answers chan outcome
}

type outcome struct {
	root   states.Root
	result *states.Request
}

func newService(t *testing.T, c flight.Config) *service {
	t.Helper()
	provider := bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: observer.NewTimeline(observer.TimelineOptions{})})
	s := &service{flight.NewRecorder(c), provider.Tracer("test"), make(chan outcome, 1000)}
	s.Watch(func(root states.Root, result *states.Request) { s.answers <- outcome{root, result} })
	t.Cleanup(func() {
		if err := errors.Join(s.Shutdown(context.Background()), provider.Shutdown(context.Background())); err != nil {
			t.Error(err)
		}
	})
	return s
}

// serve makes a request, and reports whether the recorder accepts it as a slow one.
func (s *service) serve(name string, do func(context.Context)) bool {
	began := time.Now()
	ctx, span := s.tracer.Start(context.Background(), name, trace.WithSpanKind(trace.SpanKindServer))
	do(ctx)
	span.End()
	id := span.SpanContext()
	return s.Slow(states.Root{TraceID: id.TraceID(), RootID: id.SpanID(), Name: name, Start: began, End: time.Now()})
}

func (s *service) arm(t *testing.T) {
	t.Helper()
	if err := s.Arm(0); err != nil {
		t.Fatal(err)
	}
}

func idle(context.Context) {}

// waitedFor reports whether the goroutine that served a request waited for another request.
func waitedFor(r *states.Request, kind states.Kind, other string) bool {
	return slices.ContainsFunc(r.Goroutines[0].Intervals, func(i states.Interval) bool {
		return i.Kind == kind && i.By != nil && i.By.Request == other
	})
}

// Requests that wait for a lock get their results from the runtime's flight recorder.
func TestRequestsAreAnalysed(t *testing.T) {
	s := newService(t, flight.Config{MinInterval: -1})
	s.arm(t)
	for range 3 { // snapshots after one another, in one period
		var lock sync.Mutex
		lock.Lock()
		here := make(chan bool)
		go func() {
			s.serve("GET /holder", func(context.Context) {
				<-here
				time.Sleep(20 * time.Millisecond)
				lock.Unlock()
			})
		}()
		if !s.serve("GET /waits", func(context.Context) {
			close(here)
			lock.Lock()
			defer lock.Unlock()
		}) {
			t.Fatal("the request was refused")
		}
		for range 2 {
			got := <-s.answers
			if got.result == nil {
				t.Fatalf("%s has no result: %+v", got.root.Name, s.Stats())
			}
			stored, ok := s.Result(got.root.TraceID, got.root.RootID)
			if !ok || stored != got.result || stored.Name != got.root.Name || stored.RootID != got.root.RootID || len(stored.Goroutines) == 0 || len(stored.Causes) == 0 {
				t.Errorf("%s has the result %+v", got.root.Name, stored)
			}
			if got.root.Name == "GET /waits" && !waitedFor(stored, states.Mutex, "GET /holder") {
				t.Errorf("the result does not show that it waited for the lock of GET /holder: %+v", stored)
			}
		}
	}
	s.Disarm()
	if got := s.Stats(); got.Analysed != 6 || got.Snapshots == 0 || got.SnapshotBytes == 0 || got.Pending != 0 || got.Armed <= 0 {
		t.Errorf("got %+v, want 6 results", got)
	}
}

// One flight recorder runs in a process. Arm reports another one and leaves it alone.
func TestAnotherFlightRecorder(t *testing.T) {
	s := newService(t, flight.Config{})
	other := rt.NewFlightRecorder(rt.FlightRecorderConfig{})
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Stop()
	if err := s.Arm(0); !errors.Is(err, states.ErrInUse) {
		t.Errorf("Arm returned %v, want ErrInUse", err)
	}
	if got := s.State(); got.Status != states.InUse {
		t.Errorf("got %+v, want in use", got)
	}
	s.Disarm()
	if _, err := other.WriteTo(io.Discard); err != nil || !other.Enabled() {
		t.Errorf("the other flight recorder does not work any more: %v", err)
	}
	other.Stop()
	s.arm(t)
	if err := other.Start(); err == nil {
		t.Error("another flight recorder started while ours was armed: change the documentation")
	}
	s.Disarm() // waits for the flight recorder
	if err := other.Start(); err != nil {
		t.Errorf("after Disarm, another flight recorder does not start: %v", err)
	}
}

// runtime/trace.Start and the recorder do not disturb each other, whichever starts or stops first.
func TestExecutionTraceAtTheSameTime(t *testing.T) {
	for _, c := range []struct {
		name                   string
		traceFirst, traceEnded bool // trace.Start before Arm; trace.Stop before Disarm
	}{{"within", false, true}, {"around", true, false}, {"before", true, true}, {"after", false, false}} {
		t.Run(c.name, func(t *testing.T) {
			s := newService(t, flight.Config{MinInterval: -1})
			var b bytes.Buffer
			start := func() {
				if err := rt.Start(&b); err != nil {
					t.Fatal(err)
				}
			}
			if c.traceFirst {
				start()
			}
			s.arm(t)
			if !c.traceFirst {
				start()
			}
			s.serve("GET /both", idle)
			if got := <-s.answers; got.result == nil {
				t.Errorf("no result: %+v", s.Stats())
			}
			if c.traceEnded {
				rt.Stop()
				s.serve("GET /ours", idle)
				if got := <-s.answers; got.result == nil {
					t.Errorf("no result after trace.Stop: %+v", s.Stats())
				}
				s.Disarm()
			} else {
				s.Disarm()
				_, span := s.tracer.Start(t.Context(), "GET /theirs")
				span.End()
				rt.Stop()
			}
			if got := bytes.Contains(b.Bytes(), []byte("GET /theirs")); !bytes.Contains(b.Bytes(), []byte("GET /both")) || got == c.traceEnded {
				t.Errorf("the program's own execution trace has %d bytes and lacks a request", b.Len())
			}
		})
	}
}

// Methods may be called concurrently, and each accepted request gets one answer.
func TestConcurrentUse(t *testing.T) {
	s := newService(t, flight.Config{MinInterval: -1, Requests: 10})
	var all, users sync.WaitGroup
	answers := make(chan int)
	go func() {
		n := 0
		for range s.answers {
			n++
		}
		answers <- n
	}()
	for range 4 {
		users.Go(func() {
			for range 200 {
				s.serve("GET /", idle)
				s.State()
				s.Stats()
				s.Result(trace.TraceID{}, trace.SpanID{})
			}
		})
	}
	all.Go(func() {
		for range 10 {
			if err := s.Arm(time.Hour); err != nil {
				t.Error(err)
			}
			s.Disarm()
		}
	})
	users.Wait()
	all.Wait()
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	close(s.answers)
	got := s.Stats()
	if want := got.Analysed + got.NotFound + got.Failed + got.Abandoned; uint64(<-answers) != want || got.Pending != 0 || got.Slow != 800 {
		t.Errorf("the answers do not match the counts: %+v", got)
	}
}

// Slow does not allocate, whatever its answer.
func TestSlowAllocations(t *testing.T) {
	s := newService(t, flight.Config{MinInterval: time.Hour, MinAge: time.Hour})
	root := states.Root{Name: "GET /", Start: time.Now().Add(time.Hour), End: time.Now()}
	if got := testing.AllocsPerRun(100, func() { s.Slow(root) }); got > 0 {
		t.Errorf("Slow of a disarmed recorder allocates %v times", got)
	}
	s.arm(t)
	accepted, refused := true, true
	if got := testing.AllocsPerRun(50, func() { accepted = accepted && s.Slow(root) }); got > 0 || !accepted {
		t.Errorf("Slow allocates %v times, and accepted all requests: %v", got, accepted)
	}
	for s.Slow(root) { // until the queue is full
	}
	if got := testing.AllocsPerRun(50, func() { refused = refused && !s.Slow(root) }); got > 0 || !refused {
		t.Errorf("Slow allocates %v times when its queue is full, and refused all requests: %v", got, refused)
	}
}
