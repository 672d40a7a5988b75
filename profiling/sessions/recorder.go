package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/perfline/perfline/internal/permission"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
)

// The errors of a [Recorder] and of [Session.Events] wrap one of these errors. Their texts name the
// value and the rule. The specification answers BAD_REQUEST for the first five.
var (
	ErrInProgress = errors.New("another session is in progress")
	ErrFull       = errors.New("no room for another session")
	ErrState      = errors.New("not possible in this state")
	ErrNotFound   = errors.New("not found")
	ErrInvalid    = errors.New("invalid argument")
	ErrClosed     = errors.New("the recorder is closed")
)

// Config configures a [Recorder].
type Config struct {
	// Timeline is recorded with all its requests; nil means observer.ProcessTimeline().
	Timeline *observer.Timeline
	Policy   profiling.Policy // for clients outside the program
	Logger   *slog.Logger     // nil means slog.Default()

	SampleInterval time.Duration // default of sessions; 0 and less mean 10 ms
	MaxSamples     int           // most samples of a session, some 50 bytes each; 0 means 200 000

	// MaxEvents is the most entries of a session, up to 2²⁹; 0 means 1 000 000. An entry takes some
	// 300 bytes, and its name and attributes. All names and attributes of a session together may
	// take 256 bytes for each of MaxEvents. The session drops and counts entries over either bound.
	// A session that waits for a request holds up to twice as many entries. When the request has
	// come, the session keeps the entries that ended after the request began, and records further
	// entries up to MaxEvents.
	MaxEvents int

	MaxLength   time.Duration // of a wait, and of a session, which then stops; 0 means 10 minutes
	MaxSessions int           // most sessions, including the one in progress; 0 means 8
	Keep        time.Duration // of a stopped session; 0 means 1 hour, negative for ever
}

// StartOptions configure a session (Scope Profiler, StartProfilerArg).
type StartOptions struct {
	// Route delays the session until the next request with that name, as "GET /search". The session
	// begins when the request begins (StartMode URL). Empty begins at once (IMMEDIATE). See
	// [Recorder.Start].
	Route string

	// Length is the time from the session's beginning until the session stops by itself, at most
	// Config.MaxLength. 0 means Config.MaxLength.
	Length time.Duration

	SampleInterval time.Duration // as in profiling.Options; 0 means Config.SampleInterval
	Modules        []string      // as in profiling.Options
	Wall           bool          // as in profiling.Options
	NoSamples      bool          // record only entries

	// Process adds the runtime's profiles of allocations, mutexes and blocking of the whole
	// process: see [Session.ProcessProfiles]. It causes a garbage collection at the start and
	// another one after the stop. Route and Modules must be empty. A remote client sees the
	// functions that Config.Policy shows.
	Process bool

	// Remote marks a start by a client outside the program, which Config.Policy must allow.
	Remote bool
}

// A Recorder runs sessions, one at a time, and stores stopped sessions (Scope Profiler, the service
// itself). Its methods may be called concurrently.
type Recorder struct {
	c                 Config
	maxProcessProfile int // in bytes
	startSampler      func(ctx context.Context, remote bool, o profiling.Options) (sampler, error)

	mu         sync.Mutex // guards the fields below
	recordings map[SessionID]*recording
	current    *recording // in progress, or nil
	starting   bool       // a start goes on without the lock
	last       SessionID
	counts     map[string]uint64 // of Counts
	closed     bool
	work       sync.WaitGroup // goroutines of recordings
}

// NewRecorder returns a recorder, which does nothing, and costs nothing, until a session starts.
func NewRecorder(c Config) *Recorder {
	if c.Timeline == nil {
		c.Timeline = observer.ProcessTimeline()
	}
	c.Logger = record.SafeLogger(c.Logger)
	c.SampleInterval = cmp.Or(max(0, c.SampleInterval), 10*time.Millisecond)
	c.MaxSamples = cmp.Or(max(0, c.MaxSamples), 200_000)
	// Twice as many entries must be an int on every system.
	c.MaxEvents = min(cmp.Or(max(0, c.MaxEvents), 1_000_000), 1<<29)
	c.MaxLength = cmp.Or(max(0, c.MaxLength), 10*time.Minute)
	c.MaxSessions = cmp.Or(max(0, c.MaxSessions), 8)
	c.Keep = cmp.Or(c.Keep, time.Hour)
	return &Recorder{
		c: c, maxProcessProfile: maxProcessProfile, startSampler: c.startProfiler,
		recordings: map[SessionID]*recording{}, counts: map[string]uint64{},
	}
}

// Counts returns how many sessions have been "started", "stopped" by [Recorder.Stop], "released",
// "expired" after Config.Keep, and "overlong": these reached Config.MaxLength. It also returns how
// many starts were "refused". A count that is 0 may be missing. The map is the caller's.
func (r *Recorder) Counts() map[string]uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.counts)
}

// Config returns the recorder's configuration, with defaults in place of zero fields.
func (r *Recorder) Config() Config {
	c := r.c
	c.Policy.Modules = slices.Clone(c.Policy.Modules)
	return c
}

// Start begins a session (Scope Profiler, StartProfiler). The session outlives ctx. The error wraps
// [ErrInProgress] while another session is in progress, [ErrFull] if the recorder holds
// MaxSessions, [ErrInvalid] for invalid options, [ErrClosed], or profiling.ErrNotAllowed.
//
// With Route, the session waits for a request of that name that arrives after Start. A request's
// name is known when the request ends: the session then begins with the request's arrival. A
// waiting session forgets entries that ended half a minute to a minute ago, and all but the last
// MaxEvents entries. Therefore the beginning of a longer request is missing.
func (r *Recorder) Start(ctx context.Context, o StartOptions) (SessionID, error) {
	id, err := r.start(ctx, o)
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.counts["refused"]++
		return 0, fmt.Errorf("sessions: %w", err)
	}
	return id, nil
}

func (r *Recorder) start(ctx context.Context, o StartOptions) (id SessionID, err error) {
	check := permission.Check
	if o.Remote {
		check = r.policy().Check
	}
	if err := check(); err != nil {
		return 0, err
	}
	if o.SampleInterval < 0 {
		return 0, fmt.Errorf("%w: SampleInterval %v: must not be negative",
			ErrInvalid, o.SampleInterval)
	}
	if o.Length < 0 || o.Length > r.c.MaxLength {
		return 0, fmt.Errorf("%w: Length %v: must be from 0 to %v, which is Config.MaxLength",
			ErrInvalid, o.Length, r.c.MaxLength)
	}
	if o.Process && o.Route != "" {
		return 0, fmt.Errorf(
			"%w: Process with Route %q: must not be set: a session's beginning is known too late",
			ErrInvalid, o.Route)
	}
	if o.Process && len(o.Modules) > 0 {
		return 0, fmt.Errorf("%w: Process with Modules %q: must not be set", ErrInvalid, o.Modules)
	}
	if id, err = r.reserve(); err != nil {
		return 0, err
	}
	// s stays nil if begin fails, or panics in the timeline's clock, which is the program's code.
	var s *recording
	defer func() {
		if closed := r.settle(s); closed && err == nil {
			id, err = 0, ErrClosed
		}
	}()
	if s, err = begin(ctx, r, id, o); err != nil {
		return 0, err
	}
	return id, nil
}

// reserve returns the id for a new session. Other starts fail, and Close waits, until settle.
func (r *Recorder) reserve() (SessionID, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return 0, ErrClosed
	case r.starting:
		return 0, fmt.Errorf("%w: it is being started", ErrInProgress)
	case r.current != nil:
		return 0, fmt.Errorf("%w: stop session %d first", ErrInProgress, r.current.id)
	case len(r.recordings) >= r.c.MaxSessions:
		return 0, fmt.Errorf("%w: %d sessions are kept, which is the most: release one",
			ErrFull, len(r.recordings))
	}
	r.starting = true
	r.work.Add(1)
	return r.last + 1, nil
}

// settle completes a start with its recording, or with nil. If Close was called meanwhile, settle
// ends the recording and returns true.
func (r *Recorder) settle(s *recording) (closed bool) {
	r.mu.Lock()
	defer r.work.Done()
	r.starting, closed = false, r.closed
	if s != nil {
		r.last = s.id
		r.work.Go(s.run)
		if !closed {
			r.current, r.recordings[s.id] = s, s
			r.counts["started"]++
		}
	}
	r.mu.Unlock()
	if s != nil && closed {
		s.cancel()
		s.stop()
	}
	return closed
}

// Stop ends a session at once, and waits until its events are ready (Scope Profiler, StopProfiler).
// If ctx ends first, Stop returns an error, and the session becomes ready later: see Session and
// Watch. A session that stopped by itself, at StartOptions.Length or at MaxLength, can be stopped
// once. The error wraps [ErrState] if the session was stopped before, and [ErrNotFound] for an
// unknown id.
//
// Stop returns no error if samples are missing because other code used the CPU profiler: see
// Stats.Profiling, BusyTime, and Status.Sampler.
//
// Entries reach the session after the running callbacks of the timeline's observers have returned.
// After a second, the session ends without waiting for the callbacks, and logs a warning. An
// observer's own callback may call Stop, which then takes a second.
func (r *Recorder) Stop(ctx context.Context, id SessionID) (*Session, error) {
	s, err := r.markStopped(id)
	if err != nil {
		return nil, err
	}
	r.end(s, false)
	select {
	case <-s.ready:
	case <-ctx.Done():
		select {
		case <-s.ready: // at the same time: ready wins
		default:
			return nil, fmt.Errorf(
				"sessions: session %d is stopped, its events are not ready yet: %w",
				id, context.Cause(ctx))
		}
	}
	return s.session, s.err
}

func (r *Recorder) markStopped(id SessionID) (*recording, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, err := r.find(id)
	if err != nil {
		return nil, err
	}
	if s.stopCalled {
		return nil, fmt.Errorf("sessions: session %d: %w: it was stopped before", id, ErrState)
	}
	s.stopCalled = true
	r.counts["stopped"]++
	return s, nil
}

// end stops a recording, and makes room for the next session. It returns false if the recording has
// ended before. overlong is set if the session has reached MaxLength.
func (r *Recorder) end(s *recording, overlong bool) bool {
	r.mu.Lock()
	current := r.current == s
	if current {
		r.current = nil
		if overlong {
			r.counts["overlong"]++
		}
	}
	r.mu.Unlock()
	if current {
		s.stop() // without the lock: stop reads the timeline's clock, which is the program's code
	}
	return current
}

// Session returns a stopped session. The error wraps [ErrNotFound] for an unknown id, and
// [ErrState] while the session is not ready.
func (r *Recorder) Session(id SessionID) (*Session, error) {
	s, err := r.completed(id)
	if err != nil {
		return nil, err
	}
	return s.session, nil
}

// completed returns the recording of a session that is ready.
func (r *Recorder) completed(id SessionID) (*recording, error) {
	s, err := r.recording(id)
	if err != nil {
		return nil, err
	}
	select {
	case <-s.ready:
		return s, s.err
	default:
		return nil, fmt.Errorf("sessions: session %d: %w: it is %s, and has no events yet",
			id, ErrState, s.status().State)
	}
}

func (r *Recorder) recording(id SessionID) (*recording, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.find(id)
}

// find returns the recording of a session. r.mu is held.
func (r *Recorder) find(id SessionID) (*recording, error) {
	s := r.recordings[id]
	if s == nil {
		return nil, fmt.Errorf(
			"sessions: session %d: %w: it never started, was released, or has expired",
			id, ErrNotFound)
	}
	return s, nil
}

// Release removes a stopped session, also before the session is ready (Scope Profiler,
// ReleaseSession). The error wraps [ErrNotFound] for an unknown id, such as 0, and [ErrState] for
// the session in progress.
func (r *Recorder) Release(id SessionID) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, err := r.find(id)
	if err != nil {
		return err
	}
	if s == r.current {
		return fmt.Errorf("sessions: session %d: %w: it is in progress: stop it first",
			id, ErrState)
	}
	r.forget(s)
	r.counts["released"]++
	return nil
}

// forget removes a session. It returns false if the session was removed before. r.mu is held.
func (r *Recorder) forget(s *recording) bool {
	if r.recordings[s.id] != s {
		return false
	}
	delete(r.recordings, s.id)
	s.cancel()
	if s.expiry != nil {
		s.expiry.Stop()
	}
	return true
}

func (r *Recorder) expire(s *recording) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.c.Keep < 0 || r.recordings[s.id] != s {
		return
	}
	s.expiry = time.AfterFunc(r.c.Keep, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.forget(s) {
			r.counts["expired"]++
		}
	})
}

// A State is a stage of a session.
type State string

// The states, in their order.
const (
	Waiting    State = "waiting"    // for a request to StartOptions.Route
	InProgress State = "recording"  // entries and samples are taken
	Processing State = "processing" // the trees of events are built
	Ready      State = "ready"
)

// A Status describes the progress of a session.
type Status struct {
	ID      SessionID
	State   State
	Route   string // as started with
	Wall    bool   // as started with
	Remote  bool   // as started with
	Started time.Time
	Length  time.Duration // so far
	// MaxLength is the Length at which the session stops by itself, even during its wait.
	MaxLength time.Duration
	Progress  float64 // of Processing, 0 to 1
	// Sampler is the engine and its state, as "cpu, paused". After the end, Sampler also says why
	// samples are missing. It is empty without a sampler.
	Sampler string

	Entries, Samples, Dropped uint64 // so far
	// Cost is the time that the recorder worked on entries, plus the time for which samples stopped
	// the sampled code. Cost excludes labels of spans and Wall samples.
	Cost time.Duration
}

// Statuses returns the statuses of all sessions, sorted by id.
func (r *Recorder) Statuses() []Status {
	r.mu.Lock()
	recordings := slices.SortedFunc(maps.Values(r.recordings),
		func(a, b *recording) int { return cmp.Compare(a.id, b.id) })
	r.mu.Unlock()
	all := make([]Status, len(recordings))
	for i, s := range recordings {
		all[i] = s.status()
	}
	return all
}

const watchInterval = 100 * time.Millisecond

// Watch yields a session's status now, and every 100 ms if the status has changed, until the
// session is Ready. Watch ends with an error that wraps [ErrNotFound] if the session is unknown or
// is released, and with ctx's cause when ctx ends.
func (r *Recorder) Watch(ctx context.Context, id SessionID) iter.Seq2[Status, error] {
	return func(yield func(Status, error) bool) {
		tick := time.NewTicker(watchInterval)
		defer tick.Stop()
		var last Status
		for {
			s, err := r.recording(id)
			if err != nil {
				yield(last, err)
				return
			}
			now := s.status()
			if now != last && !yield(now, nil) || now.State == Ready {
				return
			}
			last = now
			select {
			case <-s.ready:
			case <-tick.C:
			case <-ctx.Done():
				yield(last, context.Cause(ctx))
				return
			}
		}
	}
}

// Close stops and removes all sessions, and waits for the recorder's goroutines. Like Stop, Close
// waits a second for observers' callbacks. Start fails afterwards. A second Close does nothing.
func (r *Recorder) Close() {
	r.mu.Lock()
	r.closed = true
	for _, s := range r.recordings {
		r.forget(s)
	}
	current := r.current
	r.mu.Unlock()
	if current != nil {
		r.end(current, false)
	}
	r.work.Wait()
}
