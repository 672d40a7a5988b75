// Package samplingtest has what tests of several of the profiler's packages need: a CPU profiler
// that no runtime has, and the start of live engines.
package samplingtest

import (
	"errors"
	"testing"
	"time"

	"github.com/perfline/perfline/profiling/internal/sampling"
)

// Patience is the time in which the runtime answers StartCPUProfile on the busiest machine.
const Patience = time.Minute

// Start starts an engine at its shortest interval, and fails t when the engine does not start.
//
// An engine may find the CPU profiler in use though no other code profiles, because an earlier
// profile is still being ended. Or it gets no signal, because the process was stopped for seconds.
// Start tries again.
func Start(t testing.TB, e sampling.Engine) {
	t.Helper()
	if err := UntilFree(func() error { return e.Start(e.Interval(0)) }); err != nil {
		t.Fatal(err)
	}
}

// UntilFree calls start until start returns another error than [sampling.ErrBusy], and returns that
// error. It also tries again after [sampling.ErrTransient], some times.
func UntilFree(start func() error) error {
	for stalls := 0; ; {
		switch err := start(); {
		case errors.Is(err, sampling.ErrBusy):
		case errors.Is(err, sampling.ErrTransient) && stalls < 10:
			stalls++
		default:
			return err
		}
		time.Sleep(time.Millisecond)
	}
}
