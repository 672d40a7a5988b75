package sessions

import (
	"context"
	"iter"
	"time"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
)

// A Recording is what a test builds a session from without a Recorder, with samples, readings and
// costs of its choice.
type Recording struct {
	Started   time.Time
	Length    time.Duration
	Entries   iter.Seq[observer.Entry]
	Trace     *profile.Trace
	EntryCost time.Duration
	CPU       []Reading
}

// EntryCost returns the recorder's average work for an entry.
func (s *Session) EntryCost() time.Duration { return s.entryCost }

// A Reading is a reading of the CPU time, since the session began.
type Reading struct{ At, Used time.Duration }

// Build builds session 1, and returns the share of the work that was done.
func Build(ctx context.Context, r Recording) (*Session, float64, error) {
	src := &source{
		s:       &Session{id: 1, started: r.Started, length: r.Length, trace: r.Trace, entryCost: r.EntryCost},
		entries: newEntryStore(1 << 20),
	}
	for e := range r.Entries {
		src.entries.add(&e, e.Time().Sub(r.Started))
	}
	for _, c := range r.CPU {
		src.s.cpu = append(src.s.cpu, reading{c.At, c.Used})
	}
	p := &progress{ctx: ctx}
	s, err := src.build(p)
	return s, float64(p.done.Load()) / float64(max(1, p.total.Load())), err
}

// The names of the profiles of the process.
const (
	Allocs = allocs
	Mutex  = mutex
	Block  = block
)

// A Sampler is a sampler of a test.
type Sampler = sampler

// SampleBy has sessions start this sampler.
func (r *Recorder) SampleBy(start func(profiling.Options) Sampler) {
	r.startSampler = func(_ context.Context, _ bool, o profiling.Options) (sampler, error) { return start(o), nil }
}

// Forget does what a session does each half a minute while it waits.
func (r *Recorder) Forget(id SessionID) { r.recordings[id].forget() }

// ForgetWhenFull is Forget in the moment in which the sampler's buffer becomes full.
func (r *Recorder) ForgetWhenFull(id SessionID) {
	s := r.recordings[id]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.earlier, _ = s.sampler.Stop()
}

// Readings returns how many readings of the CPU time a session holds.
func (r *Recorder) Readings(id SessionID) int {
	s := r.recordings[id]
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.cpu)
}

// LimitProcessProfiles sets how many bytes a profile of the process may have.
func (r *Recorder) LimitProcessProfiles(most int) { r.maxProcessProfile = most }
