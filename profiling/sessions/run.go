package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/profile"
)

const (
	// maxBuffer is how many entries may wait for a session.
	maxBuffer = 1 << 17
	// tendEvery is how often a session in progress looks at the process's CPU time.
	tendEvery = 250 * time.Millisecond
	// lookBack is how long a session that waits for a request keeps what is recorded, at least.
	lookBack = 30 * time.Second
	// patience is how long a session that ends waits for the callbacks of the timeline's other
	// observers, which may hang: it needs them only to be called back itself.
	patience = time.Second
)

// A run is a session from its start until it is forgotten.
type run struct {
	id     SessionID
	o      StartOptions
	r      *Recorder
	tl     *observer.Timeline
	demand demand
	costs  costs

	observer *observer.Observer // nil when it is put together
	overflow uint64             // that the timeline had lost before

	cancel   context.CancelFunc // of what comes after the recording
	progress progress
	over     chan struct{} // closed when the recording ends
	gone     chan struct{} // closed when it observes and samples no more
	ready    chan struct{} // closed when session and err are there
	session  *Session
	err      error

	wasStopped bool        // by a call of Stop; guarded by the recorder's mu, as is expiry
	expiry     *time.Timer // nil until it is ready

	mu    sync.Mutex // guards what follows
	state State
	waits bool          // for a request; still so in state Processing, which it may come in
	begun time.Duration // the session's zero, on tl; while it waits, when that began
	ended time.Duration // on tl; 0 while it records
	log   *entryLog
	// sealed is set when the log takes no more.
	sealed bool
	older  *entryLog // what was recorded before log while it waited, nil if nothing was

	sampler *profiling.Profiler // nil without samples, and when it is put together
	sampled string              // its engine and state then
	lacks   error               // why it has no samples, or not all
	// before is what was sampled before the sampler's present part, while it waited; nil if nothing was.
	before *profile.Trace
	cpu    []reading // at times on tl
}

// begin starts the recording.
func begin(ctx context.Context, r *Recorder, id SessionID, o StartOptions) (*run, error) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &run{
		id: id, o: o, r: r, tl: r.c.Timeline, demand: demandOf(r.c.Timeline),
		cancel: cancel, progress: progress{ctx: work}, over: make(chan struct{}), gone: make(chan struct{}), ready: make(chan struct{}),
		state: InProgress, log: newEntryLog(r.c.MaxEvents),
	}
	if o.Route != "" {
		s.state, s.waits = Waiting, true
	}
	if err := s.sample(work); err != nil {
		cancel()
		return nil, err
	}
	s.costs = measureCosts()
	if s.demand.spans || s.sampler == nil {
		s.costs.label = 0 // it is paid anyway, or not
	}
	s.mu.Lock() // what is observed waits until there is a beginning
	defer s.mu.Unlock()
	var err error
	s.observer, err = s.tl.Observe(func(l observer.List) { s.take(l.Entries()) }, observer.Options{Types: observer.SupportedEntryTypes(), MaxBuffer: maxBuffer})
	if err != nil {
		cancel() // which ends the sampler
		return nil, err
	}
	s.overflow = s.tl.Stats().Total().Overflow
	s.begun = s.tl.Now()
	s.read()
	return s, nil
}

// sample starts the sampler.
func (s *run) sample(ctx context.Context) (err error) {
	if s.o.NoSamples {
		return nil
	}
	o := profiling.Options{
		SampleInterval: cmp.Or(s.o.SampleInterval, s.r.c.SampleInterval), MaxBufferSize: s.r.c.MaxSamples,
		Modules: s.o.Modules, Wall: s.o.Wall,
	}
	start := profiling.Start
	if s.o.Remote {
		start = s.r.c.Policy.Start
	}
	s.sampler, err = start(observer.NewContext(ctx, s.tl), o)
	if err != nil && len(o.Modules) > 0 && !errors.Is(err, profiling.ErrNotAllowed) {
		return BadRequestError(err.Error()) // all else was found right before
	}
	return err
}

// take keeps entries.
func (s *run) take(entries []observer.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sealed {
		return
	}
	for i := range entries {
		e := &entries[i]
		start := e.StartTime()
		if s.waits && s.log.count >= s.log.max { // the request must not find it full
			s.older, s.log = s.log, newEntryLog(s.r.c.MaxEvents)
		}
		if s.ended != 0 && e.RecordedAt() > s.ended {
			continue
		}
		if !s.waits && start+max(0, e.Duration()) < s.begun { // it must not take the room of another
			continue
		}
		r := s.log.add(e, start, s.demand.ours(e))
		if s.waits && r != nil && r.typ == Request && r.name == s.o.Route && start >= s.begun {
			s.came(start)
		}
	}
}

// came ends the waiting for a request that began at a time: what ended before does not count.
// s.mu is held.
func (s *run) came(at time.Duration) {
	s.waits, s.begun = false, at
	if s.state == Waiting {
		s.state = InProgress
	}
	if s.older != nil {
		s.log.takeOlder(s.older)
		s.older = nil
	}
	s.log.since(at)
}

// tend looks after a session until it is ready.
func (s *run) tend() {
	tick := time.NewTicker(tendEvery)
	defer tick.Stop()
	forget := time.NewTicker(lookBack)
	defer forget.Stop()
	for {
		select {
		case <-s.over:
			s.finish()
			return
		case <-tick.C:
			if s.overlong() && s.r.overlong(s) {
				s.end()
				s.r.log().Warn("perfline: a profiling session that nobody stopped was stopped", "session", s.id, "after", s.r.c.MaxLength)
			}
		case <-forget.C:
			s.forget()
		}
	}
}

// overlong takes a reading, and reports whether the session has recorded for too long.
func (s *run) overlong() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read()
	return s.tl.Now()-s.begun >= s.r.c.MaxLength
}

// read reads the CPU time that the process has used. s.mu is held.
func (s *run) read() {
	if used := sampling.ProcessCPU(); used > 0 {
		s.cpu = append(s.cpu, reading{at: s.tl.Now(), used: used})
	}
}

// forget lets go of what was long ago, while the session waits.
func (s *run) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != Waiting {
		return
	}
	s.older, s.log = s.log, newEntryLog(s.r.c.MaxEvents)
	s.cpu = s.cpu[max(0, len(s.cpu)-int(2*lookBack/tendEvery)):]
	if s.sampler != nil && !s.sampler.Stopped() {
		if t, err := s.sampler.TakeTrace(); err == nil {
			s.before = t // that of Stop if the sampler's buffer was full right now
		}
	}
}

// end ends the recording. It is called once.
func (s *run) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = s.tl.Now()
	s.read()
	s.state = Processing
	close(s.over)
}

// finish puts the session together.
func (s *run) finish() {
	defer s.cancel()
	in := s.leave()
	s.progress.expect(in.steps())
	session, err := in.build(&s.progress)
	s.r.expire(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sampled = s.samplerState()
	s.log, s.observer, s.sampler, s.before = nil, nil, nil, nil
	if s.session, s.err = session, err; err == nil {
		s.state = Ready
	}
	close(s.ready) // with the lock held: who is told Ready finds the session
}

// leave ends what the session does to the timeline and to the profiler, and takes what these have for it.
func (s *run) leave() *raw {
	defer close(s.gone)
	s.deliver()
	lost := s.observer.Lost() + s.tl.Stats().Total().Overflow - s.overflow
	s.observer.Disconnect()
	var t *profile.Trace
	if s.sampler != nil {
		var err error
		if t, err = s.sampler.Stop(); err != nil {
			s.r.log().Warn("perfline: a profiling session lacks samples", "session", s.id, "error", err)
			s.mu.Lock()
			s.lacks = err
			s.mu.Unlock()
		}
	}
	s.mu.Lock()
	s.sealed = true // a callback may still run, with what came later
	if s.waits {    // the request never came
		s.begun, s.older, s.log = s.ended, nil, newEntryLog(0)
	}
	s.mu.Unlock()
	in := &raw{
		id: s.id, length: s.ended - s.begun, started: s.tl.Origin().Add(s.begun), zero: s.begun,
		log: s.log, cpu: s.cpu, costs: s.costs, lost: lost,
	}
	if t != nil {
		in.costs.sample = t.Stats.SampleCost
		in.full = t.Stats.Samples >= uint64(s.r.c.MaxSamples)
		if s.before != nil && s.before != t {
			t = profile.Join(s.before, t)
		}
		in.trace = within(t, s.begun, s.ended)
	}
	return in
}

// deliver has all that was recorded before the end, on any goroutine, come to the log.
func (s *run) deliver() {
	called := make(chan struct{})
	go func() { // which ends with the callbacks
		defer close(called)
		s.tl.Deliver()
	}()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-called:
		return
	case <-late.C:
	}
	s.r.log().Warn("perfline: a profiling session goes on without an observer whose callback did not return: callbacks must not block",
		"session", s.id, "after", patience)
	s.tl.Flush() // twice, see there
	s.tl.Flush()
	s.take(s.observer.TakeRecords())
}

// within is a trace without what was sampled before and after a session. Samples of the
// engine "window" have the time at which a profile ended that they are of, the last one after the
// session: they count as sampled at its end.
func within(t *profile.Trace, begun, ended time.Duration) *profile.Trace {
	if t.Engine == "window" {
		own := *t
		own.Samples = slices.Clone(t.Samples)
		for i := range own.Samples {
			own.Samples[i].Timestamp = min(own.Samples[i].Timestamp, ended)
		}
		t = &own
	}
	n := len(t.Samples)
	if n == 0 || t.Samples[0].Timestamp >= begun && t.Samples[n-1].Timestamp <= ended {
		return t
	}
	return t.Select(func(s profile.Sample) bool { return s.Timestamp >= begun && s.Timestamp <= ended })
}

// result is the session, once it is ready.
func (s *run) result() (*Session, error) {
	if s.err != nil {
		return nil, BadRequestError(fmt.Sprintf("sessions: session %d was released before its events were put together", s.id))
	}
	return s.session, nil
}

func (s *run) status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := Status{
		ID: s.id, State: s.state, Route: s.o.Route, Wall: s.o.Wall, Remote: s.o.Remote,
		Started: s.tl.Origin().Add(s.begun), Length: s.ended - s.begun, Progress: s.progress.fraction(),
	}
	switch s.state {
	case Ready:
		now.Progress = 1
		stats := s.session.Stats()
		now.Entries, now.Samples, now.Dropped = stats.Entries, stats.Samples, stats.Dropped
	case Waiting, InProgress:
		now.Length, now.Progress = s.tl.Now()-s.begun, 0
		fallthrough
	default:
		if s.log != nil {
			now.Entries, now.Dropped = uint64(s.log.count), s.log.dropped
		}
		if s.sampler != nil {
			now.Samples = s.sampler.Stats().Samples
		}
	}
	now.Sampler = s.samplerState()
	return now
}

// samplerState is what samples and how it is doing. s.mu is held.
func (s *run) samplerState() string {
	if s.sampler == nil {
		return s.sampled
	}
	state := s.sampler.Engine() + ", " + string(s.sampler.State())
	if s.lacks != nil {
		state += ": " + s.lacks.Error()
	}
	return state
}
