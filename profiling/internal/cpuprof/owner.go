//go:build linux || darwin

package cpuprof

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/perfline/perfline/profiling/internal/sampling"
)

// An owner makes the runtime's log ours, and gives it back. Two readers of one log
// corrupt it, and runtime/pprof panics; so we only read while runtime/pprof believes
// that it profiles for us, and its own reader has ended:
//
//   - acquire starts a CPU profile that is written to a gate, and turns the rate off.
//     The profile's reader gets EOF, and then waits in the gate's Write. Now the log is
//     off, and it is ours: others' StartCPUProfile fails, and their StopCPUProfile
//     waits, with runtime/pprof's lock, until that reader ends, which takes an open
//     gate. We turn the rate on again.
//   - A StopCPUProfile of somebody else's turns the rate off, and we read EOF. Then
//     taken opens the gate, and they go on; we must not stop anything, since it may be
//     their next profile.
//   - A SetCPUProfileRate(0) of other code turns the rate off, too. runtime/pprof takes our
//     profile for running then, and only we can end it: taken finds no goroutine in
//     StopCPUProfile, and releases the log.
//   - release stops our profile: rate off, log read to EOF, StopCPUProfile, gate open.
//
// What comes in between:
//
//   - Stop while acquire waits for the reader, or until it turns the rate on: they wait
//     at the gate, but the log that they turned off is on again, and we would never see
//     EOF. So acquire asks by a StartCPUProfile of its own, with the rate on. That it is
//     refused means that nobody has the lock while our profile runs: any later Stop
//     turns our log off. Else it waits for the lock. Then we look whether a goroutine is
//     in StopCPUProfile and waits for the reader; our own never is at that time. If so we
//     give it all up. What we asked for is then refused because they profile, or it is
//     a new profile of ours, which acquire begins anew with.
//   - Stop while we release: release asks in the same way before it stops, so that it
//     never queues up behind a Stop: the next profile of theirs would be the one that is
//     stopped. Left is the time between the refusal and the lock's being ours, some
//     100 ns when nobody queues for it: after a Stop that gets the lock in it, and a
//     Start that gets it before us, we end that profile early, though not broken.
//   - Start and Stop, one Stop after another, Stop then Start, all repeated: as long as
//     the gate is closed at most one Stop can be past the lock, so each of the above
//     happens at most once for each profile of ours.
//   - SetCPUProfileRate(0) while we acquire or release: the log is off sooner, or EOF is
//     what the first read finds.
//   - An execution trace has its own log; its samples of the CPU come from our signals.
//
// While somebody waits in StopCPUProfile for us to see EOF we keep them waiting; that
// ends with the next read.
type owner struct {
	gate     *gate  // that our profile is written to; nil when the log is not ours
	asked    *asked // what StartCPUProfile has not answered yet; nil when nothing
	stopping func() // nil, or what a test does while our StopCPUProfile waits for the gate
}

const (
	// soon is when an answer is normally there. After patience, and twice as long, and so
	// on, it is worth while to look at all goroutines for what keeps it.
	soon     = 50 * time.Microsecond
	patience = 2 * time.Millisecond
	// unanswered is when acquire returns without an answer.
	unanswered = 100 * time.Millisecond
)

// An asked is a StartCPUProfile under way. It waits while a StopCPUProfile writes
// somebody's profile, for as long as their writer takes.
type asked struct {
	gate   *gate
	answer chan error
}

func ask() *asked {
	a := &asked{gate: newGate(), answer: make(chan error, 1)}
	go func() { a.answer <- pprof.StartCPUProfile(a.gate) }()
	return a
}

// withdraw ends what was asked for, should it be granted.
func (o *owner) withdraw() {
	a := o.asked
	if a == nil {
		return
	}
	o.asked = nil
	go func() {
		if <-a.answer == nil {
			runtime.SetCPUProfileRate(0)
			<-a.gate.parked
			(&owner{gate: a.gate}).release()
		}
	}()
}

// acquire makes the log ours, on at hz, or returns an error that wraps
// [sampling.ErrBusy], or [ErrUnsupported] if the profile's reader may not have ended. When that is because there is no answer yet, the next call gets
// it, or withdraw.
func (o *owner) acquire(hz int) error {
	if o.asked == nil {
		o.asked = ask()
	}
	g := o.asked.gate
	var err error
	select {
	case err = <-o.asked.answer:
		o.asked = nil
	case <-time.After(unanswered):
		return fmt.Errorf("%w: it is being stopped", sampling.ErrBusy)
	}
	for err == nil {
		runtime.SetCPUProfileRate(0)
		<-g.parked
		if g.caller != afterEOF {
			g.open()
			pprof.StopCPUProfile()
			return fmt.Errorf("%w: runtime/pprof may write a profile before it has read the log to its end: %s writes", ErrUnsupported, g.caller)
		}
		runtime.SetCPUProfileRate(hz)
		next := newGate()
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			err = pprof.StartCPUProfile(next)
		}()
		if comes(answered) { // a refusal: it runs
			o.gate = g
			return nil
		}
		runtime.SetCPUProfileRate(0)
		drain(func([]uint64, []unsafe.Pointer) {})
		g.open()
		g = next
		<-answered
	}
	return fmt.Errorf("%w: %w", sampling.ErrBusy, err)
}

// comes waits for an answer, or until somebody is found to wait for us.
func comes(answered <-chan struct{}) bool {
	for wait := patience; ; wait *= 2 {
		select {
		case <-answered:
			return true
		case <-time.After(wait):
			if sampling.StopWaits() {
				return false
			}
		}
	}
}

// taken gives the log up, of which EOF was read unasked, and returns what ended it.
func (o *owner) taken() error {
	if !sampling.Stopped() {
		o.release()
		return errors.New("SetCPUProfileRate(0) was called")
	}
	o.gate.open()
	o.gate = nil
	return errors.New("StopCPUProfile was called")
}

// release gives the log up, whose rate is off and of which EOF was read.
func (o *owner) release() {
	for o.gate != nil {
		o.gate = o.stop()
	}
}

// stop ends the profile at the gate. If somebody else did that and, by asking, we got a
// new one, it returns the gate of that, with the log in the state it had.
func (o *owner) stop() *gate {
	const asking, stopping, passed = 0, 1, 2
	var state atomic.Int32
	var err error
	next := newGate()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err = pprof.StartCPUProfile(next); err != nil && state.CompareAndSwap(asking, stopping) {
			pprof.StopCPUProfile() // at once, see owner
		}
	}()
	time.Sleep(soon)
	for wait := patience; state.Load() == asking; wait *= 2 {
		time.Sleep(wait)
		if state.Load() == asking && sampling.StopWaits() && state.CompareAndSwap(asking, passed) {
			break
		}
	}
	if o.stopping != nil && state.Load() == stopping {
		o.stopping()
	}
	o.gate.open()
	<-done
	if err != nil {
		return nil
	}
	runtime.SetCPUProfileRate(0)
	<-next.parked
	return next
}

// afterEOF is the function of runtime/pprof that writes a profile. It is called when the log
// was read to its end.
const afterEOF = "runtime/pprof.(*profileBuilder).build"

// A gate is the writer of a CPU profile that is dropped. The first Write waits until
// it is open.
type gate struct {
	parked chan struct{} // closed at the first Write
	opened chan struct{}
	once   sync.Once
	caller string // afterEOF, or what else of runtime/pprof called Write; set before parked
}

func newGate() *gate {
	return &gate{parked: make(chan struct{}), opened: make(chan struct{})}
}

func (g *gate) open() { close(g.opened) }

// Write drops p.
func (g *gate) Write(p []byte) (int, error) {
	g.once.Do(func() {
		g.caller = writer()
		close(g.parked)
	})
	<-g.opened
	return len(p), nil
}

// writer is afterEOF if that is on the stack, else the innermost function of runtime/pprof.
func writer() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	first := "another function"
	for {
		f, more := frames.Next()
		switch {
		case f.Function == afterEOF:
			return afterEOF
		case first == "another function" && strings.HasPrefix(f.Function, "runtime/pprof."):
			first = f.Function
		}
		if !more {
			return first
		}
	}
}
