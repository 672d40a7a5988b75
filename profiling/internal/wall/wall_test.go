package wall

import (
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/internal/leaktest"
	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/profile"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestBudget(t *testing.T) {
	for name, c := range map[string]struct {
		budget float64
		err    string
	}{
		"default":        {0, ""},
		"smallest":       {math.SmallestNonzeroFloat64, ""},
		"a core":         {1, ""},
		"more than one":  {1.01, "wall: budget 1.01: must be a fraction of one core, above 0 and at most 1, or 0 for 0.01"},
		"negative":       {-0.1, "wall: budget -0.1: must be a fraction of one core, above 0 and at most 1, or 0 for 0.01"},
		"not a number":   {math.NaN(), "wall: budget NaN: must be a fraction of one core, above 0 and at most 1, or 0 for 0.01"},
		"infinite":       {math.Inf(1), "wall: budget +Inf: must be a fraction of one core, above 0 and at most 1, or 0 for 0.01"},
		"minus infinite": {math.Inf(-1), "wall: budget -Inf: must be a fraction of one core, above 0 and at most 1, or 0 for 0.01"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			e, err := New(c.budget, sampling.NewSymbols())
			if err != nil {
				got = err.Error()
			}
			if got != c.err {
				t.Errorf("New(%v) = %q, want %q", c.budget, got, c.err)
			}
			if (e == nil) != (err != nil) {
				t.Errorf("New(%v) = %v, %v: want one of the two", c.budget, e, err)
			}
		})
	}
	if e := start(t, 0); e.pace.budget != 0.01 {
		t.Errorf("budget of New(0, sampling.NewSymbols()) = %v, want 0.01", e.pace.budget)
	}
}

func TestInterval(t *testing.T) {
	e := madeEngine(t)
	for asked, want := range map[time.Duration]time.Duration{
		math.MinInt64: time.Millisecond, -1: time.Millisecond, 0: time.Millisecond, time.Microsecond: time.Millisecond,
		time.Millisecond: time.Millisecond, 1234567: 1234567, math.MaxInt64: math.MaxInt64,
	} {
		if got := e.Interval(asked); got != want {
			t.Errorf("Interval(%v) = %v, want %v", asked, got, want)
		}
		if err := e.Start(asked); err != nil {
			t.Fatal(err)
		}
		if got := e.Period(); got != want {
			t.Errorf("Period after Start(%v) = %v, want %v", asked, got, want)
		}
		e.Stop(nil)
	}
}

func TestEqualGoroutinesAreOneSample(t *testing.T) {
	const n = 1000
	synctest.Test(t, func(t *testing.T) {
		wake := make(chan struct{})
		for range n {
			go waiting(wake)
		}
		synctest.Wait()
		clock := int64(5e9)
		e := madeEngine(t)
		e.now = func() int64 { return clock }
		if err := e.Start(10 * time.Millisecond); err != nil {
			t.Fatal(err)
		}
		for i, want := range []struct {
			after, weight time.Duration
		}{
			{15 * time.Millisecond, n * 10 * time.Millisecond}, // the interval
			{11 * time.Millisecond, n * 11 * time.Millisecond},
			{10 * time.Millisecond, n * 10 * time.Millisecond},
			{time.Second, n * time.Second},
		} {
			clock += int64(want.after)
			var equal []sampling.Sample
			for _, s := range tick(t, e) {
				if on(s, "waiting") {
					equal = append(equal, s)
				}
			}
			if len(equal) != 1 {
				t.Fatalf("tick %d: %d samples of equal goroutines, want 1", i, len(equal))
			}
			s := equal[0]
			if s.Count != n || s.Weight != want.weight || s.At != clock || s.Marker != profile.Idle || s.Cut {
				t.Errorf("tick %d: Count %d, Weight %v, At %d, Marker %v, Cut %v; want %d, %v, %d, idle, whole",
					i, s.Count, s.Weight, s.At, s.Marker, s.Cut, n, want.weight, clock)
			}
			if outermost := s.Stack[len(s.Stack)-1].Name; !strings.Contains(outermost, "waiting") {
				t.Errorf("tick %d: outermost call %s, want the goroutine's function", i, outermost)
			}
		}
		e.Stop(nil)
		if err := e.Start(20 * time.Millisecond); err != nil {
			t.Fatal(err)
		}
		clock += int64(time.Hour)
		for _, s := range tick(t, e) {
			if want := n * 20 * time.Millisecond; on(s, "waiting") && s.Weight != want {
				t.Errorf("Weight in the first tick after an hour's stop: %v, want the interval's %v", s.Weight, want)
			}
		}
		close(wake)
	})
}

//go:noinline
func waiting(wake <-chan struct{}) { <-wake }

func TestSamplerIsLeftOut(t *testing.T) {
	e := start(t, time.Second)
	for range 3 {
		for _, s := range tick(t, e) {
			if on(s, "Tick") || on(s, "TestSamplerIsLeftOut") {
				t.Errorf("the goroutine that samples is among the samples: %s", names(s))
			}
		}
	}
}

func TestDeepStackIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wake := make(chan struct{})
		go deep(300, wake)
		synctest.Wait()
		found := false
		for _, s := range tick(t, start(t, time.Second)) {
			if on(s, ".deep") {
				found = true
				if !s.Cut || len(s.Stack) != 128 {
					t.Errorf("stack of 300 calls: Cut %v with %d calls, want it cut to 128", s.Cut, len(s.Stack))
				}
			} else if s.Cut {
				t.Errorf("stack of %d calls is cut: %s", len(s.Stack), names(s))
			}
		}
		if !found {
			t.Error("no sample of the deep stack")
		}
		close(wake)
	})
}

//go:noinline
func deep(calls int, wake <-chan struct{}) {
	if calls > 1 {
		deep(calls-1, wake)
		return
	}
	<-wake
}

func TestStop(t *testing.T) {
	e := madeEngine(t)
	e.Stop(nil) // not started
	if got := tick(t, e); got != nil {
		t.Errorf("Tick before Start: %d samples, want none", len(got))
	}
	for range 2 {
		for range 2 { // a second Start changes nothing
			if err := e.Start(time.Second); err != nil {
				t.Fatal(err)
			}
		}
		if len(tick(t, e)) == 0 {
			t.Error("Tick: no samples, want some")
		}
		if err := e.Flush(func(*sampling.Sample) { t.Error("Flush emitted, want nothing") }); err != nil {
			t.Error(err)
		}
		for range 2 {
			e.Stop(func(*sampling.Sample) { t.Error("Stop emitted, want nothing") })
		}
		if got := tick(t, e); got != nil {
			t.Errorf("Tick after Stop: %d samples, want none", len(got))
		}
	}
	if e.Lost() != 0 {
		t.Errorf("Lost() = %d, want 0", e.Lost())
	}
}

func madeEngine(t testing.TB) *Engine {
	t.Helper()
	e, err := New(0, sampling.NewSymbols())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// start makes an engine that runs until the test ends.
func start(t testing.TB, interval time.Duration) *Engine {
	t.Helper()
	e := madeEngine(t)
	if err := e.Start(interval); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Stop(nil) })
	return e
}

// tick returns copies of what a tick emits.
func tick(t testing.TB, e *Engine) (all []sampling.Sample) {
	t.Helper()
	err := e.Tick(func(s *sampling.Sample) {
		c := *s
		c.Stack, c.Labels = slices.Clone(s.Stack), slices.Clone(s.Labels)
		all = append(all, c)
	})
	if err != nil {
		t.Fatalf("Tick: %v", err)
	}
	return all
}

// on says whether a function whose name ends in suffix is on the stack.
func on(s sampling.Sample, suffix string) bool {
	return slices.ContainsFunc(s.Stack, func(f *profile.Call) bool { return strings.HasSuffix(f.Name, suffix) })
}

func names(s sampling.Sample) string {
	var all []string
	for _, f := range s.Stack {
		all = append(all, f.Name)
	}
	return strings.Join(all, " < ")
}
