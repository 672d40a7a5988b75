// Package samplingtest helps tests of the profiler's packages: a simulated CPU profiler, and the
// start of live engines.
package samplingtest

import (
	"errors"
	"testing"
	"time"

	"github.com/perfline/perfline/profiling/internal/sampling"
)

// Patience bounds the time of an answer of StartCPUProfile on the busiest machine.
const Patience = time.Minute

// Start starts the engine e at the shortest interval. If the engine does not start, Start fails the
// test t. Start tries again in these cases:
//
//   - Other code uses the CPU profiler. An earlier profile may need time to end.
//   - No signal arrives. The system may have stopped the process for seconds.
func Start(t testing.TB, e sampling.Engine) {
	t.Helper()
	if err := UntilFree(func() error { return e.Start(e.Interval(0)) }); err != nil {
		t.Fatal(err)
	}
}

// UntilFree calls the function start repeatedly until the CPU profiler is free: while start returns
// [sampling.ErrBusy]. UntilFree also repeats the call after [sampling.ErrTransient], at most ten
// times. UntilFree returns the last result of start.
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
