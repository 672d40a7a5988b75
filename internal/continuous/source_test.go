package continuous_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/internal/continuous"
	"github.com/perfline/perfline/internal/leaktest"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A profiler has one sample a trace. Traces stop after a second. It waits for hold in Stop, if there is one.
type profiler struct {
	hold chan struct{}
	ends bool // it is stopped then
}

func (*profiler) TakeTrace() (*profile.Trace, error) {
	b := profile.NewBuilder(nil)
	b.Add(nil, profile.Sample{ContextID: profile.None, Weight: time.Millisecond})
	t := b.Trace(nil)
	t.Stopped = time.Second
	return t, nil
}

func (p *profiler) Stop() (*profile.Trace, error) {
	if p.hold != nil {
		<-p.hold
	}
	return p.TakeTrace()
}

func (p *profiler) State() profiling.State {
	if p.ends {
		return profiling.Stopped
	}
	return profiling.Started
}

func (*profiler) Engine() profile.Engine { return profile.EngineCPU }
func (*profiler) Fallback() string       { return "" }

// A sink notes what it gets. Its errors are err, or a panic.
type sink struct {
	mu     sync.Mutex // guards got and ends
	got    []string
	ends   []time.Time // of CPU profiles
	err    error
	panics bool
}

func (s *sink) note(what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, what)
	return s.err
}

func (s *sink) CPU(c continuous.CPU) error {
	if s.panics {
		panic("the sink's")
	}
	s.mu.Lock()
	s.ends = append(s.ends, c.End)
	s.mu.Unlock()
	return s.note("cpu of " + c.Trace.Stopped.String())
}

func (s *sink) Runtime(r continuous.Runtime) error {
	if s.panics {
		panic("the sink's")
	}
	return s.note(r.Kind + " of " + r.Taken.Sub(r.Since).String() + ": " + string(r.Data))
}

func (s *sink) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

// free calls f, which takes no CPU time.
func free(f func()) time.Duration { f(); return 0 }

func start(t *testing.T, p *profiler, log io.Writer, sinks ...continuous.Sink) *continuous.Source {
	t.Helper()
	began := time.Now()
	source, err := continuous.Start(continuous.Config{
		Interval: 10 * time.Second, LeakInterval: 25 * time.Second, Sinks: sinks, Logger: slog.New(slog.NewTextHandler(log, nil)),
		Process: continuous.Process{
			Now: time.Now, Clock: func() time.Duration { return time.Since(began) }, Spent: free, Profiler: func(func()) (continuous.Profiler, error) { return p, nil },
			Snapshots: []continuous.Snapshot{{Kind: continuous.Heap, Take: write("h")}, {Kind: continuous.Mutex, Take: write("")}},
			Leaks:     &continuous.Snapshot{Kind: continuous.Leak, Take: write("l")},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// A kind of profile that takes long has a hundredth of the time. Others and those that are asked for come as before, and the log has a line.
func TestSnapshotsThatTakeLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		var long, used atomic.Int64
		long.Store(int64(time.Second))
		var log bytes.Buffer
		source, err := continuous.Start(continuous.Config{
			Interval: 10 * time.Second, Sinks: []continuous.Sink{s}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Process: continuous.Process{
				Now: time.Now, Clock: func() time.Duration { return 0 }, Spent: func(take func()) time.Duration {
					before := used.Load()
					take()
					return time.Duration(used.Load() - before)
				}, Profiler: func(func()) (continuous.Profiler, error) { return &profiler{}, nil },
				Snapshots: []continuous.Snapshot{
					{Kind: continuous.Heap, Take: write("h")},
					{Kind: continuous.Goroutine, Take: func(w io.Writer) error {
						used.Add(long.Load())
						time.Sleep(time.Second)
						return write("g")(w)
					}},
				},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		count := func() (heap, goroutine int) {
			for _, got := range s.all() {
				if strings.HasPrefix(got, continuous.Heap) {
					heap++
				} else if strings.HasPrefix(got, continuous.Goroutine) {
					goroutine++
				}
			}
			return heap, goroutine
		}
		time.Sleep(1005 * time.Second)
		synctest.Wait()
		if heap, goroutine := count(); heap != 100 || goroutine != 10 || source.Stats().PutOff != 90 {
			t.Errorf("%d profiles of the heap and %d of goroutines, and %d are put off, want 100, 10 and 90", heap, goroutine, source.Stats().PutOff)
		}
		if err := source.Take(t.Context()); err != nil {
			t.Error(err)
		}
		if _, goroutine := count(); goroutine != 11 {
			t.Errorf("a profile of goroutines that was asked for is put off")
		}
		long.Store(int64(99 * time.Millisecond)) // the rest of the second it waits
		time.Sleep(200 * time.Second)            // the one that was asked for put off those of 100 s
		synctest.Wait()
		if heap, goroutine := count(); heap != 121 || goroutine != 21 {
			t.Errorf("%d profiles of the heap and %d of goroutines, which are short now", heap, goroutine)
		}
		if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "a goroutine profile took 1s of CPU time, so that the next one comes after 1m40s; Stats.PutOff counts") {
			t.Errorf("logged %s", log.String())
		}
		if err := source.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func write(data string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, data); return err }
}

// A sink gets each profile at its time, with the time that it is of, and no empty ones.
func TestSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		var log bytes.Buffer
		source := start(t, &profiler{}, &log, s)
		time.Sleep(26 * time.Second)
		if err := source.Take(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		if err := errors.Join(source.Stop(t.Context()), source.Stop(t.Context())); err != nil {
			t.Error(err)
		}
		want := []string{
			"cpu of 1s", "heap of 10s: h", "cpu of 1s", "heap of 10s: h", "goroutineleak of 25s: l",
			"cpu of 1s", "heap of 6s: h", "cpu of 1s", "heap of 1s: h",
		}
		if got := s.all(); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if err := source.Take(t.Context()); !errors.Is(err, continuous.ErrStopped) {
			t.Errorf("Take after Stop: %v", err)
		}
		if log.Len() > 0 || source.Stats().Failed > 0 {
			t.Errorf("counts are %+v, logged %s", source.Stats(), &log)
		}
	})
}

// A profile at which a sink fails is counted, and other sinks get it. The log has one line for its
// kind.
func TestSinkFails(t *testing.T) {
	for name, s := range map[string]*sink{"error": {err: errors.New("no room")}, "panic": {panics: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // where no interval passes
				var log bytes.Buffer
				other := &sink{}
				source := start(t, &profiler{}, &log, s, other)
				for range 2 {
					if err := source.Take(t.Context()); err != nil {
						t.Error(err)
					}
				}
				if err := source.Stop(t.Context()); err != nil {
					t.Error(err)
				}
				if n := strings.Count(log.String(), "counted in Stats.Failed but not logged"); n != 2 || source.Stats().Failed != 3*2 || len(other.all()) != 3*2 {
					t.Errorf("counts are %+v, logged %s, the other sink got %q", source.Stats(), &log, other.all())
				}
			})
		})
	}
}

// A profile is of the time in which its profiler ran, which may have ended long before the profile was taken.
func TestProfilerThatEndedBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, began := &sink{}, time.Now()
		source := start(t, &profiler{ends: true}, io.Discard, s)
		time.Sleep(11 * time.Second)
		if err := source.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		for _, end := range s.ends {
			if d := end.Sub(began); d != time.Second {
				t.Errorf("a profile ends after %v, want 1s", d)
			}
		}
		if len(s.ends) != 3 { // two parts at 10 s
			t.Errorf("%d profiles, want 3", len(s.ends))
		}
	})
}

// Take takes nothing for a context that is over.
func TestTakeTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		source := start(t, &profiler{}, io.Discard, s)
		synctest.Wait() // it could take now
		over, cancel := context.WithCancel(t.Context())
		cancel()
		for range 100 {
			if err := source.Take(over); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}
		synctest.Wait()
		if got := s.all(); len(got) > 0 {
			t.Errorf("the sink got %q", got)
		}
		if err := source.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Take and Stop end with their context.
func TestSourceThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &profiler{hold: make(chan struct{})}
		source := start(t, p, io.Discard, &sink{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := source.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Stop: %v", err)
		}
		if err := source.Take(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Take: %v", err)
		}
		close(p.hold)
		if err := source.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
