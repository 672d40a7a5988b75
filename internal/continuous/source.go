package continuous

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perfline/perfline/internal/cputime"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
)

// The time of profiles must not grow with the program: a profile of 100 000 goroutines with labels
// takes more than a second of a processor. A kind of profile uses at most one part in so many.
const (
	snapshotShare = 100  // of a processor, for a kind of profile
	leakShare     = 1000 // of the time, for leaked goroutines
)

// minDelayCost is the CPU time of a profile from which on the next profile is delayed.
const minDelayCost = 100 * time.Millisecond

// ErrStopped is the error of [Source.Take] after [Source.Stop].
var ErrStopped = errors.New("profiling is stopped")

// A Sink receives the profiles of a source. The source calls the methods one after another, on one
// goroutine. An error or a panic counts as a failed profile. A sink must not change a profile,
// because all sinks share the profile.
type Sink interface {
	CPU(CPU) error
	Runtime(Runtime) error
}

// A CPU is a profile of CPU time with at least one sample.
type CPU struct {
	Trace  *profile.Trace
	Factor float64   // the sum of the weights times Factor is the CPU time of the process
	End    time.Time // wall-clock time of Trace.Stopped
}

// A Runtime is one profile of the Go runtime, such as a heap profile.
type Runtime struct {
	Kind  string
	Data  []byte    // in the format of pprof; Data may contain no samples
	Since time.Time // time of the last profile of this kind, or the start of the source
	Taken time.Time
}

// Config configures [Start]. Interval, Process and Logger are required.
type Config struct {
	Interval     time.Duration // between two profiles of a kind
	LeakInterval time.Duration // between two profiles of leaked goroutines; 0 or less means none
	Sinks        []Sink
	Process      Process
	Logger       *slog.Logger
}

// A Process provides the profiles and the clocks of a process.
type Process struct {
	Now       func() time.Time
	Clock     func() time.Duration                // returns the time on the clock of traces
	Spent     func(f func()) time.Duration        // calls f and returns the CPU time of f
	Profiler  func(full func()) (Profiler, error) // calls full when the buffer is full
	Snapshots []Snapshot
	Leaks     *Snapshot // nil if the runtime provides no profile of leaked goroutines
}

// ThisProcess returns a Process for the running program. The CPU samples contain the names and ids
// of the spans that the parameter spans selects.
func ThisProcess(ctx context.Context, spans profiling.Selection) Process {
	timeline := observer.ProcessTimeline()
	return Process{Now: time.Now, Clock: timeline.Now, Spent: cputime.Spent,
		Snapshots: RuntimeSnapshots(), Leaks: leaks(),
		Profiler: func(full func()) (Profiler, error) {
			// A timeline in ctx may have its own clock; profiles are of real time.
			p, err := profiling.Start(observer.NewContext(context.WithoutCancel(ctx), timeline),
				profiling.Options{SampleInterval: sampleInterval, MaxBufferSize: bufferSize,
					Spans: spans})
			if err != nil {
				return nil, err
			}
			p.OnSampleBufferFull(full)
			return p, nil
		}}
}

// A Source records profiles and passes the profiles to sinks. The methods may be called
// concurrently.
type Source struct {
	c     Config
	takes chan chan struct{} // from Take; run closes each when the sinks have the profiles
	stop  chan struct{}      // closed by Stop
	done  chan struct{}      // closed at the end of run
	once  sync.Once          // closes stop

	// The goroutine of run owns these fields.
	cpu    cpuProfile
	since  map[string]time.Time // when the last snapshot was taken, by kind
	due    map[string]time.Time // when the next snapshot may be taken, by kind
	logged map[string]bool      // the events in the log

	memory atomic.Pointer[memory] // of the last minute; nil until LastMinute is called

	mu    sync.Mutex // guards stats
	stats profiling.ContinuousStats
}

// Start starts a source. If PERFLINE_PROFILING forbids profiling, the error wraps
// [profiling.ErrNotAllowed].
func Start(c Config) (*Source, error) {
	s := &Source{
		c: c, cpu: cpuProfile{start: c.Process.Profiler, full: make(chan struct{}, 1)},
		since: map[string]time.Time{}, due: map[string]time.Time{},
		logged: map[string]bool{}, takes: make(chan chan struct{}), stop: make(chan struct{}),
		done: make(chan struct{}),
	}
	if err := s.cpu.begin(); err != nil {
		return nil, err
	}
	for i := range c.Process.Snapshots {
		// The first profile must not include the time before Start. A permanent error returns when
		// the profile is due.
		of := &c.Process.Snapshots[i]
		_, _ = of.take()
		s.since[of.Kind] = c.Process.Now()
	}
	s.since[Leak] = c.Process.Now()
	go func() {
		unlabel()
		s.run()
	}()
	return s, nil
}

// Unlabelled calls f on a goroutine without labels, and waits until the goroutine ends. Goroutines
// that f starts carry no labels. Therefore the time of profiling and of delivery does not count for
// a request.
func Unlabelled(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		unlabel()
		f()
	}()
	<-done
}

// unlabel removes the labels that the calling goroutine inherited.
func unlabel() { pprof.SetGoroutineLabels(context.Background()) }

// run takes profiles until Stop.
func (s *Source) run() {
	defer close(s.done)
	tick := time.NewTicker(s.c.Interval)
	defer tick.Stop()
	var leaksDue <-chan time.Time // never, without the profile
	if s.c.Process.Leaks != nil && s.c.LeakInterval > 0 {
		leaksDue = time.After(s.c.LeakInterval)
	}
	for {
		select {
		case <-tick.C:
			s.take(false, false)
		case <-leaksDue:
			leaksDue = time.After(s.lookForLeaks())
		case <-s.cpu.full:
			s.takeCPU(false)
		case taken := <-s.takes:
			s.take(false, true)
			close(taken)
		case <-s.stop:
			s.take(true, true)
			return
		}
	}
}

// take takes a profile of each kind, except of leaked goroutines. Unless all is set, it skips
// expensive kinds until they are due.
func (s *Source) take(last, all bool) {
	s.takeCPU(last)
	for i := range s.c.Process.Snapshots {
		of := &s.c.Process.Snapshots[i]
		if !all && s.c.Process.Now().Before(s.due[of.Kind]) {
			s.mu.Lock()
			s.stats.PutOff++
			s.mu.Unlock()
			continue
		}
		s.spend(of)
	}
}

// spend takes a profile, and sets the next time for its kind. The CPU time decides: on a busy
// machine, any profile takes long.
func (s *Source) spend(of *Snapshot) {
	began := s.c.Process.Now()
	took := s.c.Process.Spent(func() { s.takeSnapshot(of) })
	if took < minDelayCost {
		return
	}
	next := snapshotShare * took
	s.due[of.Kind] = began.Add(next)
	if next > s.c.Interval {
		s.log("put off "+of.Kind, fmt.Sprintf("perfline: a %s profile took %v of CPU time, "+
			"so that the next one comes after %v; Stats.PutOff counts those that are left out",
			of.Kind, took.Round(time.Millisecond), next.Round(time.Second)), nil)
	}
}

// lookForLeaks takes a profile of leaked goroutines, and returns the time until the next one.
func (s *Source) lookForLeaks() time.Duration {
	began := time.Now()
	s.takeSnapshot(s.c.Process.Leaks)
	took := time.Since(began)
	next := leakShare * took
	if next <= s.c.LeakInterval {
		return s.c.LeakInterval
	}
	s.log("put off leaks", fmt.Sprintf("perfline: a profile of leaked goroutines took %v, "+
		"so that the next one comes after %v", took.Round(time.Millisecond),
		next.Round(time.Second)), nil)
	return next
}

func (s *Source) takeSnapshot(of *Snapshot) {
	r := Runtime{Kind: of.Kind, Since: s.since[of.Kind], Taken: s.c.Process.Now()}
	s.since[of.Kind] = r.Taken
	var err error
	if r.Data, err = of.take(); err != nil {
		s.fail(of.Kind, err)
	} else if len(r.Data) > 0 {
		s.give(of.Kind, func(to Sink) error { return to.Runtime(r) })
	}
}

// give calls f for each sink.
func (s *Source) give(kind string, f func(Sink) error) {
	for _, to := range s.c.Sinks {
		if err := recovered(func() error { return f(to) }); err != nil {
			s.fail(kind, err)
		}
	}
}

func (s *Source) takeCPU(last bool) {
	parts, restarted, err := s.cpu.cut(last)
	now, clock := s.c.Process.Now(), s.c.Process.Clock()
	if restarted {
		s.mu.Lock()
		s.stats.Restarts++
		s.mu.Unlock()
		s.log("restart", "perfline: CPU profiling ended and was restarted; "+
			"further restarts are counted in Stats.Restarts but not logged", err)
	} else if err != nil {
		s.fail("cpu", err)
	}
	for _, t := range parts {
		s.mu.Lock()
		s.stats.LostSamples += t.Stats.Lost
		s.stats.Gaps += t.Stats.Gaps
		s.stats.GapTime += t.Stats.GapTime
		s.mu.Unlock()
		if len(t.Samples) == 0 {
			continue
		}
		// A part may have ended long before the cut, with its profiler.
		cpu := CPU{Trace: t, Factor: s.cpu.calibration.of(t), End: now.Add(t.Stopped - clock)}
		if m := s.memory.Load(); m != nil {
			m.add(cpu, now)
		}
		s.give("cpu", func(to Sink) error { return to.CPU(cpu) })
	}
}

// fail counts a failed profile.
func (s *Source) fail(kind string, err error) {
	s.mu.Lock()
	s.stats.Failed++
	s.mu.Unlock()
	s.log(kind, "perfline: taking a "+kind+" profile failed; "+
		"further failures are counted in Stats.Failed but not logged", err)
}

// log logs the first event of a name.
func (s *Source) log(event, message string, err error) {
	if s.logged[event] {
		return
	}
	s.logged[event] = true
	if err == nil {
		s.c.Logger.Warn(message)
		return
	}
	s.c.Logger.Warn(message, "error", err)
}

// Take records all profiles now, except for leaked goroutines. Take returns after the sinks
// received the profiles. If the source has stopped, Take returns [ErrStopped]. If ctx ends first,
// Take returns the cause of the end of ctx. If ctx has ended before the call, Take records no
// profile.
func (s *Source) Take(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	taken := make(chan struct{})
	select {
	case s.takes <- taken:
	case <-s.done:
		return ErrStopped
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case <-taken:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Stop records the last profiles, except for leaked goroutines, and stops the source. Stop returns
// after the sinks received the profiles. If ctx ends first, Stop returns the cause of the end of
// ctx. Further calls also wait until the source has stopped.
func (s *Source) Stop(ctx context.Context) error {
	s.once.Do(func() { close(s.stop) })
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Stats returns the counts since Start.
func (s *Source) Stats() profiling.ContinuousStats {
	s.mu.Lock()
	all := s.stats
	s.mu.Unlock()
	all.State, all.Engine, all.Fallback = s.cpu.status()
	return all
}
