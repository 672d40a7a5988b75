//go:build linux && !perfline_portable

package cpuprof

import (
	"errors"
	"io"
	"runtime"
	"runtime/pprof"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/internal/samplingtest"
)

// pester makes n samples.
func pester(t *testing.T, n int) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for range n {
		if err := syscall.Tgkill(syscall.Getpid(), syscall.Gettid(), syscall.SIGPROF); err != nil {
			t.Fatal(err)
		}
	}
}

// The log has room for 1<<14 records at most.
func TestLogThatIsFull(t *testing.T) {
	e := started(t)
	for range 3 {
		const n = 1<<14 + 1000
		lost, seen := e.Lost(), 0
		pester(t, n)
		if err := e.Tick(func(s *sampling.Sample) { seen += s.Count }); err != nil {
			t.Fatal(err)
		}
		if lost = e.Lost() - lost; lost < 1000 || seen < 1000 || int(lost)+seen < n {
			t.Errorf("of %d samples %d were seen and %d lost", n, seen, lost)
		}
	}
}

// Where the log wraps around, a read ends early.
func TestLogThatWrapsAround(t *testing.T) {
	e := started(t)
	for range 50 {
		const n = 1500
		seen := 0
		pester(t, n)
		if err := e.Tick(func(s *sampling.Sample) { seen += s.Count }); err != nil {
			t.Fatal(err)
		}
		if seen < n {
			t.Errorf("a tick saw %d of %d samples", seen, n)
		}
	}
	if e.Lost() != 0 {
		t.Errorf("%d samples lost", e.Lost())
	}
}

func TestNudgesAreNoSamples(t *testing.T) {
	e := started(t)
	for range 100 {
		err := e.Tick(func(s *sampling.Sample) {
			for _, f := range s.Stack {
				if strings.HasSuffix(f.Name, "cpuprof.nudge") {
					t.Error("a sample has nudge on its stack")
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A runtime that is not as expected must neither hang nor keep the profiler.
func TestUnsupported(t *testing.T) {
	e := newEngine(t)
	e.entry, e.overdue = 0, time.Millisecond // no record is known for a nudge's
	err := e.Start(e.Interval(0))
	if !errors.Is(err, ErrUnsupported) || !errors.Is(err, sampling.ErrTransient) || !strings.Contains(err.Error(), "no signal within 1ms") {
		t.Errorf("Start: %v; want an error that wraps ErrUnsupported and sampling.ErrTransient, and says why", err)
	}
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	pprof.StopCPUProfile()
}

func TestSignalsThatStopArriving(t *testing.T) {
	e := started(t)
	entry := e.entry
	e.entry, e.overdue = 0, time.Millisecond
	if err := e.Tick(discard); !errors.Is(err, sampling.ErrTaken) {
		t.Errorf("Tick: %v", err)
	}
	e.entry, e.overdue = entry, overdue
	samplingtest.Start(t, e)
}

// A log that is not as the engine expects it is refused.
func TestSelfTest(t *testing.T) {
	e := started(t)
	hz := e.decoder.hz
	if err := e.test(hz, discard); err != nil {
		t.Errorf("a log that is as expected: %v", err)
	}
	if err := e.test(hz+1, discard); !errors.Is(err, sampling.ErrTransient) {
		t.Errorf("another rate: %v, want an error that wraps sampling.ErrTransient", err)
	}
	labels := unsafe.Pointer(new(int64))
	for name, c := range map[string]struct {
		n    record
		want string // of the error; "" for none
	}{
		"as it is":     {record{at: 15, count: 1, tag: labels}, ""},
		"at once":      {record{at: 10, count: 1, tag: labels}, ""},
		"at the end":   {record{at: 20, count: 1, tag: labels}, ""},
		"none":         {record{}, "is not in the log"},
		"several":      {record{at: 15, count: 2, tag: labels}, "is not in the log"},
		"too early":    {record{at: 9, count: 1, tag: labels}, "between 10 and 20 is in the log at 9"},
		"too late":     {record{at: 21, count: 1, tag: labels}, "between 10 and 20 is in the log at 21"},
		"no labels":    {record{at: 15, count: 1}, "labels"},
		"other labels": {record{at: 15, count: 1, tag: unsafe.Pointer(new(int64))}, "labels"},
	} {
		t.Run(name, func(t *testing.T) {
			err := checkSent(c.n, labels, 10, 20)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("checkSent: %v, want an error with %q", err, c.want)
			}
		})
	}
}

// The self-test for systems where a signal cannot be sent to a thread.
func TestAnyThread(t *testing.T) {
	e := started(t)
	hz := e.decoder.hz
	if err := e.testAnyThread(hz, discard); err != nil {
		t.Errorf("a log that is as expected: %v", err)
	}
	if err := e.testAnyThread(hz+1, discard); !errors.Is(err, sampling.ErrTransient) {
		t.Errorf("another rate: %v, want an error that wraps sampling.ErrTransient", err)
	}
	e.decoder.last = 1 << 62
	if err := e.testAnyThread(hz, discard); err == nil || !strings.Contains(err.Error(), "after the present") {
		t.Errorf("a time that has not come: %v, want an error", err)
	}
}
