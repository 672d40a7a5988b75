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

// The errors of a [Recorder] and of [Session.Events] wrap one of these errors. The text of an error
// names the value and the rule. For the first five errors, the specification answers BAD_REQUEST.
var (
	ErrInProgress = errors.New("another session is in progress")
	ErrFull       = errors.New("no room for another session")
	ErrState      = errors.New("not possible in this state")
	ErrNotFound   = errors.New("not found")
	ErrInvalid    = errors.New("invalid argument")
	ErrClosed     = errors.New("the recorder is closed")
)

// Config configures a [Recorder]. Most fields limit the memory and the length of sessions.
type Config struct {
	// Timeline is the timeline that the recorder observes, with all requests. nil means
	// observer.ProcessTimeline().
	Timeline *observer.Timeline
	Policy   profiling.Policy // permissions of clients outside the program
	Logger   *slog.Logger     // nil means slog.Default()

	SampleInterval time.Duration // default for sessions; 0 or negative means 10 ms
	// MaxSamples limits the samples of a session, about 50 bytes each. 0 means 200 000.
	MaxSamples int

	// MaxEvents limits the entries of a session. 0 means 1 000 000. The maximum is 2²⁹. An entry
	// occupies about 300 bytes, plus the name and the attributes. All names and attributes of a
	// session may occupy 256 bytes times MaxEvents. The session drops and counts entries beyond
	// these two limits.
	//
	// A session that waits for a request stores up to twice as many entries. When the request has
	// ended, the session drops the entries that ended before the request began. The session then
	// stores further entries up to MaxEvents.
	MaxEvents int

	// MaxLength limits the wait for a request, and the length of a session. The recorder stops the
	// session at the limit. 0 means 10 minutes.
	MaxLength time.Duration
	// MaxSessions limits the stored sessions, including the session in progress. 0 means 8.
	MaxSessions int
	// Keep is the time after which the recorder removes a stopped session. 0 means 1 hour. If Keep
	// is negative, sessions do not expire.
	Keep time.Duration
}

// StartOptions configure a session that [Recorder.Start] starts (Scope Profiler, StartProfilerArg).
type StartOptions struct {
	// Route is the name of a request, such as "GET /search". The session waits for the next request
	// with this name, and begins with the request (StartMode URL). If Route is empty, the session
	// begins at once (IMMEDIATE). See [Recorder.Start].
	Route string

	// Length is the time from the beginning of the session until the recorder stops the session.
	// The maximum is Config.MaxLength. 0 means Config.MaxLength.
	Length time.Duration

	SampleInterval time.Duration // as in profiling.Options; 0 means Config.SampleInterval
	Modules        []string      // as in profiling.Options
	Wall           bool          // as in profiling.Options
	NoSamples      bool          // the session records only entries

	// Process adds the runtime's profiles of allocations, mutexes and blocking for the whole
	// process. See [Session.ProcessProfiles]. The recorder runs a garbage collection at the start
	// and another one after the stop. Route and Modules must be empty. For a remote client, the
	// profiles contain only functions that Config.Policy shows.
	Process bool

	// Remote marks a start by a client outside the program. Config.Policy must allow the start.
	Remote bool
}

// A Recorder runs one session at a time, and stores stopped sessions. The methods correspond to the
// commands of the Scope Profiler. All methods may be called concurrently.
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

// NewRecorder returns a recorder without sessions. The recorder does no work until [Recorder.Start]
// is called.
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

// Counts returns counts of sessions and of refused calls since NewRecorder. The caller may change
// the map. A count of 0 may be missing. The keys are:
//
//   - "started": sessions that [Recorder.Start] started
//   - "refused": calls of Start that returned an error
//   - "stopped": sessions for which [Recorder.Stop] was called
//   - "overlong": sessions that the recorder stopped at Config.MaxLength
//   - "released": sessions that [Recorder.Release] removed
//   - "expired": sessions that the recorder removed after Config.Keep
func (r *Recorder) Counts() map[string]uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.counts)
}

// Config returns the recorder's configuration. A field that was 0 in the argument of NewRecorder
// contains the default.
func (r *Recorder) Config() Config {
	c := r.c
	c.Policy.Modules = slices.Clone(c.Policy.Modules)
	return c
}

// Start starts a session and returns the session's id (Scope Profiler, StartProfiler). The session
// continues after ctx has ended. The error wraps one of these errors:
//
//   - [ErrInProgress] while another session is in progress
//   - [ErrFull] if the recorder already stores Config.MaxSessions sessions
//   - [ErrInvalid] for invalid options
//   - [ErrClosed] after Close
//   - profiling.ErrNotAllowed if Config.Policy or PERFLINE_PROFILING forbids the session
//
// If o.Route is set, the session waits for a request with this name that arrives after Start. The
// recorder learns the name of a request only at the request's end. The session then begins in the
// past, at the time at which the request arrived.
//
// While a session waits for a request, the session drops each entry 30 to 60 seconds after the
// entry's end. When a waiting session is full, the session drops all but the last Config.MaxEvents
// entries. Therefore the beginning of a long request may be missing.
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

// Stop ends the recording of a session, waits until the events are ready, and returns the session
// (Scope Profiler, StopProfiler). Call Stop once for each session. Stop also succeeds if the
// recording has already ended at StartOptions.Length or Config.MaxLength. The error wraps one of
// these errors:
//
//   - [ErrState] if Stop was called before for this session
//   - [ErrNotFound] if the id is unknown, or if the session was released
//   - the cause of ctx, if ctx ends before the events are ready
//
// If ctx ends first, the session still becomes ready later: see [Recorder.Session] and
// [Recorder.Watch].
//
// Stop returns no error for missing samples, for example if other code used the CPU profiler.
// Stats.Profiling.BusyTime and Status.Sampler report such gaps.
//
// Stop waits until the running callbacks of the timeline's observers have returned. After a second,
// the recorder logs a warning, and the session ends without these callbacks. Therefore a call of
// Stop in an observer's callback lasts a second.
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

// Session returns the stopped session with the given id. The error wraps [ErrState] if the session
// is not ready yet, and [ErrNotFound] for an unknown id.
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

// Release removes a stopped session, even before the session is ready (Scope Profiler,
// ReleaseSession). The error wraps [ErrState] while the session is in progress, and [ErrNotFound]
// for an unknown id, such as 0.
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

// A State is the current stage of a session: [Waiting], [InProgress], [Processing] or [Ready].
type State string

// The states, in their order.
const (
	Waiting    State = "waiting"    // the session waits for a request to StartOptions.Route
	InProgress State = "recording"  // the session records entries and samples
	Processing State = "processing" // the recorder builds the trees of events
	Ready      State = "ready"      // the events can be read
)

// A Status contains the state and the current counts of a session.
type Status struct {
	ID      SessionID
	State   State
	Route   string // StartOptions.Route
	Wall    bool   // StartOptions.Wall
	Remote  bool   // StartOptions.Remote
	Started time.Time
	Length  time.Duration // until now, of the recording or of the wait
	// MaxLength is the Length at which the recorder stops the session, also during the wait.
	MaxLength time.Duration
	Progress  float64 // completed share of Processing, from 0 to 1
	// Sampler names the engine and the engine's state, such as "cpu, paused". After the end,
	// Sampler also explains missing samples. Without a sampler, Sampler is empty.
	Sampler string

	Entries, Samples, Dropped uint64 // counts until now
	// Cost is the recorder's work on entries, plus the time for which samples stopped the sampled
	// code. Cost excludes labels of spans and Wall samples.
	Cost time.Duration
}

// Statuses returns the current status of each stored session, sorted by id.
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

// Watch yields the current status of the session with the given id at once. Then Watch yields the
// status every 100 ms if the status has changed. Watch ends after yielding a status with the state
// Ready. In these cases, Watch ends earlier, with the last status and an error:
//
//   - The session is unknown, or was released: the error wraps [ErrNotFound].
//   - ctx ends: the error is the cause of ctx.
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

// Close stops and removes all sessions, and waits until the recorder's goroutines have ended. Like
// Stop, Close waits at most a second for callbacks of observers. After Close, the error of Start
// wraps [ErrClosed]. A second Close does nothing.
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
