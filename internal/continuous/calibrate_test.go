package continuous

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
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
		"most were not":                 {{time.Second, 30, maxFactor}},
		"too few to tell":               {{time.Second, minCalibrated - 1, 1}},
		"few at a time":                 {{125 * time.Millisecond, 10, 1}, {125 * time.Millisecond, 10, 1.25}, {0, 1, 1.25}},
		"none in some parts":            {{50 * time.Millisecond, 0, 1}, {200 * time.Millisecond, 20, 1.25}},
		"not known":                     {{0, 1000, 1}},
		"not known once":                {{time.Second, 80, 1.25}, {0, 10, 1.25}},
		"what was long ago says little": {{25 * time.Second, maxCalibrated, 1.25}, {80 * time.Second, 4 * maxCalibrated, 1.05}, {22 * time.Second, maxCalibrated, 1.075}},
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
