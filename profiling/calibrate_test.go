package profiling

import (
	"slices"
	"testing"
	"time"
)

func TestCalibrate(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		weights []time.Duration
		used    time.Duration
		want    []time.Duration
	}{
		"as much was used":           {[]time.Duration{10 * ms, 20 * ms}, 30 * ms, []time.Duration{10 * ms, 20 * ms}},
		"more":                       {[]time.Duration{10 * ms, 20 * ms}, 36 * ms, []time.Duration{12 * ms, 24 * ms}},
		"less":                       {[]time.Duration{10 * ms, 10 * ms}, 10 * ms, []time.Duration{5 * ms, 5 * ms}},
		"too much to be theirs":      {[]time.Duration{10 * ms}, time.Second, []time.Duration{20 * ms}},
		"not known":                  {[]time.Duration{10 * ms}, 0, []time.Duration{10 * ms}},
		"one sample stands for none": {[]time.Duration{0, 10 * ms}, 12 * ms, []time.Duration{0, 12 * ms}},
		"all stand for none":         {[]time.Duration{0}, 12 * ms, []time.Duration{0}},
		"no samples":                 {nil, 12 * ms, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBuilder(nil)
			for _, w := range c.weights {
				b.t.Samples = append(b.t.Samples, Sample{Weight: w, StackID: None, ContextID: None})
			}
			b.used = c.used
			var got []time.Duration
			for _, s := range b.trace().Samples {
				got = append(got, s.Weight)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("weights are %v, want %v", got, c.want)
			}
		})
	}
}
