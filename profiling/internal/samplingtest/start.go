// Package samplingtest starts engines in tests.
package samplingtest

import (
	"errors"
	"testing"
	"time"

	"github.com/perfline/perfline/profiling/internal/sampling"
)

// Start starts an engine at its shortest interval, and fails t when it does not start.
//
// On a busy machine an engine may find the CPU profiler in use, though no other code profiles. The runtime has
// not answered yet, or an earlier profile is still being ended. Start tries again for ten seconds.
func Start(t testing.TB, e sampling.Engine) {
	t.Helper()
	if err := UntilFree(func() error { return e.Start(e.Interval(0)) }); err != nil {
		e.Stop(func(*sampling.Sample) {}) // or later tests find the CPU profiler in use
		t.Fatal(err)
	}
}

// Patient lets engines wait ten seconds for StartCPUProfile, because a busy machine may keep its goroutine waiting. For TestMain.
func Patient() { sampling.AnswerTimeout = 10 * time.Second }

// UntilFree calls start until it returns another error than [sampling.ErrBusy], for ten seconds at most. It returns the
// last error.
func UntilFree(start func() error) (err error) {
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		if err = start(); !errors.Is(err, sampling.ErrBusy) || time.Since(began) > 10*time.Second {
			return err
		}
	}
}
