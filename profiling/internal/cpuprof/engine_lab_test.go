//go:build lab && linux && !perfline_portable

package cpuprof

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/perfline/perfline/internal/cpushare"
	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/profile"
)

// sampled runs work until n of its samples were seen, which are those with function on
// their stack, and hands each of them to see.
func sampled(t *testing.T, e *Engine, function string, n int, work func(), see func(*sampling.Sample)) {
	t.Helper()
	for n > 0 {
		work()
		err := e.Tick(func(s *sampling.Sample) {
			if slices.ContainsFunc(s.Stack, func(f *profile.Call) bool { return f.Name == here+function }) {
				n -= s.Count
				see(s)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

var burned uint64

// burn, and the functions that are named for their share, use the CPU.
//
//go:noinline
func burn(n int) {
	x := uint64(n)
	for range n * 1000 {
		x = x*6364136223846793005 + 1442695040888963407
	}
	burned = x
}

//go:noinline
func burn60() { burn(600) }

//go:noinline
func burn40() { burn(400) }

//go:noinline
func burnBoth() {
	burn60()
	burn40()
}

//go:noinline
func burnDeep(depth int) {
	if depth > 0 {
		deeper(depth)
	} else {
		burn40()
	}
	burned++ // the calls above are no tail calls
}

// deeper is inlined into burnDeep.
func deeper(depth int) { burnDeep(depth - 1) }

// countFunctions adds a sample to the count of each function on its stack.
func countFunctions(counts map[string]int, s *sampling.Sample) {
	for _, f := range s.Stack {
		counts[strings.TrimPrefix(f.Name, here)] += s.Count
	}
}

// Samples are of the function that ran, at the time when it ran.
func TestLabSamples(t *testing.T) {
	began := sampling.Now()
	e := running(t)
	counts := map[string]int{}
	total, last := 0, began
	sampled(t, e, "burnBoth", 50, burnBoth, func(s *sampling.Sample) {
		if s.At < last || s.At > sampling.Now() {
			t.Errorf("a sample at %d: the one before is at %d, and it is %d", s.At, last, sampling.Now())
		}
		last = s.At
		if root := s.Stack[len(s.Stack)-1].Name; root != "testing.tRunner" || s.Cut || s.Marker != profile.Ordinary {
			t.Errorf("the stack's outermost is %s, cut=%v, marker %v; want testing.tRunner, as runtime/pprof has it, whole and ordinary", root, s.Cut, s.Marker)
		}
		countFunctions(counts, s)
		total += s.Count
	})
	if counts["burn60"]+counts["burn40"] < total*9/10 {
		t.Errorf("of %d samples burn60 has %d and burn40 %d: they do all the work", total, counts["burn60"], counts["burn40"])
	}
	if e.Lost() > 0 {
		t.Errorf("%d samples were lost", e.Lost())
	}
}

// A function has as many samples as its part of the time.
func TestLabSplit(t *testing.T) {
	cpushare.Check(t, func() error {
		e := running(t)
		defer e.Stop(discard)
		counts := map[string]int{}
		sampled(t, e, "burnBoth", 300, burnBoth, func(s *sampling.Sample) { countFunctions(counts, s) })
		// Four standard deviations of 300 samples.
		if share := float64(counts["burn60"]) / float64(counts["burnBoth"]); math.Abs(share-0.6) > 0.12 {
			return fmt.Errorf("burn60 has %.2f of %d samples, want about 0.60", share, counts["burnBoth"])
		}
		return nil
	})
}

// The kernel's signals find the stack at any depth, also within an inlined frame.
func TestLabDeepStacks(t *testing.T) {
	e := running(t)
	sampled(t, e, "burn40", 5, func() { burnDeep(100) }, func(s *sampling.Sample) {
		if !s.Cut || len(s.Stack) < deepest {
			t.Errorf("more than 100 frames: cut=%v, %d frames; want it cut after %d", s.Cut, len(s.Stack), deepest)
		}
		if outermost := s.Stack[len(s.Stack)-1]; outermost.Name != here+"burnDeep" {
			t.Errorf("the outermost frame is %s, which was inlined into burnDeep", outermost.Name)
		}
	})
}

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
func TestLabLogThatIsFull(t *testing.T) {
	e := running(t)
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
func TestLabLogThatWrapsAround(t *testing.T) {
	e := running(t)
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
