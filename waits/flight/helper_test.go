package flight

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	rt "runtime/trace"
	"slices"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/leaktest"
	"github.com/perfline/perfline/waits"
	"github.com/perfline/perfline/waits/flight/internal/analysis"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

type reader = func(io.ReadSeeker, []analysis.Root, func(string) bool, func()) ([]waits.Request, time.Time, error)

// A fake is a process whose flight recorder and reader do what the test says. It finds all roots.
type fake struct {
	startError, writeError error
	size                   int          // of each snapshot
	data                   []byte       // each snapshot, if size is 0
	read                   reader       // reads snapshots; nil for one that finds all roots
	work                   func(func()) // of the reader; it gets pause
	readError              error
	cpuTime                time.Duration // of each thread; 0 if it is not known
	unknown                trace.SpanID  // a root that the reader does not find
	window                 time.Duration // length of each snapshot; 0 for an hour

	mu               sync.Mutex
	started, stopped int
	config           rt.FlightRecorderConfig
	snapshots        []time.Time
	wanted           [][]analysis.Root
}

func (f *fake) Start() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.startError == nil {
		f.started++
	}
	return f.startError
}

func (f *fake) Stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped++
}

func (f *fake) WriteTo(w io.Writer) (int64, error) {
	f.mu.Lock()
	f.snapshots = append(f.snapshots, time.Now())
	f.mu.Unlock()
	data := f.data
	if f.size > 0 {
		data = make([]byte, f.size)
	}
	n, _ := w.Write(data)
	return int64(n), f.writeError
}

func (f *fake) process() process {
	p := process{
		newRecorder: func(c rt.FlightRecorderConfig) flightRecorder {
			f.config = c
			return f
		},
		threadTime: func() time.Duration { return f.cpuTime },
		read: func(r io.ReadSeeker, wanted []analysis.Root, _ func(string) bool, pause func()) ([]waits.Request, time.Time, error) {
			began := time.Now().Add(-cmp.Or(f.window, time.Hour))
			n, err := io.Copy(io.Discard, r)
			if err != nil || n != int64(f.size) {
				return nil, time.Time{}, errors.New("the snapshot is not what was written")
			}
			f.mu.Lock()
			f.wanted = append(f.wanted, wanted)
			f.mu.Unlock()
			if f.work != nil {
				f.work(pause)
			}
			var found []waits.Request
			for _, w := range wanted {
				if w.SpanID != f.unknown {
					found = append(found, waits.Request{TraceID: w.TraceID, RootID: w.SpanID, Duration: w.Duration})
				}
			}
			return found, began, f.readError
		},
	}
	if f.read != nil {
		p.read = f.read
	}
	return p
}

// taken returns the times of the snapshots.
func (f *fake) taken() []time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.snapshots)
}

// batches returns how many roots each snapshot was read for.
func (f *fake) batches() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	var sizes []int
	for _, w := range f.wanted {
		sizes = append(sizes, len(w))
	}
	return sizes
}

// slowRoot returns a root that ended now, after a time.
func slowRoot(number int, took time.Duration) bridge.Root {
	r := root(byte(number))
	r.SpanID[2] = byte(number >> 8)
	r.Start = r.End.Add(-took)
	return r
}

// root returns a root that ended now. Each number is another one.
func root(number byte) bridge.Root {
	now := time.Now()
	return bridge.Root{TraceID: trace.TraceID{1, number}, SpanID: trace.SpanID{2, number}, Name: "GET /slow", Start: now, End: now}
}

// A harness is a recorder in a bubble of testing/synctest.
type harness struct {
	*recorder
	fake *fake
	log  *bytes.Buffer

	mu      sync.Mutex
	answers map[trace.SpanID][]*waits.Request // what functions that watch were told
	refused uint64                            // calls of Slow
}

func (h *harness) Slow(r bridge.Root) bool {
	accepted := h.recorder.Slow(r)
	if !accepted {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.refused++
	}
	return accepted
}

func newHarness(t *testing.T, c Config, f *fake) *harness {
	t.Helper()
	h := &harness{fake: f, log: &bytes.Buffer{}, answers: map[trace.SpanID][]*waits.Request{}}
	h.recorder = newRecorder(c, f.process())
	h.recorder.log = slog.New(slog.NewTextHandler(h.log, nil))
	h.Watch(func(root bridge.Root, request *waits.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.answers[root.SpanID] = append(h.answers[root.SpanID], request)
	})
	t.Cleanup(func() {
		if err := h.Shutdown(context.Background()); err != nil {
			t.Error("Shutdown: ", err)
		}
		h.balanced(t)
	})
	return h
}

func (h *harness) arm(t *testing.T, d time.Duration) {
	t.Helper()
	if err := h.Arm(d); err != nil {
		t.Fatal(err)
	}
}

// balanced fails the test unless each request that was accepted has one outcome, which the functions that watch were told once.
func (h *harness) balanced(t *testing.T) {
	t.Helper()
	s := h.Stats()
	if s.Pending != 0 {
		t.Errorf("%d requests are pending after the end: %+v", s.Pending, s)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	accepted, analysed := uint64(0), uint64(0)
	for id, requests := range h.answers {
		accepted++
		if len(requests) != 1 {
			t.Errorf("the end of root %v was told %d times, want once", id, len(requests))
		}
		if requests[0] != nil {
			analysed++
		}
	}
	if want := s.Slow - h.refused; accepted != want || analysed != s.Analysed {
		t.Errorf("functions that watch were told of %d requests, %d with a result; want %d and %d: %+v", accepted, analysed, want, s.Analysed, s)
	}
	if h.fake.started != h.fake.stopped {
		t.Errorf("the flight recorder was started %d times and stopped %d times", h.fake.started, h.fake.stopped)
	}
}
