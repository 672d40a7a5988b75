package cpushare

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// A record is a test that Check is tried on.
type record struct {
	skipped string
	failed  string
}

func (r *record) Helper()             {}
func (r *record) Logf(string, ...any) {}
func (r *record) Skipf(format string, args ...any) {
	r.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (r *record) Fatalf(format string, args ...any) {
	r.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// run calls check as a test of its own does, and returns how often check was called.
func (r *record) run(g *gate, errs ...error) (calls int) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.check(r, func() error {
			calls++
			if calls > len(errs) {
				return nil
			}
			return errs[calls-1]
		})
	}()
	<-done
	return calls
}

func TestCheck(t *testing.T) {
	wrong := errors.New("wrong")
	for name, c := range map[string]struct {
		raceDetector bool
		shares       []float64 // the last one stays
		errs         []error
		calls        int
		waited       time.Duration
		skip, fail   string
	}{
		"a quiet machine": {shares: []float64{1}, calls: 1},
		"a machine that becomes quiet": {
			shares: []float64{0.5, 0.5, 1}, calls: 1, waited: 300 * time.Millisecond,
		},
		"a busy machine": {
			shares: []float64{0.5}, waited: 2 * time.Second,
			skip: "busy machine: it gives this process 50 % of its processors, want 90 % (last failure: <nil>)",
		},
		"one failure":  {shares: []float64{1}, errs: []error{wrong}, calls: 2},
		"two failures": {shares: []float64{1}, errs: []error{wrong, wrong}, calls: 3},
		"three failures": {
			shares: []float64{1}, errs: []error{wrong, wrong, wrong}, calls: 3,
			fail: "on a quiet machine, 3 times in a row: wrong",
		},
		"a machine that becomes busy": {
			shares: []float64{1, 0.25}, errs: []error{wrong, wrong, wrong}, calls: 1, waited: 2 * time.Second,
			skip: "busy machine: it gives this process 25 % of its processors, want 90 % (last failure: wrong)",
		},
		"the race detector": {raceDetector: true, skip: "CPU shares are not those of the program under the race detector"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				measured := 0
				g := &gate{raceDetector: c.raceDetector, left: 2 * time.Second, measure: func() float64 {
					measured++
					return c.shares[min(measured, len(c.shares))-1]
				}}
				r := &record{}
				began := time.Now()
				if calls := r.run(g, c.errs...); calls != c.calls {
					t.Errorf("the check ran %d times, want %d", calls, c.calls)
				}
				if r.skipped != c.skip || r.failed != c.fail {
					t.Errorf("skipped with %q, failed with %q; want %q, %q", r.skipped, r.failed, c.skip, c.fail)
				}
				if waited := time.Since(began); waited != c.waited {
					t.Errorf("it waited %v, want %v", waited, c.waited)
				}
			})
		})
	}
}

// Tests of one program wait once, not each.
func TestTheTimeToWaitIsShared(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		g := &gate{left: 2 * time.Second, measure: func() float64 { return 0.5 }}
		began := time.Now()
		for range 3 {
			(&record{}).run(g)
		}
		if waited := time.Since(began); waited != 2*time.Second {
			t.Errorf("three tests waited %v, want 2 s together", waited)
		}
	})
}

// A measurement ends, and is a share.
func TestMeasure(t *testing.T) {
	if share := measure(); share < 0 || share > 1 {
		t.Errorf("the share is %v, want 0 to 1", share)
	}
}
