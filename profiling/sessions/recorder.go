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

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
)

// A BadRequestError is the error for what the specification answers with BAD_REQUEST: what is
// asked for makes no sense now. Its text names the value and the rule.
type BadRequestError string

func (e BadRequestError) Error() string { return string(e) }

// Config configures a [Recorder]. Zero fields mean what their comments say.
type Config struct {
	// Timeline is what is recorded, with all its requests; nil means observer.Default(). One that has a Clock
	// of its own is not for sessions: samples have times of the monotonic clock.
	Timeline *observer.Timeline
	Policy   profiling.Policy // what somebody outside the program may do
	Logger   *slog.Logger     // nil means slog.Default()

	SampleInterval time.Duration // of sessions that do not say; 0, and what is negative, means 10 ms
	MaxSamples     int           // of a session; 0 means 200 000. A sample takes some 50 bytes

	// MaxEvents is how many entries a session keeps; 0 means 1 000 000. One takes some 300 bytes, and its
	// attributes. A session that waits for a request holds up to twice as many, and then has
	// those that ended after the request came, and all further ones up to MaxEvents.
	MaxEvents int

	MaxLength   time.Duration // after which a session stops by itself, counted from its beginning or its wait's; 0 means 10 minutes
	MaxSessions int           // kept at a time, the one in progress included; 0 means 8
	Keep        time.Duration // how long a session that was stopped is kept; 0 means 1 hour, negative for ever
}

const (
	defaultInterval  = 10 * time.Millisecond
	defaultMaxEvents = 1_000_000
)

// StartOptions say what a session records (Scope Profiler, StartProfilerArg).
type StartOptions struct {
	// Route has the session wait for the next request with that name, as "GET /search", and
	// begin when that began (StartMode URL). Empty begins at once (IMMEDIATE). See [Recorder.Start].
	Route string

	SampleInterval time.Duration // as in profiling.Options; 0 means Config.SampleInterval
	Modules        []string      // as in profiling.Options
	Wall           bool          // as in profiling.Options
	NoSamples      bool          // entries of the timeline only

	// Remote says that somebody outside the program asks: Config.Policy decides.
	Remote bool
}

// A Recorder runs sessions, one at a time, and keeps those that were stopped (Scope
// Profiler, the service itself). Its methods may be called concurrently.
type Recorder struct {
	c Config

	mu       sync.Mutex // guards what follows
	runs     map[SessionID]*run
	current  *run            // in progress
	gone     <-chan struct{} // closed when the newest session has let go of timeline and profiler
	starting bool
	last     SessionID
	stats    RecorderStats
	closed   bool
	work     sync.WaitGroup // goroutines of runs, and a start that is under way
}

// NewRecorder makes a recorder. It does nothing, and costs nothing, until a session starts.
func NewRecorder(c Config) *Recorder {
	if c.Timeline == nil {
		c.Timeline = observer.Default()
	}
	c.SampleInterval = cmp.Or(max(0, c.SampleInterval), defaultInterval)
	c.MaxSamples = cmp.Or(max(0, c.MaxSamples), 200_000)
	c.MaxEvents = cmp.Or(max(0, c.MaxEvents), defaultMaxEvents)
	c.MaxLength = cmp.Or(max(0, c.MaxLength), 10*time.Minute)
	c.MaxSessions = cmp.Or(max(0, c.MaxSessions), 8)
	c.Keep = cmp.Or(c.Keep, time.Hour)
	return &Recorder{c: c, runs: map[SessionID]*run{}}
}

func (r *Recorder) log() *slog.Logger {
	if r.c.Logger != nil {
		return r.c.Logger
	}
	return slog.Default()
}

// CheckRemote says why nobody outside the program may use the recorder, nil if they may. The
// error wraps profiling.ErrNotAllowed.
func (r *Recorder) CheckRemote() error { return r.c.Policy.Check() }

// Start begins a session (Scope Profiler, StartProfiler). The error is a [BadRequestError]
// while another session is in progress, when MaxSessions are kept, and for options that are
// not valid; it wraps profiling.ErrNotAllowed when profiling is not allowed. The session
// does not end with ctx. Start waits until the session before, if that was stopped just now, has
// ended its recording, see Stop.
//
// With Route the session records from now on, but forgets what is older than half a minute
// to a minute, or than the last MaxEvents entries. When a request of that name that arrived after Start has ended, the session
// has begun with that request's arrival, and what was before is forgotten. A request's name
// is known when it ends: of one that took longer the beginning is missing.
func (r *Recorder) Start(ctx context.Context, o StartOptions) (SessionID, error) {
	id, err := r.start(ctx, o)
	if err != nil {
		r.mu.Lock()
		r.stats.Refused++
		r.mu.Unlock()
		return 0, fmt.Errorf("sessions: %w", err)
	}
	return id, nil
}

func (r *Recorder) start(ctx context.Context, o StartOptions) (SessionID, error) {
	if o.Remote {
		if err := r.c.Policy.Check(); err != nil {
			return 0, err
		}
	} else if err := profiling.Check(); err != nil {
		return 0, err
	}
	if o.SampleInterval < 0 {
		return 0, BadRequestError(fmt.Sprintf("SampleInterval %v: must not be negative", o.SampleInterval))
	}
	id, err := r.reserve()
	if err != nil {
		return 0, err
	}
	defer r.work.Done()
	if r.gone != nil { // which changes where starting is set only
		<-r.gone // that session was stopped, but what it wants would look like what others want
	}
	s, err := begin(ctx, r, id, o)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.starting = false
	if err != nil {
		return 0, err
	}
	r.gone = s.gone
	r.work.Go(s.tend)
	if r.closed { // meanwhile
		s.cancel()
		s.end()
		return 0, errClosed
	}
	r.current, r.runs[id] = s, s
	r.stats.Started++
	return id, nil
}

var errClosed = errors.New("the recorder is closed: the service is disabled")

// reserve makes sure that the session may start, and that no other does meanwhile.
func (r *Recorder) reserve() (SessionID, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return 0, errClosed
	case r.starting:
		return 0, BadRequestError("another session is being started: only one can be in progress")
	case r.current != nil:
		return 0, BadRequestError(fmt.Sprintf("session %d is in progress: only one can be", r.current.id))
	case len(r.runs) >= r.c.MaxSessions:
		return 0, BadRequestError(fmt.Sprintf("%d sessions are kept, which is the most: release one", len(r.runs)))
	}
	r.starting = true
	r.work.Add(1) // Close waits for the start, too
	r.last++
	return r.last, nil
}

// Stop ends a session at once, and waits until its events are put together (Scope
// Profiler, StopProfiler). When ctx ends before that, its error is returned and the
// session is there some time later: see Session and Watch. It is a [BadRequestError] to stop what
// is not in progress; what has stopped by itself, at MaxLength, can be stopped once.
//
// A session that has no samples because other code had the CPU profiler is no error: see
// Stats.Profiling, BusyTime, and Status.Sampler.
//
// What was recorded comes to the session after the callbacks of the timeline's observers that
// run have returned. After a second it goes on without them, and says so in the log. An observer's own callback
// may call Stop, but then waits for itself that long.
func (r *Recorder) Stop(ctx context.Context, id SessionID) (*Session, error) {
	r.mu.Lock()
	s := r.runs[id]
	if s == nil || s.wasStopped {
		current := r.current
		r.mu.Unlock()
		if current != nil {
			return nil, BadRequestError(fmt.Sprintf("sessions: session %d is not in progress, session %d is", id, current.id))
		}
		return nil, BadRequestError(fmt.Sprintf("sessions: session %d is not in progress, nor is any other", id))
	}
	s.wasStopped = true
	r.stats.Stopped++
	records := r.current == s // else it has stopped by itself
	if records {
		r.current = nil
	}
	r.mu.Unlock()

	if records {
		s.end()
	}
	select {
	case <-s.ready:
	case <-ctx.Done():
		select {
		case <-s.ready: // which of the two is found does not depend on chance
		default:
			return nil, fmt.Errorf("sessions: session %d is stopped, its events are still put together: %w", id, context.Cause(ctx))
		}
	}
	return s.result()
}

// overlong notes that a session has reached MaxLength, unless it was stopped in that moment.
func (r *Recorder) overlong(s *run) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current != s {
		return false
	}
	r.current = nil
	r.stats.Overlong++
	return true
}

// Session is a session that was stopped. The error is a [BadRequestError] for an unknown id and
// while the session is not ready.
func (r *Recorder) Session(id SessionID) (*Session, error) {
	s, err := r.run(id)
	if err != nil {
		return nil, err
	}
	select {
	case <-s.ready:
		return s.result()
	default:
		return nil, BadRequestError(fmt.Sprintf("sessions: session %d is %s: it has no events yet", id, s.status().State))
	}
}

func (r *Recorder) run(id SessionID) (*run, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.runs[id]
	if s == nil {
		return nil, BadRequestError(fmt.Sprintf("sessions: session %d is not known: it was never started, was released, or has expired", id))
	}
	return s, nil
}

// ReleaseAll forgets all sessions but the one in progress, and tells how many that were
// (Scope Profiler, ReleaseSession without an id).
func (r *Recorder) ReleaseAll() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, s := range r.runs {
		if s != r.current && r.forget(s) {
			n++
		}
	}
	r.stats.Released += uint64(n)
	return n
}

// Release forgets a session that was stopped, also while its events are put together (Scope
// Profiler, ReleaseSession). The error is a [BadRequestError] for an unknown id, of which 0 is
// always one, and for a session in progress.
func (r *Recorder) Release(id SessionID) error {
	s, err := r.run(id)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s == r.current {
		return BadRequestError(fmt.Sprintf("sessions: session %d is in progress: stop it before it is released", id))
	}
	if r.forget(s) {
		r.stats.Released++
	}
	return nil
}

// forget lets go of a session. r.mu is held.
func (r *Recorder) forget(s *run) bool {
	if r.runs[s.id] != s {
		return false
	}
	delete(r.runs, s.id)
	s.cancel()
	if s.expiry != nil {
		s.expiry.Stop()
	}
	return true
}

// expire forgets a session after Keep, unless somebody has released it by then.
func (r *Recorder) expire(s *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.c.Keep < 0 || r.runs[s.id] != s {
		return
	}
	s.expiry = time.AfterFunc(r.c.Keep, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.forget(s) {
			r.stats.Expired++
		}
	})
}

// A State is where a session is.
type State string

// The states, in their order.
const (
	Waiting    State = "waiting"    // for a request to StartOptions.Route
	InProgress State = "recording"  // entries and samples are taken
	Processing State = "processing" // events are put together
	Ready      State = "ready"
)

// A Status says how a session is doing.
type Status struct {
	ID       SessionID
	State    State
	Route    string // as started with
	Wall     bool   // as started with
	Remote   bool   // as started with
	Started  time.Time
	Length   time.Duration // so far
	Progress float64       // of Processing, 0 to 1
	// Sampler is the engine and its state, as "cpu, paused", and after the end why samples are
	// missing, if they are; empty without samples.
	Sampler string

	Entries, Samples, Dropped uint64 // so far
}

// Statuses are those of all sessions, by id.
func (r *Recorder) Statuses() []Status {
	r.mu.Lock()
	runs := slices.SortedFunc(maps.Values(r.runs), func(a, b *run) int { return cmp.Compare(a.id, b.id) })
	r.mu.Unlock()
	all := make([]Status, len(runs))
	for i, s := range runs {
		all[i] = s.status()
	}
	return all
}

// watchEvery is how often those who watch are told.
const watchEvery = 100 * time.Millisecond

// Watch gives a session's status now and every 100 ms if it has changed, and ends when the
// session is Ready. It ends with a [BadRequestError] when the session is not known, or is released,
// and with ctx's error when ctx ends.
func (r *Recorder) Watch(ctx context.Context, id SessionID) iter.Seq2[Status, error] {
	return func(yield func(Status, error) bool) {
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		var last Status
		for {
			s, err := r.run(id)
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

// RecorderStats count sessions.
type RecorderStats struct {
	Started  uint64
	Refused  uint64 // starts that failed
	Stopped  uint64
	Overlong uint64 // that reached MaxLength
	Released uint64
	Expired  uint64 // forgotten after Keep, because nobody released them
}

// Stats returns the counts.
func (r *Recorder) Stats() RecorderStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// Close stops and forgets all sessions, and waits for what it runs, for observers' callbacks a second,
// as Stop does. The service is disabled then: Start fails. Closing twice does nothing.
func (r *Recorder) Close() {
	r.mu.Lock()
	r.closed = true
	for _, s := range r.runs {
		r.forget(s)
	}
	current := r.current
	r.current = nil
	r.mu.Unlock()
	if current != nil {
		current.end()
	}
	r.work.Wait()
}
