package pyroscope

import (
	"fmt"

	pprof "github.com/google/pprof/profile"

	"github.com/perfline/perfline/internal/continuous"
)

// encodeCPU returns the profiles to send for CPU samples.
func encodeCPU(c continuous.CPU, fit fitter) ([][]byte, error) {
	p, err := c.Trace.Pprof()
	if err != nil {
		return nil, fmt.Errorf("pyroscope: %w", err)
	}
	calibrate(p, c.Factor)
	length := c.Trace.Stopped - c.Trace.Started
	p.TimeNanos, p.DurationNanos = c.End.Add(-length).UnixNano(), int64(length)
	fit.fit(p)
	return encode(p)
}

// calibrate multiplies the CPU time of a profile by a factor.
func calibrate(p *pprof.Profile, factor float64) {
	if factor == 1 {
		return
	}
	for _, s := range p.Sample {
		s.Value[1] = int64(float64(s.Value[1]) * factor)
	}
}
