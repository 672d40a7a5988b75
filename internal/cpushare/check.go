package cpushare

import (
	"sync"
	"time"
)

// wait is how long the tests of CPU shares of one program wait for a quiet machine, together.
const wait = time.Minute

const (
	// Two busy loops on two cores leave a half, and one on two cores leaves three quarters.
	enough = 0.9
	tries  = 3
)

// A tester is the part of *testing.T that Check needs.
type tester interface {
	Helper()
	Logf(format string, args ...any)
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// A gate lets tests pass when the machine is quiet.
type gate struct {
	raceDetector bool
	measure      func() float64 // the part of its processors that the process gets, 0 to 1

	mu   sync.Mutex    // guards left
	left time.Duration // of the time to wait; tests of one program share it
}

var shared = gate{raceDetector: raceDetector, measure: measure, left: wait}

// Check calls the function check up to three times on a quiet machine. If each call returns an
// error, Check fails the test t. Other programs may cause a single error. Check skips the test in
// these cases:
//
//   - The machine does not become quiet within a minute. All tests of a program share this minute.
//     The message contains the measured share.
//   - The race detector is active, because the race detector uses most of the processor time.
//
// Check uses all processors during a measurement. Therefore, the test must not run in parallel with
// other tests.
func Check(t tester, check func() error) {
	t.Helper()
	shared.check(t, check)
}

func (g *gate) check(t tester, check func() error) {
	t.Helper()
	if g.raceDetector {
		t.Skipf("CPU shares are not those of the program under the race detector")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var err error
	for try := range tries {
		if share := g.quiet(); share < enough {
			t.Skipf("busy machine: it gives this process %.0f %% of its processors, want %.0f %% (last failure: %v)", 100*share, 100*enough, err)
		}
		if err = check(); err == nil {
			return
		}
		t.Logf("try %d: %v", try+1, err)
	}
	t.Fatalf("on a quiet machine, %d times in a row: %v", tries, err)
}

// quiet returns the share as soon as it is enough, or the last one when no time is left to wait.
func (g *gate) quiet() float64 {
	pause := 100 * time.Millisecond
	for {
		share := g.measure()
		if share >= enough || g.left <= 0 {
			return share
		}
		pause = min(pause, g.left)
		g.left -= pause
		time.Sleep(pause)
		pause *= 2
	}
}
