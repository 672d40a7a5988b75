package sessions

import (
	"context"
	"iter"
	"log/slog"
	"time"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
)

// A BadRequest is the error for what the specification answers with BAD_REQUEST: what is
// asked for makes no sense now. Its text names the value and the rule.
type BadRequest string

func (e BadRequest) Error() string { return string(e) }

// Config configures a [Recorder]. Zero fields mean what their comments say.
type Config struct {
	Timeline *observer.Timeline // what is recorded; nil means observer.Default()
	Policy   profiling.Policy   // what somebody outside the program may do
	Logger   *slog.Logger       // nil means slog.Default()

	SampleInterval time.Duration // of sessions that do not say; 0 means 10 ms
	MaxSamples     int           // of a session; 0 means 200 000. A sample takes some 50 bytes
	MaxEvents      int           // entries of a session; 0 means 1 000 000. One takes some 200 bytes
	MaxLength      time.Duration // after which a session stops by itself; 0 means 10 minutes
	MaxSessions    int           // kept at a time; 0 means 8
	Keep           time.Duration // how long a session that was stopped is kept; 0 means 1 hour, negative for ever
}

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
type Recorder struct{}

// NewRecorder makes a recorder. It does nothing, and costs nothing, until a session starts.
func NewRecorder(c Config) *Recorder { return nil }

// Start begins a session (Scope Profiler, StartProfiler). The error is a [BadRequest]
// while another session is under way, when MaxSessions are kept and none of them can be
// let go, and for options that are not valid; it wraps profiling.ErrNotAllowed when
// profiling is not allowed. The session does not end with ctx.
//
// With Route the session records from now on, forgets what is older than half a minute, and begins, when a request of
// that name that arrived after Start has ended, with that request's arrival. A request is known by its name only
// when it ends: code is sampled and entries are kept all the while.
func (r *Recorder) Start(ctx context.Context, o StartOptions) (SessionID, error) { return 0, nil }

// Stop ends a session at once, and waits until its events are put together (Scope
// Profiler, StopProfiler). When ctx ends before that its error is returned, and the
// session is there some time later: see Session and Watch. It is a [BadRequest] to stop what is not under way.
// A session that has stopped by itself, at MaxLength, can be stopped once.
func (r *Recorder) Stop(ctx context.Context, id SessionID) (*Session, error) { return nil, nil }

// Session is a session that was stopped. The error is a [BadRequest] for an unknown id and while it is not ready.
func (r *Recorder) Session(id SessionID) (*Session, error) { return nil, nil }

// Release forgets a session that was stopped, also while its events are put together (Scope Profiler,
// ReleaseSession); id 0 means all of them. The error is a [BadRequest] for an unknown id and for a session under way.
func (r *Recorder) Release(id SessionID) error { return nil }

// A State is where a session is.
type State string

// The states, in their order.
const (
	Waiting    State = "waiting" // for a request to Route
	InProgress State = "recording"
	Processing State = "processing" // events are put together
	Ready      State = "ready"
)

// A Status says how a session is doing.
type Status struct {
	ID       SessionID
	State    State
	Route    string    // as started with
	Remote   bool      // as started with
	Started  time.Time // when it began; while it waits, when it was started
	Length   time.Duration
	Progress float64 // of Processing: 0 to 1
	Sampler  string  // engine and state: "cpu, paused"; empty without samples

	Entries, Samples, Dropped uint64 // so far
}

// Statuses are those of all sessions, by id.
func (r *Recorder) Statuses() []Status { return nil }

// Watch gives a session's status now and whenever it has changed, at most every 100 ms, until it is Ready,
// released (ok is false in its last), or ctx ends.
func (r *Recorder) Watch(ctx context.Context, id SessionID) iter.Seq2[Status, error] { return nil }

// RecorderStats count sessions.
type RecorderStats struct {
	Started, Stopped, Released uint64
	Expired                    uint64 // forgotten after Keep, or for a new one at MaxSessions
	Overlong                   uint64 // stopped by themselves at MaxLength
	Refused                    uint64 // starts that failed
}

// Stats returns the counts.
func (r *Recorder) Stats() RecorderStats { return RecorderStats{} }

// Close stops and forgets all sessions, and waits for what it runs. The service is disabled
// then: Start fails.
func (r *Recorder) Close() {}
