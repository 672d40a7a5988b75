package continuous

import (
	"slices"
	"sync"
	"time"

	"github.com/perfline/perfline/profiling/profile"
)

const (
	remembered = time.Minute
	// Parts stay in memory until no call of LastMinute came for memoryTime.
	memoryTime = 5 * time.Minute
	// maxRemembered is how many samples stay in memory. A sample takes 48 bytes.
	maxRemembered = 1 << 18
)

// A memory has the CPU samples of the last minute.
type memory struct {
	mu      sync.Mutex // guards what follows
	parts   []CPU      // by End
	samples int
	until   time.Time // the end of the time in which parts are added
}

// LastMinute returns the CPU samples of the last minute, as far as they have been taken: samples
// are taken at each interval. The first call returns an empty trace. From then on the source holds
// the samples in memory, until no call came for five minutes. It holds at most 2^18 samples, and
// then not all of a minute. Started and Stopped of the trace have the time of the samples.
func (s *Source) LastMinute() *profile.Trace {
	now := s.c.Process.Now()
	m := s.memory.Load()
	if m == nil {
		s.memory.CompareAndSwap(nil, &memory{})
		m = s.memory.Load()
	}
	return m.read(now)
}

func (m *memory) read(now time.Time) *profile.Trace {
	m.mu.Lock()
	m.until = now.Add(memoryTime)
	m.forget(now)
	parts := slices.Clone(m.parts)
	m.mu.Unlock()
	traces := make([]*profile.Trace, 0, len(parts))
	for _, p := range parts {
		// of the part, by the clock of the trace
		from := p.Trace.Stopped - max(0, remembered-now.Sub(p.End))
		if p.Trace.Started < from {
			late := p.Trace.Select(func(s profile.Sample) bool { return s.Timestamp >= from })
			late.Started = from
			p.Trace = late
		}
		traces = append(traces, p.Trace)
	}
	return profile.Join(traces...)
}

// add adds a part. Without a call of LastMinute in the last minutes it forgets all.
func (m *memory) add(c CPU, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.After(m.until) {
		m.parts, m.samples = nil, 0
		return
	}
	if n := len(c.Trace.Samples); n > maxRemembered { // a quarter of a minute on 175 processors
		newest := c.Trace.With(slices.Values(c.Trace.Samples[n-maxRemembered:]))
		newest.Started = newest.Samples[0].Timestamp
		c.Trace = newest
	}
	m.parts = append(m.parts, c)
	m.samples += len(c.Trace.Samples)
	m.forget(now)
}

// forget removes the parts that ended before the last minute, and the oldest if there are too many
// samples. m.mu is held.
func (m *memory) forget(now time.Time) {
	for len(m.parts) > 0 && (m.samples > maxRemembered || now.Sub(m.parts[0].End) >= remembered) {
		m.samples -= len(m.parts[0].Trace.Samples)
		m.parts[0] = CPU{} // the memory of the list must not hold it
		m.parts = m.parts[1:]
	}
}
