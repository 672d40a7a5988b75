// Package window samples CPU time with runtime/pprof alone: the fallback for systems and releases
// on which the runtime's log of samples cannot be read.
//
// The engine records profiles of a second each, one after the other, at the 100 Hz of
// runtime/pprof. The time of a sample is the end of its window. Between two windows nothing is
// sampled while runtime/pprof writes the first one: one to five milliseconds.
//
// # Other users of the CPU profiler
//
// A process has one CPU profiler, and runtime/pprof has no owners. During a window, StartCPUProfile
// of other code returns an error. When other code calls StopCPUProfile, the engine emits the
// window's samples and leaves the CPU profiler alone. The engine detects the call by a profile that
// runtime/pprof writes without the engine's request. The check waits for any StopCPUProfile in
// progress. If, in the some hundred nanoseconds between this check and the engine's own
// StopCPUProfile, other code stops the window and starts a profile, the engine ends that profile.
//
// SetCPUProfileRate(0) ends the window, too, but for runtime/pprof the profile still runs. The
// window's writer finds no goroutine in StopCPUProfile then, and calls it to free the CPU profiler.
package window

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"time"

	pprofpb "github.com/google/pprof/profile"

	"github.com/perfline/perfline/profiling/internal/pprofile"
	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/profile"
)

const (
	interval = 10 * time.Millisecond // runtime/pprof's
	period   = time.Second
	deepest  = 64 // calls in a stack of the runtime's CPU profiler
)

// An Engine is a [sampling.Engine] that samples CPU time with runtime/pprof. The engine records
// windows: CPU profiles of one second each.
type Engine struct {
	cpu           sampling.CPUProfiler
	answerTimeout time.Duration
	window        *window          // the current window; nil while the engine does not run
	request       chan startAnswer // of a StartCPUProfile without an answer; nil for none
	symbols       *sampling.Symbols
	lost          uint64
	sample        sampling.Sample // memory for the next sample
}

var _ sampling.Engine = (*Engine)(nil)

// New returns an engine that uses the CPU profiler cpu. The engine is not running. answerTimeout
// limits the time that Start waits for pprof.StartCPUProfile. StartCPUProfile blocks while a call
// of StopCPUProfile writes a profile.
func New(symbols *sampling.Symbols, answerTimeout time.Duration, cpu sampling.CPUProfiler) *Engine {
	return &Engine{cpu: cpu, answerTimeout: answerTimeout, symbols: symbols}
}

// Name returns [profile.EngineWindow], the name of the engine.
func (e *Engine) Name() profile.Engine { return profile.EngineWindow }

// Interval returns 10 ms, the only sampling interval of the engine.
func (e *Engine) Interval(time.Duration) time.Duration { return interval }

// Period returns one second, the time between calls of Tick.
func (e *Engine) Period() time.Duration { return period }

// Start begins the first window. Start ignores the given interval, because the sampling interval is
// always 10 ms. If other code uses or stops the CPU profiler, the error wraps [sampling.ErrBusy].
func (e *Engine) Start(time.Duration) error {
	if e.window != nil {
		return nil
	}
	if e.request == nil {
		if sampling.Stopping(e.cpu) {
			return sampling.ErrStopping
		}
		answer := make(chan startAnswer, 1)
		go func() {
			w, err := begin(e.cpu)
			answer <- startAnswer{w, err}
		}()
		e.request = answer
	}
	select {
	case s := <-e.request:
		e.request = nil
		if s.err != nil {
			return fmt.Errorf("%w: %w", sampling.ErrBusy, s.err)
		}
		e.window = s.window
		return nil
	case <-time.After(e.answerTimeout):
		return sampling.ErrStopping
	}
}

// A startAnswer is the answer to the request of a window.
type startAnswer struct {
	window *window
	err    error
}

// Tick ends the current window and begins the next window. Then Tick passes the samples of the
// ended window to the function emit. If other code took over the CPU profiler, the error wraps
// [sampling.ErrTaken].
func (e *Engine) Tick(emit func(*sampling.Sample)) error {
	if e.window == nil {
		return nil
	}
	ended := e.window
	e.window = nil
	var err error
	if ended.end() {
		err = sampling.ErrTaken
	} else if e.window, err = begin(e.cpu); err != nil {
		err = fmt.Errorf("%w: %w", sampling.ErrTaken, err)
	}
	e.emit(ended, emit)
	return err
}

// Flush calls Tick, and returns the error of Tick.
func (e *Engine) Flush(emit func(*sampling.Sample)) error { return e.Tick(emit) }

// Stop ends the current window, and passes the samples of the window to the function emit. Stop
// also cancels a pending request for the CPU profiler.
func (e *Engine) Stop(emit func(*sampling.Sample)) {
	if request := e.request; request != nil {
		e.request = nil
		go func() {
			if s := <-request; s.err == nil {
				s.window.end()
			}
		}()
	}
	if e.window == nil {
		return
	}
	e.window.end()
	e.emit(e.window, emit)
	e.window = nil
	e.sample = sampling.Sample{}
}

// Lost returns the number of lost samples. Lost adds up the lost samples that the windows' profiles
// report. An unreadable profile counts as one lost sample.
func (e *Engine) Lost() uint64 { return e.lost }

func (e *Engine) emit(w *window, emit func(*sampling.Sample)) {
	p, err := pprofpb.ParseData(w.profile.Bytes())
	if err != nil {
		e.lost++
		return
	}
	e.sample.Since = w.startedAt
	e.emitProfile(p, w.endedAt.Load(), emit)
}

// emitProfile emits the samples of a valid CPU profile that ended at a time.
func (e *Engine) emitProfile(p *pprofpb.Profile, at int64, emit func(*sampling.Sample)) {
	if len(p.SampleType) != 2 {
		e.lost++
		return
	}
	for _, from := range p.Sample {
		count, weight := from.Value[0], from.Value[1]
		if count < 1 {
			continue
		}
		s := &e.sample
		pprofile.Fill(s, from, e.symbols)
		if len(s.Stack) > 0 {
			switch s.Stack[0].Name { // the runtime and runtime/pprof count lost samples by these
			case "runtime/pprof.lostProfileEvent", "runtime._LostExternalCode",
				"runtime._LostSIGPROFDuringAtomic64":
				e.lost += uint64(count)
				continue
			}
		}
		s.At = at
		s.Count, s.Weight = int(count), time.Duration(weight)
		s.Marker = sampling.Classify(s.Stack)
		s.Cut = len(s.Stack) >= deepest
		emit(s)
	}
}

// A window is a CPU profile of runtime/pprof. Its profile may be read after end has returned.
type window struct {
	cpu       sampling.CPUProfiler
	startedAt int64 // by [sampling.Now]
	profile   bytes.Buffer
	ours      atomic.Bool   // the engine ends the window
	endedAt   atomic.Int64  // by [sampling.Now]; 0 until runtime/pprof writes at the end
	checked   chan struct{} // closed when the first Write knows the cause of the end
	freed     chan struct{} // nil unless SetCPUProfileRate(0) was the cause; free closes it
}

func begin(cpu sampling.CPUProfiler) (*window, error) {
	w := &window{cpu: cpu, startedAt: sampling.Now(), checked: make(chan struct{})}
	if err := cpu.Start(w); err != nil {
		return nil, err
	}
	return w, nil
}

// Write receives the CPU profile from runtime/pprof. runtime/pprof calls Write only after the rate
// of the CPU profiler was set to 0.
func (w *window) Write(p []byte) (int, error) {
	if w.endedAt.CompareAndSwap(0, sampling.Now()) {
		if !w.ours.Load() && !sampling.Stopped(w.cpu) {
			w.free()
		}
		close(w.checked)
	}
	return w.profile.Write(p)
}

// free makes runtime/pprof end the profile, which for runtime/pprof still runs. Write must return
// then.
func (w *window) free() {
	w.freed = make(chan struct{})
	go func() {
		defer close(w.freed)
		w.cpu.Stop()
	}()
	for !sampling.StopWaits(w.cpu) {
		time.Sleep(50 * time.Microsecond)
	}
}

// stop ends the window, unless other code has ended it.
func (w *window) stop() {
	w.ours.Store(true)
	w.cpu.Stop()
}

// end ends the window, and reports whether other code had ended it. Afterwards the window's profile
// is written.
func (w *window) end() (taken bool) {
	// A StopCPUProfile of other code may have written nothing yet. Our StopCPUProfile would wait
	// for its return, and end the next profile. idle waits, too.
	if idle(w.cpu) {
		return true
	}
	if w.endedAt.Load() == 0 {
		w.stop()
		return false
	}
	if <-w.checked; w.freed != nil {
		<-w.freed
		return true
	}
	idle(w.cpu) // waits: the StopCPUProfile may have begun after the first idle
	return true
}

// idle reports whether no CPU profile runs, after any StopCPUProfile in progress. The only way to
// ask is to start a profile.
func idle(cpu sampling.CPUProfiler) bool {
	w, err := begin(cpu)
	if err != nil {
		return false
	}
	w.stop()
	return true
}
