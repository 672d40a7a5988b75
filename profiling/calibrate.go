package profiling

import (
	"time"
)

const (
	// mostWeight is how many times its interval a sample stands for at most: time of threads
	// that are not sampled at all is not that of those that are.
	mostWeight = 2
	// Samples to be judged by: fewer are fewer or more by chance, and of many the old ones
	// say little of what the program does now.
	fewSamples, manySamples = 20, 2000
)

// A calibration makes the samples of a session of the CPU stand for all the CPU time that
// the process used. Without it they are too light: the kernel looks at a thread's timer
// when the clock ticks only, and what of it expired more than once since the last time
// makes one sample. Threads that run in bursts, as those of a server do, lose a sixth of
// theirs at an interval of 10 ms, and half of them at 4 ms.
type calibration struct{ used, sampled float64 }

// factor is what to multiply weights by, from 1 to mostWeight, after another part of the
// session, in which the process used some time and samples of some weight were taken. A
// used time of 0 is not known.
func (c *calibration) factor(used, sampled, interval time.Duration) float64 {
	if used > 0 {
		c.used += float64(used)
		c.sampled += float64(sampled)
	}
	if c.sampled < fewSamples*float64(interval) {
		return 1
	}
	factor := c.used / c.sampled
	if many := manySamples * float64(interval); c.sampled > many {
		c.used, c.sampled = factor*many, many
	}
	return min(max(factor, 1), mostWeight)
}
