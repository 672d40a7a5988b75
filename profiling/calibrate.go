package profiling

import "time"

// mostWeight is how many times its interval a sample stands for at most: time of threads
// that are not sampled at all is not that of those that are.
const mostWeight = 2

// calibrate gives samples of the CPU weights that sum up to the CPU time which the process
// used meanwhile. Without that they are too light: the kernel looks at a thread's timer
// when the clock ticks only, and what of it expired more than once since the last time
// makes one sample. Threads that run in bursts, as those of a server do, lose a sixth of
// theirs at an interval of 10 ms, and half of them at 4 ms.
func (b *builder) calibrate() {
	sampled := time.Duration(0)
	for i := range b.t.Samples {
		sampled += b.t.Samples[i].Weight
	}
	if b.used <= 0 || sampled <= 0 {
		return
	}
	factor := min(float64(b.used)/float64(sampled), mostWeight)
	for i := range b.t.Samples {
		s := &b.t.Samples[i]
		s.Weight = time.Duration(float64(s.Weight) * factor)
	}
}
