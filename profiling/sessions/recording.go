package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/perfline/perfline/internal/cputime"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
)

const (
	// maxPending is the most entries that may wait for the recorder's callback.
	maxPending = 1 << 17
	// readEvery is the interval between two readings of the CPU time of the process.
	readEvery = 250 * time.Millisecond
	// lookBack is the least time for which a waiting session remembers.
	lookBack = 30 * time.Second
	// deliveryTimeout bounds the wait of an ending session for callbacks of other observers.
	deliveryTimeout = time.Second
)

// A sampler takes the samples of a session, as [profiling.Profiler] documents.
type sampler interface {
	TakeTrace() (*profile.Trace, error)
	Stop() (*profile.Trace, error)
	Stopped() bool
	State() profiling.State
	Engine() profile.Engine
	Stats() profile.Stats
}

var _ sampler = (*profiling.Profiler)(nil)

// A recording is a session from its start until its release.
type recording struct {
	id SessionID
	o  StartOptions
	r  *Recorder
	tl *observer.Timeline

	observer *observer.Observer
	overflow uint64  // entries that the timeline lost before the start
	sampler  sampler // nil without samples

	processStart *processStart // nil without profiles of the process

	cancel   context.CancelFunc // of post-processing
	progress progress
	stopped  chan struct{} // closed when the recording ends
	ready    chan struct{} // closed when session and err are set
	session  *Session
	err      error
	// remote returns session for clients outside the program. It must not be called before ready.
	remote func() *Session

	stopCalled bool        // guarded by the recorder's mu, as is expiry
	expiry     *time.Timer // nil until the session is ready

	mu    sync.Mutex // guards the fields below
	state State
	// waiting is set until the request to the route comes, possibly in state Processing.
	waiting         bool
	zero            time.Duration // on tl: the beginning of the session, or of its wait
	end             time.Duration // on tl; 0 while the session records
	entries         *entryStore   // nil after the session is built
	sealed          bool          // take ignores further entries
	callbackTime    time.Duration // of take, for callbackEntries
	callbackEntries int
	cpu             []reading // at times on tl
	// earlier holds the samples that the sampler returned while the session waited, or nil.
	earlier *profile.Trace
	// samplerErr explains missing samples. samplerStatus is the last state of a stopped sampler.
	samplerErr    error
	samplerStatus string
}

func begin(ctx context.Context, r *Recorder, id SessionID, o StartOptions) (*recording, error) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &recording{
		id: id, o: o, r: r, tl: r.c.Timeline, cancel: cancel, progress: progress{ctx: work},
		stopped: make(chan struct{}), ready: make(chan struct{}),
		state: InProgress, entries: newEntryStore(r.c.MaxEvents),
	}
	s.remote = sync.OnceValue(s.remoteSession)
	if o.Route != "" {
		s.state, s.waiting = Waiting, true
		s.entries.max = 2 * r.c.MaxEvents
	}
	if o.Process {
		s.processStart = newProcessStart(r.maxProcessProfile)
	}
	if err := s.startSampler(work); err != nil {
		cancel()
		return nil, err
	}
	s.mu.Lock() // take waits until zero is set
	defer s.mu.Unlock()
	var err error
	s.observer, err = s.tl.Observe(func(l observer.List) { s.take(l.Entries()) },
		observer.Options{Types: observer.SupportedEntryTypes(), MaxBuffer: maxPending})
	if err != nil {
		cancel() // stops the sampler, too
		return nil, err
	}
	s.overflow = s.tl.Stats().Total().Overflow
	s.zero = s.tl.Now()
	s.readCPU(s.zero)
	return s, nil
}

// startProfiler starts a profiler. With remote set, the policy must allow the start.
func (c *Config) startProfiler(
	ctx context.Context, remote bool, o profiling.Options,
) (sampler, error) {
	start := profiling.Start
	if remote {
		start = c.Policy.Start
	}
	p, err := start(ctx, o)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (s *recording) startSampler(ctx context.Context) (err error) {
	if s.o.NoSamples {
		return nil
	}
	o := profiling.Options{
		SampleInterval: cmp.Or(s.o.SampleInterval, s.r.c.SampleInterval),
		MaxBufferSize:  s.r.c.MaxSamples,
		Modules:        s.o.Modules, Wall: s.o.Wall, Spans: profiling.EverySpan,
	}
	s.sampler, err = s.r.startSampler(observer.NewContext(ctx, s.tl), s.o.Remote, o)
	if err != nil && len(o.Modules) > 0 && !errors.Is(err, profiling.ErrNotAllowed) {
		return fmt.Errorf("%w: %w", ErrInvalid, err) // all other options are valid
	}
	return err
}

// take stores entries.
func (s *recording) take(entries []observer.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sealed {
		return
	}
	entered := time.Now()
	for i := range entries {
		e := &entries[i]
		start := e.StartTime()
		if s.state == Processing && (*record.Entry)(e).RecordedAt() > s.end {
			continue
		}
		if !s.waiting && start+max(0, e.Duration()) < s.zero {
			continue // no room for entries before the beginning
		}
		// The store must have room for the request.
		if s.waiting && s.entries.count == s.entries.max {
			n := 0
			s.entries.retain(func(*storedEntry) bool { n++; return n > s.r.c.MaxEvents })
		}
		r := s.entries.add(e, start)
		if s.waiting && r != nil && r.typ == Request && r.name == s.o.Route && start >= s.zero {
			s.arrive(start)
		}
	}
	s.callbackEntries += len(entries)
	s.callbackTime += time.Since(entered)
}

// arrive begins the session at the time of a request's begin, and drops earlier entries. s.mu is
// held.
func (s *recording) arrive(at time.Duration) {
	s.waiting, s.zero = false, at
	if s.state == Waiting {
		s.state = InProgress
	}
	s.entries.max = s.r.c.MaxEvents
	s.entries.retain(func(r *storedEntry) bool { return r.end >= at })
}

// run observes the recording until its session is ready.
func (s *recording) run() {
	read := time.NewTicker(readEvery)
	defer read.Stop()
	// While a session waits, the reads of the CPU time check its length.
	var due <-chan time.Time
	if s.o.Length > 0 && s.o.Route == "" {
		length := time.NewTimer(s.o.Length)
		defer length.Stop()
		due = length.C
	}
	forget := time.NewTicker(lookBack)
	defer forget.Stop()
	for {
		select {
		case <-s.stopped:
			s.process()
			return
		case <-read.C:
			s.checkLength()
		case <-due:
			s.checkLength()
		case <-forget.C:
			s.forget()
		}
	}
}

// checkLength reads the CPU time, and ends the session if it has reached its length.
func (s *recording) checkLength() {
	now := s.tl.Now() // without the lock: the clock may be the program's code
	s.mu.Lock()
	s.readCPU(now)
	due, overlong := now-s.zero >= s.maxLength(), s.waiting || s.o.Length == 0
	s.mu.Unlock()
	if due && s.r.end(s, overlong) && overlong {
		s.r.c.Logger.Warn("perfline: a profiling session reached its maximum length and was stopped",
			"session", s.id, "length", s.r.c.MaxLength)
	}
}

// maxLength returns the length at which the session stops by itself. s.mu is held.
func (s *recording) maxLength() time.Duration {
	if s.waiting {
		return s.r.c.MaxLength
	}
	return cmp.Or(s.o.Length, s.r.c.MaxLength)
}

// readCPU adds a reading. s.mu is held.
func (s *recording) readCPU(now time.Duration) {
	if used := cputime.Process(); used > 0 {
		s.cpu = append(s.cpu, reading{at: now, cpu: used})
	}
}

// forget drops entries older than lookBack from a waiting session. Samples may be twice as old.
func (s *recording) forget() {
	now := s.tl.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != Waiting {
		return
	}
	s.entries.retain(func(r *storedEntry) bool { return r.end >= now-lookBack })
	s.cpu = slices.DeleteFunc(s.cpu, func(r reading) bool { return r.at < now-2*lookBack })
	if s.sampler != nil && !s.sampler.Stopped() {
		if t, err := s.sampler.TakeTrace(); err == nil {
			s.earlier = t // Stop's trace if the buffer has just become full
		}
	}
}

// stop ends the recording. It must be called once.
func (s *recording) stop() {
	now := s.tl.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end = now
	s.readCPU(now)
	s.state = Processing
	close(s.stopped)
}

func (s *recording) process() {
	defer s.cancel()
	process, failed := s.takeProcess() // before the builder allocates
	src := s.collect()
	src.s.processProfiles, src.s.stats.ProcessFailed = process, failed
	session, err := src.build(&s.progress)
	s.r.expire(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.samplerStatus = s.samplerState()
	s.entries, s.observer, s.sampler, s.earlier, s.processStart = nil, nil, nil, nil, nil
	if s.session = session; err == nil {
		s.state = Ready
	} else {
		s.err = fmt.Errorf("sessions: session %d: %w: it was released before it was ready", s.id,
			ErrNotFound)
	}
	close(s.ready) // under the lock: in state Ready, Session returns the session
}

// collect disconnects from the timeline and from the sampler, and returns their records.
func (s *recording) collect() *source {
	s.deliver()
	lost := s.observer.Lost() + s.tl.Stats().Total().Overflow - s.overflow
	s.observer.Disconnect()
	var t *profile.Trace
	var err error
	if s.sampler != nil {
		if t, err = s.sampler.Stop(); err != nil {
			s.r.c.Logger.Warn("perfline: a profiling session lacks samples",
				"session", s.id, "error", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = true // a callback with later entries may still run
	s.samplerErr = err
	if s.waiting { // the request never came
		s.zero, s.entries = s.end, newEntryStore(0)
	}
	session := &Session{
		id: s.id, started: s.tl.Origin().Add(s.zero), length: s.end - s.zero, cpu: s.cpu,
	}
	session.stats.Lost = lost
	session.entryCost = s.callbackTime / time.Duration(max(1, s.callbackEntries))
	if t != nil {
		session.stats.SamplesFull = t.Stats.Samples >= uint64(s.r.c.MaxSamples)
		if s.earlier != nil && s.earlier != t {
			t = profile.Join(s.earlier, t)
		}
		session.trace = clip(t, s.zero, s.end)
	}
	return &source{s: session, zero: s.zero, entries: s.entries}
}

// deliver stores all entries that any goroutine recorded before the end.
func (s *recording) deliver() {
	delivered := make(chan struct{})
	go func() { // ends with the callbacks
		defer close(delivered)
		s.tl.Deliver()
	}()
	late := time.NewTimer(deliveryTimeout)
	defer late.Stop()
	select {
	case <-delivered:
		return
	case <-late.C:
	}
	s.r.c.Logger.Warn("perfline: a profiling session goes on without an observer whose callback did not return: callbacks must not block",
		"session", s.id, "after", deliveryTimeout)
	for range 2 { // the first pass misses concurrent writes
		(*record.Timeline)(s.tl).Flush()
	}
	s.take(s.observer.TakeRecords())
}

// clip returns the samples that were taken during a session. EngineWindow gives samples the time at
// which their profile ended, and the last profile ends after the session. These samples count at
// the session's end.
func clip(t *profile.Trace, from, to time.Duration) *profile.Trace {
	if t.Engine == profile.EngineWindow {
		own := *t
		own.Samples = slices.Clone(t.Samples)
		for i := range own.Samples {
			own.Samples[i].Timestamp = min(own.Samples[i].Timestamp, to)
		}
		t = &own
	}
	n := len(t.Samples)
	if n == 0 || t.Samples[0].Timestamp >= from && t.Samples[n-1].Timestamp <= to {
		return t
	}
	return t.Select(func(s profile.Sample) bool { return s.Timestamp >= from && s.Timestamp <= to })
}

func (s *recording) status() Status {
	at := s.tl.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	now := Status{
		ID: s.id, State: s.state, Route: s.o.Route, Wall: s.o.Wall, Remote: s.o.Remote,
		Started: s.tl.Origin().Add(s.zero), Length: s.end - s.zero, Progress: s.progress.fraction(),
		Sampler: s.samplerState(), MaxLength: s.maxLength(),
	}
	switch s.state {
	case Ready:
		now.Progress = 1
		stats := s.session.Stats()
		now.Entries, now.Samples, now.Dropped = stats.Entries, stats.Samples, stats.Dropped
		now.Cost = s.callbackTime + sampleTime(stats.Profiling)
		return now
	case Waiting, InProgress:
		now.Length, now.Progress = at-s.zero, 0
	default:
	}
	if s.entries != nil {
		now.Entries, now.Dropped = uint64(s.entries.count), s.entries.dropped
	}
	now.Cost = s.callbackTime
	if s.sampler != nil {
		stats := s.sampler.Stats()
		now.Samples = stats.Samples
		now.Cost += sampleTime(stats)
	}
	return now
}

// sampleTime returns the time for which a profiler's samples stopped the sampled code.
func sampleTime(s profile.Stats) time.Duration { return time.Duration(s.Samples) * s.SampleCost }

// samplerState returns engine, state and the reason for missing samples. s.mu is held.
func (s *recording) samplerState() string {
	if s.sampler == nil {
		return s.samplerStatus
	}
	state := string(s.sampler.Engine()) + ", " + string(s.sampler.State())
	if s.samplerErr != nil {
		state += ": " + s.samplerErr.Error()
	}
	return state
}
