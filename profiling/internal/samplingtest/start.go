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

// Start starts an engine at its shortest interval. It fails t when the engine does not start.
//
// Start tries again when the CPU profiler is in use, because an earlier profile may still end, or
// when no signal arrives, because the process may have been stopped for seconds.
func Start(t testing.TB, e sampling.Engine) {
	t.Helper()
	if err := UntilFree(func() error { return e.Start(e.Interval(0)) }); err != nil {
		t.Fatal(err)
	}
}

// UntilFree calls start until start returns another error than [sampling.ErrBusy], and returns that
// error. It also retries [sampling.ErrTransient], ten times.
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
