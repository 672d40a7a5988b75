//go:build !perfline_portable && (linux || darwin)

package cpuprof

import (
	"errors"
	"io"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/internal/samplingtest"
)

// running returns an engine of this process that runs at its shortest interval.
func running(t *testing.T) *Engine {
	t.Helper()
	e, err := New(sampling.NewSymbols(), samplingtest.Patience)
	if err != nil {
		t.Fatal(err)
	}
	samplingtest.Start(t, e)
	t.Cleanup(func() { e.Stop(func(*sampling.Sample) {}) })
	return e
}

// taken returns the error of the engine when other code takes the profiler, and returns when that has.
func taken(e *Engine) (err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		pprof.StopCPUProfile()
	}()
	for err == nil {
		err = e.Flush(func(*sampling.Sample) {})
	}
	<-done
	return err
}

// The runtime of this release does what the CPU profiler of the other tests does: other code takes
// the profiler, and gets it.
func TestTakenInThisProcess(t *testing.T) {
	e := running(t)
	err := taken(e)
	for errors.Is(err, sampling.ErrTransient) { // the process was stopped for seconds
		samplingtest.Start(t, e)
		err = taken(e)
	}
	if !errors.Is(err, sampling.ErrTaken) || !strings.Contains(err.Error(), "StopCPUProfile was called") {
		t.Errorf("Flush: %v, want ErrTaken, and an error that says what ended the profile", err)
	}
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Errorf("the code that took the profiler does not get it: %v", err)
	}
	e.Stop(func(*sampling.Sample) {}) // must not stop theirs
	if err := pprof.StartCPUProfile(io.Discard); err == nil {
		t.Error("an engine that does not run stopped a profile of other code")
	}
	pprof.StopCPUProfile()
}
