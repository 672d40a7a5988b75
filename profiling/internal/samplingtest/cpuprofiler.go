package samplingtest

import (
	"errors"
	"io"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/profiling/internal/sampling"
)

// A CPUProfiler simulates the CPU profiler of packages runtime and runtime/pprof, without signals.
// One profile runs at a time. The log is the simulated buffer of samples. The profile's reader, a
// goroutine, reads the log to the end, and then writes the profile. The methods block only on
// channels, so that a bubble of testing/synctest controls the clock. The engine under test calls
// the methods. Other code of the test uses [CPUProfiler.Other].
//
// The runtime would corrupt the log in these cases, so the CPUProfiler fails the test:
//
//   - A second reader reads the log.
//   - The engine sets a rate before a reader has read the end of the log.
type CPUProfiler struct {
	t testing.TB

	// Before, if not nil, is called before each method that the engine calls. The argument call is
	// the name of the method.
	Before func(call string)
	// Caller is the result of Writing: the name of a function of runtime/pprof that writes a
	// profile.
	Caller string
	// Nudged is a program counter in the function that sends the signal. Each signal adds a record
	// with this counter. 0 means that signals do not arrive.
	Nudged uintptr
	// Profile returns the profile that the reader writes. words is the number of words in the log.
	Profile func(words int) []byte

	lock chan struct{} // has an item while a goroutine holds the lock of runtime/pprof
	done chan struct{} // from the reader to the goroutine in Stop

	mu        sync.Mutex // guards the fields below
	profiling bool
	foreign   bool        // the last profile is other code's
	asked     bool        // the engine's Start found the last profile running, or began it
	askedAt   time.Time   // the time of the engine's last Start
	cut       int         // see Cut
	log       *profileLog // nil after the end was read
	called    int         // goroutines in Stop
	waiting   int         // goroutines in Stop that wait for the reader
}

// A profileLog is the log of the runtime. CPUProfiler.mu guards it.
type profileLog struct {
	closed  bool
	reading bool
	words   []uint64
	tags    []unsafe.Pointer
	changed chan struct{} // closed at the next change
}

func (l *profileLog) change() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// NewCPUProfiler returns a simulated CPU profiler. No profile runs yet.
func NewCPUProfiler(t testing.TB) *CPUProfiler {
	return &CPUProfiler{
		t: t, Caller: "runtime/pprof.(*profileBuilder).build",
		Profile: func(int) []byte { return []byte("profile") },
		lock:    make(chan struct{}, 1), done: make(chan struct{}),
	}
}

func (p *CPUProfiler) before(call string) {
	if p.Before != nil {
		p.Before(call)
	}
}

// Start simulates pprof.StartCPUProfile, called by the engine. If a profile already runs, Start
// returns an error. The reader writes the profile to w at the end.
func (p *CPUProfiler) Start(w io.Writer) error {
	p.before("Start")
	return p.start(w, false)
}

func (p *CPUProfiler) start(w io.Writer, foreign bool) error {
	p.lock <- struct{}{}
	defer func() { <-p.lock }()
	p.mu.Lock()
	if !foreign {
		p.asked, p.askedAt = true, time.Now()
	}
	if p.profiling {
		p.mu.Unlock()
		return errors.New("cpu profiling already in use")
	}
	p.profiling, p.foreign, p.asked = true, foreign, !foreign
	p.mu.Unlock()
	p.setRate(100)
	go p.write(w)
	return nil
}

// write is the reader of a profile.
func (p *CPUProfiler) write(w io.Writer) {
	words := 0
	for {
		data, _, eof := p.read()
		if eof {
			break
		}
		words += len(data)
	}
	_, _ = w.Write(p.Profile(words))
	p.done <- struct{}{}
}

// Stop simulates pprof.StopCPUProfile, called by the engine.
func (p *CPUProfiler) Stop() {
	p.before("Stop")
	p.mu.Lock()
	late := time.Since(p.askedAt) > 0
	p.mu.Unlock()
	p.stop(func() bool { return p.foreign && (p.asked || late) })
}

// stop stops the profile, and counts it as cut if cut returns true. cut is called with p.mu held.
func (p *CPUProfiler) stop(cut func() bool) {
	p.count(&p.called, 1)
	defer p.count(&p.called, -1)
	p.lock <- struct{}{}
	defer func() { <-p.lock }()
	p.mu.Lock()
	was := p.profiling
	p.profiling = false
	if was && cut() {
		p.cut++
	}
	p.mu.Unlock()
	if !was {
		return
	}
	p.setRate(0)
	p.count(&p.waiting, 1)
	<-p.done
	p.count(&p.waiting, -1)
}

func (p *CPUProfiler) count(what *int, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*what += n
}

// Stopper reports whether any goroutine is in Stop. called is true if a goroutine executes Stop.
// waits is true if a goroutine in Stop waits for the reader of the profile.
func (p *CPUProfiler) Stopper() (called, waits bool) {
	p.before("Stopper")
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.called > 0, p.waiting > 0
}

// SetRate simulates runtime.SetCPUProfileRate, called by the engine.
func (p *CPUProfiler) SetRate(hz int) {
	p.before("SetRate")
	p.mu.Lock()
	if p.foreign && p.log != nil && !p.log.closed {
		p.cut++
	}
	p.mu.Unlock()
	p.setRate(hz)
}

func (p *CPUProfiler) setRate(hz int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case hz > 0 && p.log != nil:
		p.t.Errorf("a rate of %d is set before the end of the log was read", hz)
	case hz > 0:
		p.log = &profileLog{changed: make(chan struct{})}
		p.log.words = append(p.log.words, 3, uint64(sampling.Now()), uint64(hz))
		p.log.tags = append(p.log.tags, nil)
	case p.log != nil && !p.log.closed:
		p.log.closed = true
		p.log.change()
	}
}

// Cut returns the number of profiles of other code that the engine ended by mistake. Cut ignores a
// profile that began between a Start of the engine and an immediate Stop of the engine. An engine
// cannot prevent this case, because Start and Stop are separate steps.
func (p *CPUProfiler) Cut() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut
}

// Add adds a sample with the label pointer tag and the given stack to the log. If the sampling rate
// is 0, Add does nothing.
func (p *CPUProfiler) Add(tag unsafe.Pointer, stack ...uintptr) {
	words := []uint64{uint64(3 + len(stack)), uint64(sampling.Now()), 1}
	for _, pc := range stack {
		words = append(words, uint64(pc))
	}
	p.AddWords(words, tag)
}

// AddWords adds raw words and label pointers (tags) to the log. If the sampling rate is 0, AddWords
// does nothing.
func (p *CPUProfiler) AddWords(words []uint64, tags ...unsafe.Pointer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.log; l != nil && !l.closed {
		l.words, l.tags = append(l.words, words...), append(l.tags, tags...)
		l.change()
	}
}

// Read simulates goruntime.ReadProfile: Read waits for data in the log, and returns the data. At
// the end of the log, eof is true.
func (p *CPUProfiler) Read() (data []uint64, tags []unsafe.Pointer, eof bool) {
	p.before("Read")
	return p.read()
}

func (p *CPUProfiler) read() (data []uint64, tags []unsafe.Pointer, eof bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.log
	if l == nil {
		return nil, nil, true
	}
	if l.reading {
		p.t.Error("the log has two readers")
	}
	l.reading = true
	defer func() { l.reading = false }()
	for len(l.words) == 0 && !l.closed {
		changed := l.changed
		p.mu.Unlock()
		<-changed
		p.mu.Lock()
	}
	if data, tags = l.words, l.tags; len(data) > 0 {
		l.words, l.tags = nil, nil
		return data, tags, false
	}
	p.log = nil
	return nil, nil, true
}

// Nudge simulates a profiling signal to the calling thread. The signal adds a record to the log.
func (p *CPUProfiler) Nudge() error {
	p.before("Nudge")
	if p.Nudged != 0 {
		p.Add(goruntime.Labels(), p.Nudged)
	}
	return nil
}

// Signal simulates a profiling signal to the process. A thread without a goroutine handles the
// signal. The signal adds a record to the log.
func (p *CPUProfiler) Signal() error {
	p.before("Signal")
	if p.Nudged != 0 {
		p.Add(nil, p.Nudged)
	}
	return nil
}

// Writing returns the field Caller, the name of the function that writes the profile.
func (p *CPUProfiler) Writing() string { return p.Caller }

// An Other controls the simulated CPU profiler for code outside the engine under test.
type Other struct{ p *CPUProfiler }

// Other returns an Other, which controls p for code outside the engine under test. The profiler
// distinguishes this code from the engine.
func (p *CPUProfiler) Other() Other { return Other{p} }

// Start simulates pprof.StartCPUProfile, called by other code.
func (o Other) Start(w io.Writer) error { return o.p.start(w, true) }

// Stop simulates pprof.StopCPUProfile, called by other code.
func (o Other) Stop() { o.p.stop(func() bool { return false }) }

// SetRate simulates runtime.SetCPUProfileRate, called by other code.
func (o Other) SetRate(hz int) { o.p.setRate(hz) }
