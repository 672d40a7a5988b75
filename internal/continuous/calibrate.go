package continuous

import (
	"time"

	"github.com/perfline/perfline/profiling/profile"
)

const (
	// maxFactor bounds the calibration: the time of threads that are not sampled at all must not
	// count for those that are.
	maxFactor = 2
	// A calibration needs minCalibrated samples: fewer ones are few or many by chance. Beyond
	// maxCalibrated it forgets old ones, which say little about what the program does now.
	minCalibrated, maxCalibrated = 20, 2000
)

// A calibration makes the samples of CPU profiles stand for all the CPU time that the process used.
// Without it they stand for too little. The kernel looks at a thread's timer only when its clock
// ticks, and makes one sample even if the timer expired more than once since the last tick. The
// threads of a server run in bursts: they lose a sixth of their samples at an interval of 10 ms,
// and half of them at 4 ms.
type calibration struct{ used, sampled float64 } // CPU time, in nanoseconds

// of returns the factor for the weights of a part's samples.
func (c *calibration) of(t *profile.Trace) float64 {
	var sampled time.Duration
	for i := range t.Samples {
		sampled += t.Samples[i].Weight
	}
	return c.factor(t.CPUTime, sampled, t.Interval)
}

// factor returns the factor for weights, from 1 to maxFactor, after one more part, in which the
// process used some CPU time and samples of some weight were taken. A used time of 0 is unknown.
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
