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

// What profiles take must not grow with the program: a profile of 100 000 goroutines with labels
// takes more than a second of a processor. These bound the shares of time: one in so many.
const (
	snapshotShare = 100  // of a kind of profile
	leakShare     = 1000 // of looking for leaked goroutines
)

// worthPuttingOff is how much CPU time a profile takes at least that puts off the next one.
const worthPuttingOff = 100 * time.Millisecond

// ErrStopped is the error of [Source.Take] after [Source.Stop].
var ErrStopped = errors.New("profiling is stopped")

// A Sink gets the profiles, one after another, on the source's goroutine. An error, or a panic,
// counts as a profile that could not be taken.
type Sink interface {
	// CPU takes the CPU samples of a time. There is at least one.
	CPU(CPU) error
	// Runtime takes a profile of the runtime's.
	Runtime(Runtime) error
}

// CPU has the samples of a time.
type CPU struct {
	Trace *profile.Trace
	// multiply the samples' weights by it: then they stand for the CPU time that the process used
	Factor float64
	End    time.Time // when Trace stopped, by the wall clock
}

// Runtime is a profile of the runtime's.
type Runtime struct {
	Kind  string
	Data  []byte    // in pprof's format; it may have no samples
	Since time.Time // when the last profile of the kind was taken, or the source began
	Taken time.Time
}

// Config configures [Start]. All fields but LeakInterval have to be set.
type Config struct {
	Interval time.Duration // between two profiles of a kind
	// between two profiles of leaked goroutines; 0 and less: there are none
	LeakInterval time.Duration
	Sink         Sink
	Process      Process
	Counts       string // where the program finds the counts, for log lines: "Stats"
	Logger       *slog.Logger
}

// A Process is the origin of profiles.
type Process struct {
	Now   func() time.Time
	Clock func() time.Duration         // the time by the clock of traces
	Spent func(f func()) time.Duration // calls f, and returns its CPU time
	// calls full when it has stopped because its buffer is full
	Profiler  func(full func()) (Profiler, error)
	Snapshots []Snapshot
	Leaks     *Snapshot // nil: the runtime has no profile of leaked goroutines
}

// ThisProcess returns the program's own process. The CPU samples name the spans that the selection
// says.
func ThisProcess(ctx context.Context, spans profiling.Selection) Process {
	timeline := observer.ProcessTimeline()
	return Process{Now: time.Now, Clock: timeline.Now, Spent: cputime.Spent,
		Snapshots: RuntimeSnapshots(), Leaks: leaks(),
		Profiler: func(full func()) (Profiler, error) {
			// A timeline in ctx may have a clock of its own; profiles are of real time.
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

// A Source takes profiles. Its methods may be called concurrently.
type Source struct {
	c   Config
	cpu cpuProfile
	// when the last snapshot was taken, by kind; the loop's, as due and logged
	since map[string]time.Time
	due   map[string]time.Time // when the next one may be taken

	logged map[string]bool    // events that have their one log line
	takes  chan chan struct{} // from Take; the loop closes each when the sink has the profiles
	stop   chan struct{}      // closed by Stop
	done   chan struct{}      // closed when the loop has ended
	once   sync.Once          // of stop

	memory atomic.Pointer[memory] // of the last minute; nil until LastMinute is called

	mu    sync.Mutex // guards stats
	stats profiling.ContinuousStats
}

// Start takes profiles from now on. Errors wrap [profiling.ErrNotAllowed] if PERFLINE_PROFILING
// forbids profiling.
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
		// The first profile must not have what was before Start. An error will come again when the
		// profile is due.
		of := &c.Process.Snapshots[i]
		_ = of.give(func([]byte) error { return nil })
		s.since[of.Kind] = c.Process.Now()
	}
	s.since[Leak] = c.Process.Now()
	go func() {
		unlabel()
		s.run()
	}()
	return s, nil
}

// Unlabelled calls f on a goroutine without labels, and returns when f has. The goroutines that f
// starts have none either: the time of profiling and of delivery must not count as a request's.
func Unlabelled(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		unlabel()
		f()
	}()
	<-done
}

// unlabel takes away the labels that the calling goroutine has from the one that started it.
func unlabel() { pprof.SetGoroutineLabels(context.Background()) }

// run takes profiles.
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

// take takes a profile of each kind, except of leaked goroutines. Kinds that take too long are put
// off, unless all are asked for.
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

// spend takes a profile, and decides when the next one of its kind may be taken. The CPU time
// decides: on a busy machine, any profile takes long.
func (s *Source) spend(of *Snapshot) {
	began := s.c.Process.Now()
	took := s.c.Process.Spent(func() { s.takeSnapshot(of) })
	if took < worthPuttingOff {
		return
	}
	next := snapshotShare * took
	s.due[of.Kind] = began.Add(next)
	if next > s.c.Interval {
		s.log("put off "+of.Kind,
			fmt.Sprintf("perfline: a %s profile took %v of CPU time, so that the next one comes after %v; %s.PutOff counts those that are left out",
				of.Kind, took.Round(time.Millisecond), next.Round(time.Second), s.c.Counts), nil)
	}
}

// lookForLeaks takes a profile of leaked goroutines, and returns when the next one is due.
func (s *Source) lookForLeaks() time.Duration {
	began := time.Now()
	s.takeSnapshot(s.c.Process.Leaks)
	took := time.Since(began)
	next := leakShare * took
	if next <= s.c.LeakInterval {
		return s.c.LeakInterval
	}
	s.log("put off leaks",
		fmt.Sprintf("perfline: a profile of leaked goroutines took %v, so that the next one comes after %v", took.Round(time.Millisecond), next.Round(time.Second)), nil)
	return next
}

func (s *Source) takeSnapshot(of *Snapshot) {
	taken := s.c.Process.Now()
	err := of.give(func(data []byte) error {
		return s.c.Sink.Runtime(
			Runtime{Kind: of.Kind, Data: data, Since: s.since[of.Kind], Taken: taken})
	})
	s.since[of.Kind] = taken
	if err != nil {
		s.fail(of.Kind, err)
	}
}

func (s *Source) takeCPU(last bool) {
	parts, restarted, err := s.cpu.cut(last)
	now, clock := s.c.Process.Now(), s.c.Process.Clock()
	if restarted {
		s.mu.Lock()
		s.stats.Restarts++
		s.mu.Unlock()
		s.log("restart", "perfline: CPU profiling ended and was restarted; further restarts are counted in "+s.c.Counts+".Restarts but not logged", err)
	} else if err != nil {
		s.fail("cpu", err)
	}
	for _, t := range parts {
		s.mu.Lock()
		s.stats.LostSamples += t.Stats.Lost
		s.stats.Gaps += t.Stats.Gaps
		s.stats.GapTime += t.Stats.GapTime
		s.stats.BusyGaps += t.Stats.BusyGaps
		s.stats.BusyTime += t.Stats.BusyTime
		s.mu.Unlock()
		if len(t.Samples) == 0 {
			continue
		}
		// A part ended when it was cut, or long before, with its profiler.
		cpu := CPU{Trace: t, Factor: s.cpu.calibration.of(t), End: now.Add(t.Stopped - clock)}
		if m := s.memory.Load(); m != nil {
			m.add(cpu, now)
		}
		if err := recovered(func() error { return s.c.Sink.CPU(cpu) }); err != nil {
			s.fail("cpu", err)
		}
	}
}

// fail counts a profile that could not be taken.
func (s *Source) fail(kind string, err error) {
	s.mu.Lock()
	s.stats.Failed++
	s.mu.Unlock()
	s.log(kind, fmt.Sprintf(
		"perfline: taking a %s profile failed; further failures are counted in %s.Failed but not logged", kind, s.c.Counts), err)
}

// log logs the first event of its name.
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

// Take takes profiles now, except of leaked goroutines, and returns when the sink has them. The
// error is [ErrStopped], or the cause of ctx if that ended. Nothing is taken if it ended before.
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

// Stop takes the last profiles, except of leaked goroutines, and returns when the sink has them.
// The error is the cause of ctx if that ended before. Further calls wait for the same end.
func (s *Source) Stop(ctx context.Context) error {
	s.once.Do(func() { close(s.stop) })
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Stats returns the counts.
func (s *Source) Stats() profiling.ContinuousStats {
	s.mu.Lock()
	all := s.stats
	s.mu.Unlock()
	all.State, all.Engine, all.Fallback = s.cpu.status()
	return all
}
