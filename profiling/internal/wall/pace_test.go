package wall

import (
	"testing"
	"time"

	"github.com/perfline/perfline/profiling/internal/sampling"
)

func TestPeriodStaysInsideTheBudget(t *testing.T) {
	type phase struct {
		ticks     int
		cost      time.Duration // of each tick
		low, high time.Duration // of Period then
	}
	const (
		us     = time.Microsecond
		inTurn = -1 // 1 ms and 3 ms
		ms     = time.Millisecond
	)
	for name, c := range map[string]struct {
		budget   float64
		interval time.Duration
		phases   []phase
	}{
		"cheap ticks keep the interval": {0.01, 10 * ms, []phase{{100, 99 * us, 10 * ms, 10 * ms}}},
		"free ticks keep the interval":  {0.01, 10 * ms, []phase{{100, 0, 10 * ms, 10 * ms}}},
		"cost by budget":                {0.01, 10 * ms, []phase{{40, ms, 99 * ms, 100 * ms}}},
		"a larger budget":               {0.5, 10 * ms, []phase{{40, 10 * ms, 19 * ms, 20 * ms}}},
		"a whole core":                  {1, ms, []phase{{40, 3 * ms, 2900 * us, 3 * ms}}},
		"a first tick far off":          {0.01, 10 * ms, []phase{{1, time.Hour, 10 * ms, 30 * ms}}},
		"one tick far off, and forgotten": {0.01, 10 * ms, []phase{
			{50, ms, 99 * ms, 100 * ms}, {1, time.Hour, 100 * ms, 300 * ms}, {25, ms, 99 * ms, 101 * ms},
		}},
		"a thousand times the cost":      {0.01, 10 * ms, []phase{{10, 100 * us, 10 * ms, 10 * ms}, {9, 100 * ms, 7 * time.Second, 10 * time.Second}}},
		"a minute at most":               {0.01, 10 * ms, []phase{{100, time.Hour, 59 * time.Second, time.Minute}}},
		"back from a minute":             {0.01, 10 * ms, []phase{{100, time.Hour, 59 * time.Second, time.Minute}, {50, 0, 10 * ms, 50 * ms}}},
		"an interval above a minute":     {0.01, time.Hour, []phase{{10, time.Hour, time.Hour, time.Hour}}},
		"an absurd interval":             {0.01, 1<<63 - 1, []phase{{10, time.Hour, 1<<63 - 1, 1<<63 - 1}}},
		"an absurd cost":                 {1e-300, ms, []phase{{100, 1<<63 - 1, 59 * time.Second, time.Minute}}},
		"a clock that goes backward":     {0.01, 10 * ms, []phase{{10, -time.Second, 10 * ms, 10 * ms}}},
		"costs that vary: by their mean": {0.01, ms, []phase{{200, inTurn, 160 * ms, 240 * ms}}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPace(c.budget, c.interval)
			for i, phase := range c.phases {
				for n := range phase.ticks {
					cost, before := phase.cost, p.period
					if cost == inTurn {
						cost = time.Duration(1+n%2*2) * ms
					}
					p.spent(cost)
					if by := float64(p.period) / float64(before); by > 2.76 || by < 0.74 {
						t.Errorf("phase %d: period went from %v to %v in one tick: want it smooth", i, before, p.period)
					}
				}
				if p.period < phase.low || p.period > phase.high {
					t.Errorf("phase %d: period after %d ticks of %v = %v, want %v to %v", i, phase.ticks, phase.cost, p.period, phase.low, phase.high)
				}
			}
		})
	}
}

// The cost of emitting is inside the budget.
func TestEmittingIsPartOfTheCost(t *testing.T) {
	e := madeEngine(t)
	var spent time.Duration
	e.cpu = func() time.Duration { return spent }
	if err := e.Start(time.Millisecond); err != nil {
		t.Fatal(err)
	}
	// The goroutine of testing that waits for this one is emitted each time.
	for range 40 {
		once := true
		err := e.Tick(func(*sampling.Sample) {
			if once {
				spent += time.Millisecond
			}
			once = false
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := e.Period(); got < 99*time.Millisecond || got > 100*time.Millisecond {
		t.Errorf("period with 1 ms of emitting in each tick = %v, want 100ms", got)
	}
	e.Stop(nil)
	if err := e.Start(time.Second / 100); err != nil {
		t.Fatal(err)
	}
	if got := e.Period(); got != time.Second/100 {
		t.Errorf("period after a new Start = %v, want the interval of 10ms", got)
	}
}

// The clock of costs moves, or the test does not end.
func TestCPUTime(*testing.T) {
	for before := cpuTime(); cpuTime() == before; {
	}
}
