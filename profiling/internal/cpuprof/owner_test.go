//go:build !perfline_portable && (linux || darwin)

package cpuprof

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/google/pprof/profile"

	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/internal/samplingtest"
)

// A foreigner profiles through runtime/pprof, in one of the ways that are seen.
type foreigner struct {
	name      string
	stopFirst bool // as pyroscope-go does at each upload
	stopLast  bool // though the start failed
	rateOnly  bool // it sets the rate to 0, which ends whatever runs, and profiles nothing
}

var foreigners = []foreigner{
	{name: "stop and start", stopFirst: true},
	{name: "start"},
	{name: "start or stop", stopLast: true},
	{name: "rate 0", rateOnly: true},
}

// profile takes a profile and checks it. It may be refused one, or that ends early.
func (f foreigner) profile(t *testing.T) (refused, early bool) {
	t.Helper()
	if f.rateOnly {
		runtime.SetCPUProfileRate(0)
		return false, false
	}
	if f.stopFirst {
		pprof.StopCPUProfile()
	}
	var b bytes.Buffer
	if err := pprof.StartCPUProfile(&b); err != nil {
		if f.stopLast {
			pprof.StopCPUProfile()
		}
		return true, false
	}
	runtime.Gosched() // the engine may start now, on a single processor, too
	burn(1000)
	end := time.Now()
	pprof.StopCPUProfile()
	p, err := profile.Parse(&b)
	if err != nil {
		t.Errorf("%s: the foreign profile is broken: %v", f.name, err)
		return false, false
	}
	if p.Period != int64(10*time.Millisecond) {
		t.Errorf("%s: the foreign profile has a sample every %v: want 10ms, which it asked for", f.name, time.Duration(p.Period))
	}
	return false, p.TimeNanos+p.DurationNanos < end.UnixNano()
}

// overtaken waits until our profile is stopped, and reports whether other code stopped it.
func overtaken() bool {
	stacks := make([]byte, 1<<20)
	for {
		all := stacks[:runtime.Stack(stacks, true)]
		for stack := range bytes.SplitSeq(all, []byte("\n\n")) {
			if bytes.Contains(stack, []byte("[chan receive")) && bytes.Contains(stack, []byte("runtime/pprof.StopCPUProfile()")) {
				return !bytes.Contains(stack, []byte("(*owner).stop"))
			}
		}
		runtime.Gosched()
	}
}

// wantFree wants that other code can profile.
func wantFree(t *testing.T) {
	t.Helper()
	err := samplingtest.UntilFree(func() error {
		if pprof.StartCPUProfile(io.Discard) != nil {
			return sampling.ErrBusy
		}
		return nil
	})
	if err != nil {
		t.Errorf("after all were done: %v", err)
	}
	pprof.StopCPUProfile()
}

// Whatever others do at whatever moment, they get whole profiles, nothing waits for
// ever, and we resume.
func TestConflicts(t *testing.T) { testConflicts(t, 300, false) }

// The same while the rate is set to 0 at any time, which ends their profiles early, too.
func TestConflictsAndRateZero(t *testing.T) {
	over := make(chan struct{})
	var interloper sync.WaitGroup
	interloper.Go(func() {
		tick := time.NewTicker(100 * time.Microsecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				runtime.SetCPUProfileRate(0)
			case <-over:
				return
			}
		}
	})
	testConflicts(t, 150, true)
	close(over)
	interloper.Wait()
	started(t).Stop(discard)
	wantFree(t)
}

func testConflicts(t *testing.T, conflicts int, interloper bool) {
	e := newEngine(t)
	var (
		turns   = make(chan struct{}, 1) // a foreigner acts for each
		one     sync.Mutex               // foreigner at a time
		all     sync.WaitGroup
		refused atomic.Int64
		early   atomic.Int64
	)
	inWindow := int64(0) // see owner
	e.owner.onStopping = func() {
		if overtaken() {
			inWindow++
		}
	}
	for _, f := range foreigners {
		all.Go(func() {
			for range turns {
				one.Lock()
				switch r, short := f.profile(t); {
				case r:
					refused.Add(1)
				case short:
					early.Add(1)
				}
				one.Unlock()
			}
		})
	}
	random := rand.New(rand.NewPCG(1, 2))
	turn := func() {
		if random.IntN(2) > 0 {
			return
		}
		select {
		case turns <- struct{}{}:
		default:
		}
	}
	free := func() { // whenever no foreigner does anything, the profiler is to be had
		one.Lock()
		defer one.Unlock()
		err := samplingtest.UntilFree(func() error { return e.Start(e.Interval(0)) })
		if err != nil && !interloper {
			t.Errorf("Start while no other code uses the profiler: %v", err)
		}
		e.Stop(discard)
	}
	var stopped, taken, busy int
	allKinds := func() bool { return taken > 0 && busy > 0 && stopped > 0 && refused.Load() > 0 }
	began := time.Now()
	for (taken+busy+int(refused.Load()) < conflicts || !allKinds() && time.Since(began) < 30*time.Second) && !t.Failed() {
		turn()
		err := e.Start(e.Interval(0))
		if errors.Is(err, sampling.ErrBusy) {
			e.Stop(discard) // what was asked for must not keep them waiting
			free()
			busy++
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for range (stopped + taken) % 8 {
			turn()
			burn(100)
			runtime.Gosched()
			if err = e.Tick(discard); err != nil {
				break
			}
		}
		switch {
		case err == nil:
			turn()
			e.Stop(discard)
			stopped++
		case errors.Is(err, sampling.ErrTaken):
			if taken++; taken%2 == 0 {
				free()
			}
		default:
			t.Fatal(err)
		}
	}
	close(turns)
	all.Wait()
	t.Logf("taken %d times, busy at %d starts, stopped %d times, overtaken at %d of these; they were refused %d times",
		taken, busy, stopped, inWindow, refused.Load())
	if early.Load() > inWindow && !interloper {
		t.Errorf("%d foreign profiles ended before they were stopped: at most %d may have", early.Load(), inWindow)
	}
	if !allKinds() {
		t.Error("one kind of conflict never happened")
	}
	wantFree(t)
}

// Code that stops our profile after we turned its rate off waits for us unseen.
func TestReleaseWhileSomebodyWaits(t *testing.T) {
	waited := func(t *testing.T, then func()) {
		t.Helper()
		var o owner
		if err := samplingtest.UntilFree(func() error { return o.acquire(100) }); err != nil {
			t.Fatal(err)
		}
		runtime.SetCPUProfileRate(0)
		drain(func([]uint64, []unsafe.Pointer) {})
		done := make(chan struct{})
		go func() {
			defer close(done)
			pprof.StopCPUProfile()
			then()
		}()
		for !sampling.StopWaits() {
			runtime.Gosched()
		}
		o.release()
		<-done
	}
	t.Run("and goes", func(t *testing.T) {
		waited(t, func() {})
		if err := pprof.StartCPUProfile(io.Discard); err != nil {
			t.Errorf("after it was released: %v", err)
		}
		pprof.StopCPUProfile()
	})
	t.Run("and starts", func(t *testing.T) {
		started := 0
		for range 20 {
			var err error
			waited(t, func() { err = pprof.StartCPUProfile(io.Discard) })
			if err != nil { // it was ours for a moment
				continue
			}
			started++
			if pprof.StartCPUProfile(io.Discard) == nil {
				t.Error("the profile of who waited was stopped by us")
			}
			pprof.StopCPUProfile()
		}
		if started == 0 {
			t.Error("who waited could never start")
		}
	})
}

// Should runtime/pprof write before the log's end, we must not read beside it.
func TestWriterThatDoesNotWaitForTheEnd(t *testing.T) {
	a := &startRequest{gate: newGate(), answer: make(chan error, 1)}
	go func() { _, _ = a.gate.Write(nil) }() // not from where a profile is written at its end
	<-a.gate.reached
	a.answer <- pprof.StartCPUProfile(a.gate)
	o := &owner{request: a}
	if err := o.acquire(100); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "another function writes") {
		t.Errorf("acquire: %v; want an error that wraps ErrUnsupported and says why", err)
	}
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	pprof.StopCPUProfile()
}
