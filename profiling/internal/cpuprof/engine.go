//go:build linux || darwin

package cpuprof

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"time"
	"unsafe"

	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/profile"
)

const (
	usualTick = 10 * time.Millisecond
	period    = 100 * time.Millisecond
	deepest   = 64 // frames in a stack of the runtime, see its maxCPUProfStack
	// overdue ends a read that sleeps. A signal is handled in microseconds, but a process may be
	// stopped for a while.
	overdue = 2 * time.Second
)

// An Engine samples running code with the CPU profiler of Go's runtime. The engine reads the
// samples from the profiler's log, a buffer in the runtime. The sampling interval is CPU time of a
// thread, so an idle process yields no samples.
//
// The field Stack of a sample contains all logical frames except runtime.goexit, as in
// runtime/pprof. The pointer Tag of a sample stays valid while a reference to Tag exists.
type Engine struct {
	symbols  *sampling.Symbols
	cpu      profiler
	owner    owner
	decoder  decoder
	interval time.Duration // of a record; 0 while the engine does not run
	shortest time.Duration
	lost     uint64
	entry    uintptr       // the program counter at which nudge begins
	nudged   record        // the last record of a nudge, without its stack
	cost     time.Duration // the time of the quickest nudge; 0 before the first

	sample sampling.Sample // memory for the next sample
	pcs    []uintptr       // memory for its stack
}

var _ sampling.Engine = (*Engine)(nil)

// New returns an engine that is not running. If the layout of the runtime's labels is unknown, the
// error wraps [ErrUnsupported]. Only Start checks the log of the CPU profiler. answerTimeout limits
// the time that Start waits for pprof.StartCPUProfile. StartCPUProfile blocks while a call of
// StopCPUProfile writes a profile.
func New(symbols *sampling.Symbols, answerTimeout time.Duration) (*Engine, error) {
	if err := goruntime.CheckLabels(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return newEngine(symbols, answerTimeout, process{}), nil
}

func newEngine(symbols *sampling.Symbols, answerTimeout time.Duration, cpu profiler) *Engine {
	return &Engine{
		symbols:  symbols,
		cpu:      cpu,
		owner:    owner{cpu: cpu, answerTimeout: answerTimeout},
		shortest: tick(),
		entry:    reflect.ValueOf(nudge).Pointer(),
	}
}

// Name returns "cpu", the name of the engine.
func (e *Engine) Name() profile.Engine { return profile.EngineCPU }

// Period returns the time between calls of Tick. If other code stops the engine's profile, this
// code waits at most one period. The log stores at least 1 900 deep stacks. One period does not
// fill the log.
func (e *Engine) Period() time.Duration { return period }

// Lost returns the number of dropped samples. The engine drops samples when the log is full or
// undecodable.
func (e *Engine) Lost() uint64 { return e.lost }

// Cost returns the time for which a sample stops the sampled thread. Cost estimates this time as
// the shortest time in which the process sent and handled a signal. Before the first signal, Cost
// returns 0.
func (e *Engine) Cost() time.Duration { return e.cost }

// Interval returns the sampling interval that the engine uses for a requested interval. The result
// is one second divided by a whole number, and at most 1 s. The result is at least one tick of the
// kernel. The kernel checks timers of CPU time at each tick.
func (e *Engine) Interval(requested time.Duration) time.Duration {
	return time.Second / time.Duration(e.rate(requested))
}

// rate returns the number of samples a second for an interval that is at most requested.
func (e *Engine) rate(requested time.Duration) int {
	requested = min(max(requested, e.shortest), time.Second)
	// This is the lowest n for which 1 s / n, rounded down, is at most requested: Interval must
	// return its own result unchanged. A tick may not be a whole fraction of a second, and the
	// interval must not be shorter.
	return int(min(time.Second/(requested+1)+1, time.Second/e.shortest))
}

// Start starts sampling at the given interval. If Start returns one of these errors, the engine
// does not run:
//
//   - Other code uses the CPU profiler. The error wraps [sampling.ErrBusy].
//   - The log of the CPU profiler fails the engine's test. The error wraps [ErrUnsupported].
//
// If the error also wraps [sampling.ErrTransient], a later Start may succeed.
func (e *Engine) Start(interval time.Duration) error {
	if e.interval != 0 {
		return fmt.Errorf("the engine runs already, at an interval of %v", e.interval)
	}
	hz := e.rate(interval)
	if err := e.owner.acquire(hz); err != nil {
		return err
	}
	e.decoder = decoder{}
	e.interval = time.Second / time.Duration(hz)
	discard := func(*sampling.Sample) {} // samples count only after Start
	test := e.test
	if !sleeps {
		test = e.testAnyThread
	}
	switch err := test(hz, discard); {
	case err == nil:
		return nil
	case errors.Is(err, sampling.ErrTaken):
		return fmt.Errorf("%w: %w", sampling.ErrBusy, e.handOver())
	default:
		e.Stop(discard)
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
}

// Tick reads the new samples from the log, and passes each sample to the function emit. If other
// code took over the CPU profiler, the error wraps [sampling.ErrTaken], and the engine stops. If
// signals no longer arrive, Tick returns the same error. The next call of Start then finds the
// cause.
func (e *Engine) Tick(emit func(*sampling.Sample)) error {
	if e.interval == 0 {
		return nil
	}
	err := e.read(emit)
	switch {
	case errors.Is(err, sampling.ErrTaken):
		err = fmt.Errorf("%w: %w", sampling.ErrTaken, e.handOver())
	case err != nil:
		e.Stop(emit)
		err = fmt.Errorf("%w: %w", sampling.ErrTaken, err)
	}
	return err
}

// handOver leaves the log to the other code that ended it, and returns the call that ended the log.
func (e *Engine) handOver() error {
	e.interval = 0
	return e.owner.handOver()
}

// Flush calls Tick, and returns the error of Tick.
func (e *Engine) Flush(emit func(*sampling.Sample)) error { return e.Tick(emit) }

// Stop passes the remaining samples in the log to the function emit, and stops sampling. If the
// engine does not run, Stop cancels a pending request for the CPU profiler.
func (e *Engine) Stop(emit func(*sampling.Sample)) {
	if e.interval == 0 {
		e.owner.cancelRequest()
		return
	}
	e.cpu.SetRate(0)
	drained := false
	defer func() {
		if !drained { // emit panicked; other code must get the CPU profiler nevertheless
			e.owner.drain(func([]uint64, []unsafe.Pointer) {})
		}
		e.owner.release()
		e.interval = 0
	}()
	e.owner.drain(func(data []uint64, tags []unsafe.Pointer) { e.records(data, tags, emit) })
	drained = true
}

// read emits the samples in the log. [sampling.ErrTaken] means that other code ended the log. After
// any other error the log is still ours.
func (e *Engine) read(emit func(*sampling.Sample)) error {
	// The end of the log wakes a sleeping reader. The log is ours while we read, so the alarm does
	// not end another owner's log.
	expired := make(chan struct{})
	alarm := time.AfterFunc(overdue, func() {
		e.cpu.SetRate(0)
		close(expired)
	})
	defer alarm.Stop() // also when emit panics
	err := e.readNudged(emit)
	if !alarm.Stop() {
		<-expired
		return transient{fmt.Errorf("no signal within %v", overdue)} // a stopped process?
	}
	return err
}

// readNudged reads up to the record of a nudge. The log wraps around, so one read may not return
// all records. Reading on must not sleep, and must not wait for the next tick.
func (e *Engine) readNudged(emit func(*sampling.Sample)) error {
	began := sampling.Now()
	if err := e.cpu.Nudge(); err != nil {
		return fmt.Errorf("sending SIGPROF: %w", err)
	}
	if took := time.Duration(sampling.Now() - began); sleeps && (e.cost == 0 || took < e.cost) {
		e.cost = took
	}
	for {
		data, tags, eof := e.cpu.Read()
		switch {
		case eof:
			return sampling.ErrTaken
		case len(data) == 0:
			return nil
		}
		nudged, full := e.records(data, tags, emit)
		switch {
		case nudged && sleeps:
			return nil
		case full: // the nudge may have been lost
			if err := e.cpu.Nudge(); err != nil {
				return fmt.Errorf("sending SIGPROF: %w", err)
			}
		}
	}
}

// records emits the samples of one read. It reports whether the record of a nudge was among them,
// or may have been, and whether the log was full.
func (e *Engine) records(data []uint64, tags []unsafe.Pointer, emit func(*sampling.Sample)) (nudged,
	full bool) {
	dropped, err := e.decoder.decode(data, tags, func(r record) {
		switch {
		case r.lost > 0:
			e.lost += uint64(r.lost)
			full = true
		case e.isNudge(r.stack):
			r.stack = nil
			e.nudged = r
			nudged = true
		default:
			e.emit(r, emit)
		}
	})
	if err != nil {
		e.lost += uint64(dropped)
		return true, full
	}
	return nudged, full
}

// isNudge reports whether nudge is on a stack. Only the few frames of the system call are below
// nudge.
func (e *Engine) isNudge(stack []uint64) bool {
	const frames, size = 8, 4096 // size: more than nudge has
	for _, pc := range stack[:min(len(stack), frames)] {
		if uintptr(pc)-e.entry >= size {
			continue
		}
		if f := runtime.FuncForPC(uintptr(pc) - 1); f != nil && f.Entry() == e.entry {
			return true
		}
	}
	return false
}

// emit emits a record as a sample.
func (e *Engine) emit(r record, emit func(*sampling.Sample)) {
	e.pcs = e.pcs[:0]
	for _, pc := range r.stack {
		e.pcs = append(e.pcs, uintptr(pc))
	}
	cut := len(e.pcs) >= deepest
	if cut {
		e.pcs = goruntime.ExpandFinalInlineFrame(e.pcs)
	}
	s := &e.sample
	s.Stack = s.Stack[:0]
	for _, pc := range e.pcs {
		symbol := e.symbols.PC(pc)
		switch symbol.Name {
		case "runtime._LostExternalCode", "runtime._LostSIGPROFDuringAtomic64":
			e.lost += uint64(r.count)
			return
		case "runtime.main", "runtime.mstart", "runtime.mstart0", "runtime.mstart1",
			"runtime.rt0_go":
			cut = false
		case "runtime.goexit":
			cut = false
			continue
		}
		s.Stack = append(s.Stack, symbol)
	}
	s.At, s.Tag, s.Count, s.Cut = r.at, r.tag, r.count, cut
	s.Weight = e.interval * time.Duration(r.count)
	s.Stack = sampling.WithoutPreemption(s.Stack)
	s.Marker = sampling.Classify(s.Stack)
	emit(s)
	s.Tag = nil
}

// A transient error wraps [sampling.ErrTransient] and has the text of another error. Its cause may
// pass: the process was stopped for a while, or other code set the profiler's rate.
type transient struct{ error }

func (transient) Is(target error) bool { return target == sampling.ErrTransient }
