package flight

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	rt "runtime/trace"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/cputime"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/modules"
	"github.com/perfline/perfline/internal/permission"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
	"github.com/perfline/perfline/waits/flight/internal/analysis"
)

// A recorder implements [waits.Recorder], which documents the methods.
type recorder struct {
	c       Config
	process process
	stop    chan struct{} // closed by Shutdown
	stopped chan struct{} // closed when all goroutines have ended
	once    sync.Once     // for Shutdown

	goroutines sync.WaitGroup

	// control serialises the flight recorder's Start, WriteTo and Stop. It is locked before mu.
	control sync.Mutex

	mu          sync.Mutex // guards the fields below; never held during calls of other code
	log         *slog.Logger
	own         func(function string) bool // reports whether a function belongs to the program
	started     bool
	closed      bool
	period      *period       // nil while the recorder is disarmed
	waiting     []waiter      // for the next snapshot, the oldest first
	least       int           // index of the least slow one of a full list, or -1 if unknown
	displaced   []bridge.Root // gave way to other waiters; the period reports them
	lastAt      time.Time     // of the last snapshot
	analysing   []bridge.Root // of the snapshot that the recorder writes or reads; nil without one
	snapshot    snapshot      // owned by its reader while analysing is set, or by control
	budget      budget
	cost        time.Duration // CPU time of the present analysis so far, or of the last one
	results     results
	missing     reasons
	held        func([]local.ID) []bool // which requests are in memory; may be nil
	watchers    []*watcher              // copied on write
	stats       waits.Stats
	arming      bool           // a slow request is arming the recorder
	pausedUntil time.Time      // slow requests do not arm the recorder before
	disarmed    waiting.Reason // why slow requests meet a disarmed recorder
	inUseAt     time.Time      // of the last call of Arm, if another flight recorder ran
	logged      map[string]bool
}

var (
	_ waits.Recorder   = (*recorder)(nil)
	_ waiting.Recorder = (*recorder)(nil)
)

// A waiter is a slow request that waits for a snapshot.
type waiter struct {
	root    bridge.Root
	arrived time.Time
}

// compareRoots orders requests by their right to a result: failed requests precede others, and
// slow requests precede less slow ones.
func compareRoots(a, b bridge.Root) int {
	switch {
	case a.Failed && !b.Failed:
		return -1
	case b.Failed && !a.Failed:
		return 1
	}
	return cmp.Compare(b.End.Sub(b.Start), a.End.Sub(a.Start))
}

// A process is the source of snapshots, or a test's.
type process struct {
	newRecorder func(rt.FlightRecorderConfig) flightRecorder
	read        func(r io.ReadSeeker, wanted []analysis.Root, own func(function string) bool,
		pause func()) (requests []waits.Request, began time.Time, err error)
	threadTime func() time.Duration // CPU time of the calling thread; 0 if unknown
}

// A flightRecorder is runtime/trace's. Its methods must not run concurrently.
type flightRecorder interface {
	Start() error
	WriteTo(io.Writer) (int64, error)
	Stop()
}

// NewRecorder returns a disarmed recorder. With [Config].Armed, perfline.Start arms the recorder.
// The recorder follows the rules of [waits.Recorder].
//
//   - perfline.Start calls the recorder's Start. The pipeline's Shutdown calls the recorder's
//     Shutdown.
//   - A program without perfline.Start calls Arm instead of Start, and Slow for each slow request.
//   - Arm stops all goroutines for a moment. If PERFLINE_PROFILING forbids profiling, Arm returns
//     an error that wraps [profiling.ErrNotAllowed].
//   - The recorder never calls a function of Watch concurrently with the same function. If 1024
//     results wait for a function, the recorder drops further results for this function. Stats
//     counts the dropped results as Panics.
//   - After Shutdown, the analysis stops at the next pause.
func NewRecorder(c Config) waits.Recorder {
	return newRecorder(c, process{
		newRecorder: func(c rt.FlightRecorderConfig) flightRecorder {
			return rt.NewFlightRecorder(c)
		},
		read:       analysis.Read,
		threadTime: cputime.Thread,
	})
}

func newRecorder(c Config, of process) *recorder {
	c.fill()
	return &recorder{
		c: c, process: of, log: record.SafeLogger(nil), logged: map[string]bool{},
		own:  modules.Read().Own(nil),
		stop: make(chan struct{}), stopped: make(chan struct{}),
		snapshot: snapshot{max: 4 * c.MaxBytes}, budget: newBudget(c.MaxCPU),
		results:  newResults(c.Requests, maxResultBytes),
		disarmed: waiting.NotArmed,
	}
}

func (r *recorder) Start(log *slog.Logger) {
	r.mu.Lock()
	again := r.started
	r.started = true
	if log != nil && !again {
		r.log = record.SafeLogger(log)
	}
	r.mu.Unlock()
	if again || !r.c.Armed {
		return
	}
	if err := r.Arm(0); err != nil {
		r.logger().Warn("perfline: the waits recorder is not armed; slow requests do not show what they waited for",
			"error", err)
	}
}

// SetModules sets the modules of the program beside the main module, for sentences that name the
// program's functions. Paths without a module in the program's build information are allowed.
func (r *recorder) SetModules(paths []string) {
	own := modules.Read().Own(paths)
	r.mu.Lock()
	r.own = own
	r.mu.Unlock()
}

func (r *recorder) logger() *slog.Logger {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log
}

func (r *recorder) Arm(d time.Duration) error { return r.arm(d, false) }

func (r *recorder) arm(d time.Duration, auto bool) error {
	if d < 0 {
		return fmt.Errorf("flight: arming for %v: must be 0 or more", d)
	}
	if err := permission.Check(); err != nil {
		return fmt.Errorf("flight: %w", err)
	}
	r.control.Lock()
	defer r.control.Unlock()
	now := time.Now()
	until := time.Time{}
	if d > 0 {
		until = now.Add(d)
	}
	if done, err := r.extend(until, auto); done {
		return err
	}
	p := &period{
		r: r, began: now, ended: make(chan struct{}), until: until, auto: auto,
		recorder: r.process.newRecorder(rt.FlightRecorderConfig{
			MinAge: r.c.MinAge, MaxBytes: uint64(r.c.MaxBytes),
		}),
	}
	// Start of a new flight recorder fails only while another one runs.
	err := p.recorder.Start()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.inUseAt = now
		return fmt.Errorf("flight: %w: stop it, then arm again: %w", waits.ErrInUse, err)
	}
	r.inUseAt = time.Time{}
	r.period = p
	if r.missing.armed.IsZero() {
		r.missing.armed = now
	}
	r.waiting, r.least = make([]waiter, 0, maxWaiting), -1
	r.displaced = make([]bridge.Root, 0, maxWaiting)
	r.goroutines.Add(1)
	go p.run()
	return nil
}

// extend changes the end of the armed time. It returns false if the recorder is not armed.
func (r *recorder) extend(until time.Time, auto bool) (done bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return true, errors.New("flight: arming after Shutdown: make a new recorder")
	}
	if r.period == nil {
		return false, nil
	}
	if !auto { // the program's call of Arm wins over slow requests
		r.period.until, r.period.auto = until, false
	}
	return true, nil
}

func (r *recorder) Disarm() {
	r.mu.Lock()
	last := len(r.waiting) > 0 && r.analysing == nil
	r.mu.Unlock()
	if last {
		time.Sleep(settleTime) // for the last events of requests that have just ended
	}
	r.control.Lock()
	defer r.control.Unlock()
	r.mu.Lock()
	p := r.period
	r.inUseAt = time.Time{}
	r.mu.Unlock()
	if p != nil {
		p.end(true)
	}
}

func (r *recorder) Slow(root bridge.Root) bool {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.Slow++
	switch {
	case r.period == nil:
		r.stats.NotArmed++
		armable := r.c.Auto && !r.closed && now.After(r.pausedUntil)
		if armable {
			r.disarmed = waiting.NotArmed
		}
		r.missing.add(idOf(root), r.disarmed, now)
		if armable && !r.arming {
			r.arming = true
			r.goroutines.Add(1)
			go r.armBySlowRequest(root.Name)
		}
		return false
	case r.lastAt.Add(r.c.MinInterval).Sub(now) > r.c.MinAge:
		r.stats.RateLimited++
		r.missing.add(idOf(root), waiting.RateLimited, now)
		return false
	case len(r.waiting) == maxWaiting && !r.displace(root, now):
		return false
	}
	r.waiting, r.least = append(r.waiting, waiter{root, now}), -1
	return true
}

// displace makes room for a root among the waiting ones: the least slow root gives way, perhaps the
// new root itself. displace returns false if the new root gives way. The caller holds mu.
func (r *recorder) displace(root bridge.Root, now time.Time) bool {
	r.stats.Dropped++
	if r.least < 0 {
		r.least = 0
		for i := range r.waiting {
			if compareRoots(r.waiting[i].root, r.waiting[r.least].root) > 0 {
				r.least = i
			}
		}
	}
	other := r.waiting[r.least].root
	if compareRoots(root, other) >= 0 || len(r.displaced) == cap(r.displaced) {
		r.missing.add(idOf(root), waiting.GaveWay, now)
		return false
	}
	r.missing.add(idOf(other), waiting.GaveWay, now)
	r.displaced = append(r.displaced, other)
	r.waiting = slices.Delete(r.waiting, r.least, r.least+1)
	return true
}

func idOf(root bridge.Root) local.ID { return local.ID{Trace: root.TraceID, Span: root.SpanID} }

const maxLogged = 200 // bytes of a request's name in the log

func (r *recorder) armBySlowRequest(name string) {
	defer r.goroutines.Done()
	err := r.arm(autoLength, true)
	r.mu.Lock()
	r.arming = false
	if err != nil {
		r.pausedUntil = time.Now().Add(autoPause)
		r.disarmed = waiting.Unarmed(r.pausedUntil)
	}
	closed := r.closed
	r.mu.Unlock()
	switch {
	case closed:
	case err != nil:
		r.logOnce("auto",
			"perfline: a request was slow, but the waits recorder cannot be armed; perfline tries again with slow requests in some minutes and does not log it",
			"request", text.Line(name, maxLogged), "error", err)
	default:
		r.logger().Info("perfline: a request was slow; the waits recorder is armed for a minute",
			"request", text.Line(name, maxLogged))
	}
}

// logOnce logs the first message of a kind.
func (r *recorder) logOnce(kind, message string, args ...any) {
	r.mu.Lock()
	log, again := r.log, r.logged[kind]
	r.logged[kind] = true
	r.mu.Unlock()
	if !again {
		log.Warn(message, args...)
	}
}

func (r *recorder) Result(traceID trace.TraceID, rootID trace.SpanID) (*waits.Request, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, ok := r.results.requests[local.ID{Trace: traceID, Span: rootID}]
	if !ok {
		return nil, false
	}
	return found.request, true
}

func (r *recorder) SetHeld(held func([]local.ID) []bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = held
}

func (r *recorder) Missing(id local.ID, end time.Time) waiting.Reason {
	r.mu.Lock()
	defer r.mu.Unlock()
	is := func(root bridge.Root) bool { return idOf(root) == id }
	if r.results.requests[id] != nil || slices.ContainsFunc(r.analysing, is) ||
		slices.ContainsFunc(r.waiting, func(w waiter) bool { return is(w.root) }) {
		return waiting.Waiting // also for a result that has come since the caller looked
	}
	return r.missing.of(id, end)
}

func (r *recorder) State() waits.State {
	forbidden := permission.Check()
	r.mu.Lock()
	defer r.mu.Unlock()
	p, now := r.period, time.Now()
	switch {
	case r.closed:
		return waits.State{Status: waits.Disarmed, Reason: "the recorder is shut down"}
	case p != nil && p.auto:
		const reason = "a request was slow"
		return waits.State{Status: waits.Armed, Until: p.until, Auto: true, Reason: reason}
	case p != nil:
		return waits.State{Status: waits.Armed, Until: p.until}
	case forbidden != nil:
		return waits.State{Status: waits.Forbidden, Reason: forbidden.Error()}
	case !r.inUseAt.IsZero():
		return waits.State{Status: waits.InUse,
			Reason: "another flight recorder ran in this process at " +
				r.inUseAt.Format(time.TimeOnly) + ": stop it, then arm again"}
	case r.c.Auto && now.Before(r.pausedUntil):
		return waits.State{Status: waits.Paused, Until: r.pausedUntil,
			Reason: "slow requests have armed the recorder a short time ago"}
	}
	return waits.State{Status: waits.Disarmed, Auto: r.c.Auto}
}

func (r *recorder) Stats() waits.Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stats
	s.TooLarge, s.Evicted = r.results.tooLarge, r.results.evicted
	s.Results, s.ResultBytes = uint64(len(r.results.requests)), uint64(r.results.bytes)
	s.Pending = s.Slow - s.Analysed - s.NotFound - s.Failed -
		s.Abandoned - s.RateLimited - s.Dropped - s.NotArmed
	if r.period != nil {
		s.Armed += time.Since(r.period.began)
	}
	return s
}

func (r *recorder) Shutdown(ctx context.Context) error {
	r.once.Do(func() {
		r.mu.Lock()
		r.closed = true
		r.mu.Unlock()
		close(r.stop)
		go func() { // a snapshot may take longer than ctx
			r.control.Lock()
			if p := r.period; p != nil { // closed: no period follows
				p.end(false)
			}
			r.control.Unlock()
			r.goroutines.Wait()
			close(r.stopped)
		}()
	})
	select {
	case <-r.stopped:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-r.stopped: // the same moment
		return nil
	default:
		return fmt.Errorf("flight: the last snapshot or its analysis has not stopped: %w",
			context.Cause(ctx))
	}
}
