//go:build linux || darwin

package cpuprof

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/perfline/perfline/profiling/internal/sampling"
)

// An owner takes the log of the runtime's CPU profiler, and returns it. Two readers of one log
// corrupt it, and runtime/pprof panics. So we read the log only while, for runtime/pprof, a profile
// of ours runs whose own reader has ended:
//
//   - acquire starts a CPU profile with a gate as its writer, and turns the rate off. The profile's
//     reader gets EOF and then waits in the gate's Write. Now the log is off and ours:
//     StartCPUProfile of other code fails, and StopCPUProfile of other code waits, holding
//     runtime/pprof's lock, until the reader ends, which needs an open gate. Then acquire turns the
//     rate on again.
//   - When other code calls StopCPUProfile, the rate is off, and we read EOF. handOver opens the
//     gate, and the other code continues. We must not stop anything: it may be the other code's
//     next profile.
//   - When other code calls SetCPUProfileRate(0), the rate is off, too. For runtime/pprof our
//     profile still runs, and only we can end it: handOver finds no goroutine in StopCPUProfile,
//     and releases the log.
//   - release stops our profile: rate off, log read to EOF, StopCPUProfile, gate open.
//
// Other code may make these calls in between:
//
//   - StopCPUProfile before acquire turns the rate on. The call waits at the gate, but the log that
//     it turned off is on again, and we would never see EOF. So acquire calls StartCPUProfile once
//     more, with the rate on. If that is refused, no other code holds the lock while our profile
//     runs: any later StopCPUProfile turns our log off. If there is no answer, our call waits for
//     the lock. Then we look for a goroutine in StopCPUProfile that waits for the reader; our own
//     never does at that time. If there is one, we give up the log. Then our second call either is
//     refused because other code profiles, or starts a new profile of ours, with which acquire
//     begins again.
//   - StopCPUProfile during release. release makes the same check before it stops, so that it never
//     queues behind another StopCPUProfile and ends the other code's next profile. A gap of some
//     100 ns remains between the refusal and our lock when no goroutine queues for the lock. If a
//     StopCPUProfile gets the lock in that gap, and then a StartCPUProfile gets it before us, we
//     end that profile early, but whole.
//   - StartCPUProfile and StopCPUProfile in any order, repeated. While the gate is closed, at most
//     one StopCPUProfile can be past the lock. So each case above happens at most once for each
//     profile of ours.
//   - SetCPUProfileRate(0) during acquire or release. The log is off sooner, or the first read
//     finds EOF.
//   - An execution trace. It has its own log, and takes its CPU samples from our signals.
//
// Other code in StopCPUProfile waits until our next read.
type owner struct {
	cpu           profiler
	answerTimeout time.Duration // how long acquire waits for the answer of a request
	gate          *gate         // the writer of our profile; nil when the log is not ours
	request       *startRequest // the request without an answer; nil for none
}

const (
	usualAnswer = 50 * time.Microsecond // an answer normally takes less
	// firstLook is the wait for an answer before we look for a goroutine that prevents the answer.
	// The wait doubles with each look.
	firstLook = 2 * time.Millisecond
)

// A startRequest is a call of StartCPUProfile. Its answer takes as long as a StopCPUProfile of
// other code writes.
type startRequest struct {
	gate   *gate
	answer chan error
}

func (o *owner) requestStart() *startRequest {
	r := &startRequest{gate: newGate(o.cpu), answer: make(chan error, 1)}
	go func() { r.answer <- o.cpu.Start(r.gate) }()
	return r
}

// cancelRequest ends the profile of a request without an answer, once the profile starts.
func (o *owner) cancelRequest() {
	r := o.request
	if r == nil {
		return
	}
	o.request = nil
	go func() {
		if <-r.answer == nil {
			o.cpu.SetRate(0)
			<-r.gate.reached
			(&owner{cpu: o.cpu, gate: r.gate}).release()
		}
	}()
}

// acquire takes the log, and turns it on at hz. Its error wraps [sampling.ErrBusy], or
// [ErrUnsupported] if the profile's reader may not have ended. After [sampling.ErrStopping], the
// next call of acquire gets the request's answer, or cancelRequest does.
func (o *owner) acquire(hz int) error {
	if o.request == nil {
		if sampling.Stopping(o.cpu) {
			return sampling.ErrStopping
		}
		o.request = o.requestStart()
	}
	g := o.request.gate
	var err error
	select {
	case err = <-o.request.answer:
		o.request = nil
	case <-time.After(o.answerTimeout):
		return sampling.ErrStopping
	}
	for err == nil {
		o.cpu.SetRate(0)
		<-g.reached
		if g.caller != afterEOF {
			g.open()
			o.cpu.Stop()
			return fmt.Errorf("%w: runtime/pprof may write a profile before it has read the buffer to its end: %s writes", ErrUnsupported, g.caller)
		}
		o.cpu.SetRate(hz)
		next := newGate(o.cpu)
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			err = o.cpu.Start(next)
		}()
		if o.waitForRefusal(answered) { // our profile runs
			o.gate = g
			return nil
		}
		o.cpu.SetRate(0)
		o.drain(func([]uint64, []unsafe.Pointer) {})
		g.open()
		g = next
		<-answered
	}
	return fmt.Errorf("%w: %w", sampling.ErrBusy, err)
}

// waitForRefusal returns true when the answer arrives, and false when a StopCPUProfile waits for
// us.
func (o *owner) waitForRefusal(answered <-chan struct{}) bool {
	for wait := firstLook; ; wait *= 2 {
		select {
		case <-answered:
			return true
		case <-time.After(wait):
			if sampling.StopWaits(o.cpu) {
				return false
			}
		}
	}
}

// drain reads a log whose rate is 0 to its end.
func (o *owner) drain(each func([]uint64, []unsafe.Pointer)) {
	for {
		data, tags, eof := o.cpu.Read()
		if eof {
			return
		}
		each(data, tags)
	}
}

// handOver leaves the log to the other code that ended it: we read EOF before we turned the rate
// off. It returns the call that ended the log.
func (o *owner) handOver() error {
	if !sampling.Stopped(o.cpu) {
		o.release()
		return errors.New("SetCPUProfileRate(0) was called")
	}
	o.gate.open()
	o.gate = nil
	return errors.New("StopCPUProfile was called")
}

// release ends our profile. The rate is off, and EOF was read.
func (o *owner) release() {
	for o.gate != nil {
		o.gate = o.stop()
	}
}

// stop ends the profile at the gate. If other code ended the profile, and our check started a new
// one, stop returns the new profile's gate, with the log in the same state.
func (o *owner) stop() *gate {
	const checking, stopping, otherStops = 0, 1, 2
	var state atomic.Int32
	var err error
	next := newGate(o.cpu)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err = o.cpu.Start(next); err != nil && state.CompareAndSwap(checking, stopping) {
			o.cpu.Stop() // at once, see owner
		}
	}()
	time.Sleep(usualAnswer)
	for wait := firstLook; state.Load() == checking; wait *= 2 {
		time.Sleep(wait)
		if state.Load() == checking && sampling.StopWaits(o.cpu) &&
			state.CompareAndSwap(checking, otherStops) {
			break
		}
	}
	o.gate.open()
	<-done
	if err != nil {
		return nil
	}
	o.cpu.SetRate(0)
	<-next.reached
	return next
}

// afterEOF is the function of runtime/pprof that writes a profile after the end of the log.
const afterEOF = "runtime/pprof.(*profileBuilder).build"

// A gate is the writer of a CPU profile, and drops the profile. The first Write waits until the
// gate is open.
type gate struct {
	reached chan struct{} // closed at the first Write
	opened  chan struct{}
	once    sync.Once
	cpu     profiler
	caller  string // the function of runtime/pprof that called Write; set before reached
}

func newGate(cpu profiler) *gate {
	return &gate{reached: make(chan struct{}), opened: make(chan struct{}), cpu: cpu}
}

func (g *gate) open() { close(g.opened) }

func (g *gate) Write(p []byte) (int, error) {
	g.once.Do(func() {
		g.caller = g.cpu.Writing()
		close(g.reached)
	})
	<-g.opened
	return len(p), nil
}
