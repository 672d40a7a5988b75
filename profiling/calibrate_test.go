package profiling

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/perfline/perfline/profiling/internal/sampling"
)

func TestCalibration(t *testing.T) {
	const interval = 10 * time.Millisecond
	type part struct {
		used    time.Duration
		samples int
		want    float64
	}
	for name, parts := range map[string][]part{
		"all were sampled":              {{time.Second, 100, 1}},
		"a fifth was not":               {{time.Second, 80, 1.25}},
		"more were":                     {{time.Second, 110, 1}},
		"most were not":                 {{time.Second, 30, mostWeight}},
		"too few to tell":               {{time.Second, fewSamples - 1, 1}},
		"few at a time":                 {{125 * time.Millisecond, 10, 1}, {125 * time.Millisecond, 10, 1.25}, {0, 1, 1.25}},
		"none in some parts":            {{50 * time.Millisecond, 0, 1}, {200 * time.Millisecond, 20, 1.25}},
		"not known":                     {{0, 1000, 1}},
		"not known once":                {{time.Second, 80, 1.25}, {0, 10, 1.25}},
		"what was long ago says little": {{25 * time.Second, manySamples, 1.25}, {80 * time.Second, 4 * manySamples, 1.05}, {22 * time.Second, manySamples, 1.075}},
	} {
		t.Run(name, func(t *testing.T) {
			var c calibration
			for i, p := range parts {
				if got := c.factor(p.used, time.Duration(p.samples)*interval, interval); math.Abs(got-p.want) > 1e-9 {
					t.Errorf("part %d, of %v and %d samples: %v, want %v", i, p.used, p.samples, got, p.want)
				}
			}
		})
	}
}

// However little a part is, the parts together stand for what was used, no less and no
// more than chance makes it.
func TestCalibrationOfSmallParts(t *testing.T) {
	const interval = 10 * time.Millisecond
	for _, each := range []time.Duration{time.Millisecond, 8 * time.Millisecond, 50 * time.Millisecond} {
		for _, share := range []float64{1, 0.8} { // of the time that is sampled
			r := rand.New(rand.NewPCG(1, 2))
			var c calibration
			var used, weight float64
			passed := 0.0
			for range 20_000 {
				n := 0
				for passed += float64(each) * share * (0.5 + r.Float64()); passed >= float64(interval); passed -= float64(interval) {
					n++
				}
				sampled := time.Duration(n) * interval
				weight += float64(sampled) * c.factor(each, sampled, interval)
				used += float64(each)
			}
			if got := weight / used; math.Abs(got-1) > 0.03 {
				t.Errorf("parts of %v, of which %v is sampled: %.3f of it is there", each, share, got)
			}
		}
	}
}

// A change of the engine's interval after a session has stopped, before the hub lets go of
// it, is no gap: the time used until then stays.
func TestTimeUsedBeforeTheEnd(t *testing.T) {
	if sampling.ProcessCPU() == 0 {
		t.Skip("the process's CPU time is not known on this system")
	}
	onDesk(t, func(d *desk) {
		p := d.start(context.Background(), 10*time.Millisecond, 0)
		defer d.stop(p)
		before := sampling.ProcessCPU()
		for sampling.ProcessCPU()-before < 20*time.Millisecond { // with the clock's own calls
		}
		p.s.ended.Store(sampling.Now())
		p.s.pause(sampling.Now())
		p.s.resume(sampling.Now())
		p.s.mu.Lock()
		p.s.charge()
		used := p.s.used
		p.s.mu.Unlock()
		if used < 20*time.Millisecond {
			d.Errorf("the session knows of %v, 20ms were used", used)
		}
	})
}

func TestWhoIsCalibrated(t *testing.T) {
	for name, c := range map[string]struct {
		wall, full bool
		want       float64
	}{
		"a session of the CPU": {false, false, 1.5},
		"one that is full":     {false, true, 1},
		"one of the wall":      {true, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := &session{o: Options{Wall: c.wall}, full: c.full, part: newPart(nil), paused: 1, used: 3 * time.Second, interval: 10 * time.Millisecond}
			s.part.weight = 2 * time.Second
			s.describe(s.part, 1)
			if got := s.part.factor; got != c.want {
				t.Errorf("weights are multiplied by %v, want %v", got, c.want)
			}
		})
	}
}
