package continuous

import (
	"slices"
	"sync"
	"time"

	"github.com/perfline/perfline/profiling/profile"
)

const (
	memorySpan = time.Minute     // the age of the oldest sample in memory
	memoryTime = 5 * time.Minute // from the last call of LastMinute to the release of the memory
	maxSamples = 1 << 18         // in memory, 48 bytes each
)

// A memory holds the CPU samples of the last minute.
type memory struct {
	mu      sync.Mutex // guards the fields below
	parts   []CPU      // by End
	samples int
	until   time.Time // the end of the time in which parts are added
}

// LastMinute returns the CPU samples of the last minute, up to the last complete interval. The
// first call returns an empty trace. After each call, the source stores samples for five minutes.
// The source stores at most 2^18 samples, so the trace may cover less than a minute. The fields
// Started and Stopped of the trace contain the covered period.
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
		from := p.Trace.Stopped - max(0, memorySpan-now.Sub(p.End)) // by the clock of the trace
		if p.Trace.Started < from {
			late := p.Trace.Select(func(s profile.Sample) bool { return s.Timestamp >= from })
			late.Started = from
			p.Trace = late
		}
		traces = append(traces, p.Trace)
	}
	return profile.Join(traces...)
}

// add adds a part. After memoryTime without a call of LastMinute it removes all parts.
func (m *memory) add(c CPU, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.After(m.until) {
		m.parts, m.samples = nil, 0
		return
	}
	if over := len(c.Trace.Samples) - maxSamples; over > 0 {
		newest := c.Trace.Select(func(profile.Sample) bool { over--; return over < 0 })
		newest.Started = newest.Samples[0].Timestamp
		c.Trace = newest
	}
	m.parts = append(m.parts, c)
	m.samples += len(c.Trace.Samples)
	m.forget(now)
}

// forget removes parts from before the last minute, and the oldest parts beyond maxSamples. m.mu is
// held.
func (m *memory) forget(now time.Time) {
	for len(m.parts) > 0 && (m.samples > maxSamples || now.Sub(m.parts[0].End) >= memorySpan) {
		m.samples -= len(m.parts[0].Trace.Samples)
		m.parts[0] = CPU{} // frees the samples: the array outlives the slice
		m.parts = m.parts[1:]
	}
}
