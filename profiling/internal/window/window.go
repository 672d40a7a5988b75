// Package window samples CPU time with runtime/pprof alone: the fallback for where the runtime's
// own log of samples cannot be read.
//
// It records profiles of a second each, one after the other, at the 100 Hz that runtime/pprof has.
// A sample's time is the end of its window, so that a second is the resolution. Between two windows
// nothing is sampled while runtime/pprof writes the first: one to five milliseconds.
//
// # Others
//
// A process has one CPU profiler, and runtime/pprof has no owners. Other code that calls
// StartCPUProfile during a window gets an error. Other code that calls StopCPUProfile ends the
// window: the engine emits its samples and leaves the CPU profiler alone. The engine notices this
// by a profile that is written without its request. It checks after waiting for any running
// StopCPUProfile. Some hundred nanoseconds remain between the check and the engine's own
// StopCPUProfile. If other code stops the window and starts a profile in that time, the engine ends
// that profile.
//
// SetCPUProfileRate(0) ends the window, too, though runtime/pprof takes it for running. The
// window's writer finds no goroutine in StopCPUProfile then, and calls it: the CPU profiler is
// free.
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
	deepest  = 64 // calls that the runtime's CPU profiler sees
)

// An Engine is the fallback's [sampling.Engine].
type Engine struct {
	cpu           sampling.CPUProfiler
	answerTimeout time.Duration
	window        *window // the current one; nil while the engine does not run
	// gets the answer for a Start that was busy without one; nil for none
	request chan startAnswer
	symbols *sampling.Symbols
	lost    uint64
	sample  sampling.Sample // the one that is emitted, to reuse its memory
}

var _ sampling.Engine = (*Engine)(nil)

// New makes an engine that samples by a CPU profiler. Start waits for the answer of
// StartCPUProfile, which waits while a StopCPUProfile writes, no longer than answerTimeout.
func New(symbols *sampling.Symbols, answerTimeout time.Duration, cpu sampling.CPUProfiler) *Engine {
	return &Engine{cpu: cpu, answerTimeout: answerTimeout, symbols: symbols}
}

// Name implements [sampling.Engine].
func (e *Engine) Name() profile.Engine { return profile.EngineWindow }

// Interval is always 10 ms.
func (e *Engine) Interval(time.Duration) time.Duration { return interval }

// Period is always a second.
func (e *Engine) Period() time.Duration { return period }

// Start implements [sampling.Engine]. It ignores the interval and uses the one of
// [Engine.Interval].
func (e *Engine) Start(time.Duration) error {
	if e.window != nil {
		return nil
	}
	// StartCPUProfile waits while a StopCPUProfile writes a profile of other code, for as long as
	// their writer takes.
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

// Tick implements [sampling.Engine]: it ends the window, begins the next one and emits the samples
// of the one that ended.
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

// Flush implements [sampling.Engine]. It is a Tick, and costs as much.
func (e *Engine) Flush(emit func(*sampling.Sample)) error { return e.Tick(emit) }

// Stop implements [sampling.Engine].
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

// Lost implements [sampling.Engine]. It counts the samples that the profiles count as lost, and one
// for a profile that could not be read.
func (e *Engine) Lost() uint64 { return e.lost }

func (e *Engine) emit(w *window, emit func(*sampling.Sample)) {
	p, err := pprofpb.ParseData(w.profile.Bytes())
	if err != nil {
		e.lost++
		return
	}
	e.sample.Since = w.begun
	e.emitProfile(p, w.ended.Load(), emit)
}

// emitProfile emits the samples of a valid CPU profile that ended at the time given.
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
		if isLost(s.Stack) {
			e.lost += uint64(count)
			continue
		}
		s.At = at
		s.Count, s.Weight = int(count), time.Duration(weight)
		s.Marker = sampling.Classify(s.Stack)
		s.Cut = len(s.Stack) >= deepest
		emit(s)
	}
}

// isLost says whether a stack is one of those by which the runtime and runtime/pprof count samples
// that they could not keep.
func isLost(stack []*profile.Call) bool {
	if len(stack) == 0 {
		return false
	}
	switch stack[0].Name {
	case "runtime/pprof.lostProfileEvent", "runtime._LostExternalCode",
		"runtime._LostSIGPROFDuringAtomic64":
		return true
	}
	return false
}

// A window is a profile under way, or ended. Its profile may be read once end returned.
type window struct {
	cpu     sampling.CPUProfiler
	begun   int64 // by [sampling.Now]
	profile bytes.Buffer
	ours    atomic.Bool // the engine ends it
	// by [sampling.Now]; 0 until runtime/pprof writes, which it does at the end only
	ended  atomic.Int64
	looked chan struct{} // closed when the first Write knows what ended it
	// nil unless SetCPUProfileRate(0) did; closed when runtime/pprof knows, too
	freed chan struct{}
}

func begin(cpu sampling.CPUProfiler) (*window, error) {
	w := &window{cpu: cpu, begun: sampling.Now(), looked: make(chan struct{})}
	if err := cpu.Start(w); err != nil {
		return nil, err
	}
	return w, nil
}

// Write is for runtime/pprof. The first call comes when the rate was set to 0, by whatever code.
func (w *window) Write(p []byte) (int, error) {
	if w.ended.CompareAndSwap(0, sampling.Now()) {
		if !w.ours.Load() && !sampling.Stopped(w.cpu) {
			w.free()
		}
		close(w.looked)
	}
	return w.profile.Write(p)
}

// free has runtime/pprof end the profile, which it takes for running. Write must return then.
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

// stop ends the window, unless other code did.
func (w *window) stop() {
	w.ours.Store(true)
	w.cpu.Stop()
}

// end ends the window, and reports whether other code had ended it. In both cases the window's
// profile is written.
func (w *window) end() (taken bool) {
	// A StopCPUProfile of other code may be running, with nothing written yet. Ours would wait for
	// it, and end the next profile. The check waits for it as well.
	if idle(w.cpu) {
		return true
	}
	if w.ended.Load() == 0 {
		w.stop()
		return false
	}
	if <-w.looked; w.freed != nil {
		<-w.freed
		return true
	}
	idle(w.cpu) // It may have been under way since the first look only: wait again.
	return true
}

// idle says whether no CPU profile is under way. It waits for a StopCPUProfile that is. There is no
// other way to ask than to start one.
func idle(cpu sampling.CPUProfiler) bool {
	w, err := begin(cpu)
	if err != nil {
		return false
	}
	w.stop()
	return true
}
