package continuous

import (
	"time"

	"github.com/perfline/perfline/profiling/profile"
)

const (
	// maxFactor bounds the calibration: threads without samples must not inflate the time of
	// others.
	maxFactor = 2
	// A calibration needs minCalibrated samples, because fewer are too random. Beyond
	// maxCalibrated, the calibration forgets old samples, which say little about the present
	// program.
	minCalibrated, maxCalibrated = 20, 2000
)

// A calibration scales the samples of CPU profiles to the CPU time that the process used. The
// samples alone stand for too little: the kernel checks a thread's timer only at its clock ticks,
// and takes one sample even if the timer expired more than once since the last tick. Threads of a
// server run in bursts: they lose a sixth of their samples at an interval of 10 ms, and half of
// them at 4 ms.
type calibration struct{ used, sampled float64 } // CPU time, in nanoseconds

// of returns the factor for the weights of a trace's samples.
func (c *calibration) of(t *profile.Trace) float64 {
	var sampled time.Duration
	for i := range t.Samples {
		sampled += t.Samples[i].Weight
	}
	return c.factor(t.CPUTime, sampled, t.Interval)
}

// factor returns the factor for weights, from 1 to maxFactor, after one more part. used is the CPU
// time of the process in the part, 0 if unknown. sampled is the weight of the part's samples.
func (c *calibration) factor(used, sampled, interval time.Duration) float64 {
	if used > 0 {
		c.used += float64(used)
		c.sampled += float64(sampled)
	}
	if c.sampled < minCalibrated*float64(interval) {
		return 1
	}
	factor := c.used / c.sampled
	if most := maxCalibrated * float64(interval); c.sampled > most {
		c.used, c.sampled = factor*most, most
	}
	return min(max(factor, 1), maxFactor)
}
