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

// An owner takes the log of the runtime's CPU profiler, and gives it back. Two readers of one log
// corrupt it, and runtime/pprof panics. So we read the log only while runtime/pprof believes that
// it profiles for us, and its own reader has ended:
//
//   - acquire starts a CPU profile that is written to a gate, and turns the rate off. The profile's
//     reader gets EOF, and then waits in the gate's Write. Now the log is off, and it is ours:
//     StartCPUProfile of other code fails, and their StopCPUProfile waits, with runtime/pprof's
//     lock, until that reader ends, which takes an open gate. Then acquire turns the rate on again.
//   - When other code calls StopCPUProfile, the rate is off, and we read EOF. Then handOver opens
//     the gate, and the other code goes on. We must not stop anything, since it may be their next
//     profile.
//   - When other code calls SetCPUProfileRate(0), the rate is off, too. runtime/pprof still takes
//     our profile for running, and only we can end it: handOver finds no goroutine in
//     StopCPUProfile, and releases the log.
//   - release stops our profile: rate off, log read to EOF, StopCPUProfile, gate open.
//
// Calls of other code may come in between:
//
//   - StopCPUProfile while acquire waits for the reader, or until it turns the rate on. It waits at
//     the gate, but the log that it turned off is on again, and we would never see EOF. So acquire
//     calls StartCPUProfile once more, with the rate on. If that is refused, no other code has the
//     lock while our profile runs: any later StopCPUProfile turns our log off. If it is not
//     answered, it waits for the lock. Then we look whether a goroutine is in StopCPUProfile and
//     waits for the reader; our own never does at that time. If so, we give up the log. Our second
//     call is then refused because other code profiles, or it is a new profile of ours, with which
//     acquire begins anew.
//   - StopCPUProfile while we release. release checks in the same way before it stops, so that it
//     never queues up behind another StopCPUProfile: it would end the next profile of the other
//     code. A gap remains between the refusal and the moment at which we have the lock, some 100 ns
//     when no goroutine queues for it. If a StopCPUProfile gets the lock in that time, and a
//     StartCPUProfile gets it before us, we end that profile early, though not broken.
//   - StartCPUProfile and StopCPUProfile in any order, repeated. As long as the gate is closed, at
//     most one StopCPUProfile can be past the lock. So each case above happens at most once for
//     each profile of ours.
//   - SetCPUProfileRate(0) while we acquire or release. The log is off sooner, or the first read
//     finds EOF.
//   - An execution trace. It has its own log; its samples of the CPU come from our signals.
//
// While other code waits in StopCPUProfile for us to see EOF, it waits until the next read.
type owner struct {
	cpu           profiler
	answerTimeout time.Duration // how long acquire waits for the answer of a request
	gate          *gate         // that our profile is written to; nil when the log is not ours
	request       *startRequest // without an answer yet; nil for none
}

const (
	// An answer normally takes less than usualAnswer. After firstLook, and twice as long, and so
	// on, we look at all goroutines for one that prevents the answer.
	usualAnswer = 50 * time.Microsecond
	firstLook   = 2 * time.Millisecond
)

// A startRequest is a call of StartCPUProfile. It has no answer while a StopCPUProfile writes a
// profile of other code, for as long as their writer takes.
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
// [ErrUnsupported] if the profile's reader may not have ended. If it is busy because the request
// has no answer yet, the next call gets the answer, or cancelRequest does.
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

// drain reads a log to its end, whose rate is 0.
func (o *owner) drain(each func([]uint64, []unsafe.Pointer)) {
	for {
		data, tags, eof := o.cpu.Read()
		if eof {
			return
		}
		each(data, tags)
	}
}

// handOver leaves the log to the other code that ended it: an EOF was read before we turned the
// rate off. It returns the call that ended the log.
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

// stop ends the profile at the gate. If other code ended it, and our check started a new profile,
// stop returns the new profile's gate, with the log in the same state.
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

// afterEOF is the function of runtime/pprof that writes a profile. It is called when the log was
// read to its end.
const afterEOF = "runtime/pprof.(*profileBuilder).build"

// A gate is the writer of a CPU profile, which it drops. The first Write waits until the gate is
// open.
type gate struct {
	reached chan struct{} // closed at the first Write
	opened  chan struct{}
	once    sync.Once
	cpu     profiler
	// the function of runtime/pprof that called Write, normally afterEOF; set before reached
	caller string
}

func newGate(cpu profiler) *gate {
	return &gate{reached: make(chan struct{}), opened: make(chan struct{}), cpu: cpu}
}

func (g *gate) open() { close(g.opened) }

// Write drops p.
func (g *gate) Write(p []byte) (int, error) {
	g.once.Do(func() {
		g.caller = g.cpu.Writing()
		close(g.reached)
	})
	<-g.opened
	return len(p), nil
}
