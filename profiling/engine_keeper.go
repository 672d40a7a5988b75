package profiling

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/perfline/perfline/internal/cputime"
	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/internal/wall"
)

// ErrBusy reports that other code used the process's CPU profiler, and that the [Profiler] took no
// sample. The other code may be net/http/pprof or another agent. The error of [Profiler.Stop] wraps
// ErrBusy.
var ErrBusy = sampling.ErrBusy

// slowDownDelay is the time for which the engine keeps an interval that no profiler needs any more:
// each change of the interval makes a gap in the samples of all profilers.
const slowDownDelay = 10 * time.Second

// The first and the longest pause before the best engine is tried again after a failure that may
// have passed. The pause doubles with each failure.
const (
	minRetryDelay = time.Second
	maxRetryDelay = 10 * time.Minute
)

// While other code has the CPU profiler, the keeper tries to get it again. A try looks at all
// goroutines, so the pause is busyShare times as long as the last try, within these bounds.
const (
	minBusyPause = time.Second
	maxBusyPause = time.Minute
	busyShare    = 100
)

// answerTimeout bounds the wait for the answer of StartCPUProfile, during which the hub does
// nothing else. The answer takes long while other code writes a profile.
const answerTimeout = 100 * time.Millisecond

// An engineState is a state of an engineKeeper.
type engineState uint8

const (
	engineIdle    engineState = iota // no profiler, or the engine or interval changes
	engineRunning                    // the engine samples
	enginePaused                     // other code has the CPU profiler; tries to get it follow
	engineFailed                     // neither the engine nor a fallback works
)

// String returns the name of the state: idle, running, paused or failed.
func (s engineState) String() string {
	return [...]string{"idle", "running", "paused", "failed"}[s]
}

// An engineUser receives an engine's samples on the goroutine that calls the engineKeeper.
type engineUser interface {
	emit(*sampling.Sample)
	enter(engineState) // before an engine stops, and after it has started
	countEngine(lost uint64, cost time.Duration)
}

// An engineKeeper owns an engine: the best one for this system, or the fallback while the best one
// fails. The goroutine of a hub calls the methods.
type engineKeeper struct {
	newBest     func(budget float64) (sampling.Engine, error)
	newFallback func() sampling.Engine     // nil where there is no fallback
	spent       func(func()) time.Duration // cputime.Spent
	user        engineUser
	logs        engineLog

	state          engineState
	engine         sampling.Engine // nil without profilers
	symbols        *sampling.Symbols
	fallbackReason string        // the failure of the best engine; empty while it samples
	panicked       error         // a panic of the best engine, which ends its use
	retryAt        time.Time     // when to try the best engine again; zero for never
	retryDelay     time.Duration // the last pause before retryAt; 0 after the best engine ran
	requested      time.Duration // the shortest interval that a profiler wants
	interval       time.Duration // the engine's interval
	slowDownAt     time.Time     // when to change to a longer interval; zero for never
	budget         float64       // the budget that engine was made with
	due            time.Time     // when to call tick
	lostCounted    uint64        // the engine's lost samples that the user has counted
	busySince      time.Time     // when other code got the CPU profiler; zero when it is free
	busyPause      time.Duration // the last pause before a try to get the CPU profiler
}

func newEngineKeeper(user engineUser) *engineKeeper {
	return &engineKeeper{user: user, symbols: sampling.NewSymbols(), spent: cputime.Spent}
}

// enter is the only function that changes the state. These are the changes:
//
//	from     to       when
//	----     --       ----
//	idle     running  the engine has started
//	         paused   other code has the CPU profiler
//	         failed   neither the engine nor a fallback starts
//	running  idle     no profiler is left, the engine or interval changes, or the engine fails
//	         paused   other code has taken the CPU profiler
//	paused   running  a try to get the CPU profiler succeeds
//	         idle     as above
//	failed   idle     as above
//	         running  a profiler comes for which the engine starts
//	         paused   a profiler comes, and other code has the CPU profiler
func (k *engineKeeper) enter(next engineState) {
	was := k.state
	k.state = next
	k.user.enter(next)
	if next != engineIdle || k.engine == nil {
		return
	}
	// An engine that waits for the CPU profiler, or has started in part, needs the call, too.
	if err := k.call(func() error { k.engine.Stop(k.user.emit); return nil }); err != nil {
		k.logs.logOnce(slog.LevelError, "profiling: samples are missing", err.Error())
	}
	if was == engineRunning {
		k.countEngine()
	}
}

// want makes the engine sample at the requested interval, or at the next shorter one that the
// engine supports. Afterwards the state is running or paused; after an error, failed.
func (k *engineKeeper) want(requested time.Duration, budget float64) error {
	k.requested = requested
	retry := !k.retryAt.IsZero() && !time.Now().Before(k.retryAt)
	if k.engine == nil || budget != k.budget || retry {
		if err := k.choose(budget); err != nil {
			return err
		}
	}
	interval, slow := k.engine.Interval(requested), time.Time{}
	if k.state == engineRunning {
		if interval > k.interval {
			if slow = k.slowDownAt; slow.IsZero() {
				slow = time.Now().Add(slowDownDelay)
			}
		}
		if interval == k.interval || time.Now().Before(slow) {
			k.slowDownAt = slow
			return nil
		}
		k.enter(engineIdle)
	}
	k.interval, k.slowDownAt = interval, time.Time{}
	return k.start()
}

// tick distributes the engine's samples, and then retries or changes the engine or the interval
// when that is due. The state is running or paused.
func (k *engineKeeper) tick() error {
	if k.state == engineRunning {
		if err := k.read(k.engine.Tick); err != nil || k.state != engineRunning {
			return err
		}
		k.due = k.due.Add(k.engine.Period())
		if now := time.Now(); k.due.Before(now) {
			k.due = now.Add(k.engine.Period())
		}
	}
	return k.want(k.requested, k.budget)
}

// flush distributes all samples up to now.
func (k *engineKeeper) flush() error {
	if k.state != engineRunning {
		return nil
	}
	return k.read(k.engine.Flush)
}

// drop stops the engine. The next profiler chooses a new one.
func (k *engineKeeper) drop() {
	k.enter(engineIdle)
	k.engine, k.fallbackReason, k.symbols = nil, "", sampling.NewSymbols()
	k.slowDownAt, k.busySince, k.retryAt, k.retryDelay = time.Time{}, time.Time{}, time.Time{}, 0
}

// choose makes the best engine, or else the fallback.
func (k *engineKeeper) choose(budget float64) error {
	k.enter(engineIdle)
	k.engine, k.fallbackReason, k.retryAt, k.budget = nil, "", time.Time{}, budget
	best, err := sampling.Engine(nil), k.panicked
	if err == nil {
		err = k.call(func() (err error) {
			best, err = k.newBest(budget)
			return err
		})
	}
	if err != nil {
		return k.fallBack(err)
	}
	k.engine, k.lostCounted = best, best.Lost()
	if e, ok := best.(*wall.Engine); ok && e.Fallback() != nil {
		k.fallbackReason = e.Fallback().Error()
		k.logs.logOnce(slog.LevelWarn, "profiling: fast goroutine profiles unavailable on "+
			runtime.Version()+": using runtime/pprof's, which take three to five times the CPU",
			k.fallbackReason)
	}
	return nil
}

// fallBack makes the fallback the engine, because the engine failed with reason. It returns reason
// if no fallback is left.
func (k *engineKeeper) fallBack(reason error) error {
	k.enter(engineIdle)
	if k.newFallback == nil || k.fallbackReason != "" {
		k.enter(engineFailed)
		return reason
	}
	k.engine, k.fallbackReason, k.lostCounted = k.newFallback(), reason.Error(), 0
	attrs := []slog.Attr{}
	var p *panicError
	switch {
	case errors.As(reason, &p):
		k.panicked = reason // the engine's state is unknown
		attrs = append(attrs, slog.String("stack", p.stack))
	case errors.Is(reason, sampling.ErrTransient):
		k.retryDelay = min(max(2*k.retryDelay, minRetryDelay), maxRetryDelay)
		k.retryAt = time.Now().Add(k.retryDelay)
	}
	k.logs.logOnce(slog.LevelWarn, "profiling: per-sample timestamps unavailable on "+
		runtime.Version()+": using 1 s runtime/pprof windows", k.fallbackReason, attrs...)
	return nil
}

// replace starts the fallback, because the engine failed with reason.
func (k *engineKeeper) replace(reason error) error {
	if err := k.fallBack(reason); err != nil {
		return err
	}
	return k.want(k.requested, k.budget)
}

// start starts the engine, or its fallback.
func (k *engineKeeper) start() error {
	var err error
	took := k.spent(func() { err = k.call(func() error { return k.engine.Start(k.interval) }) })
	if errors.Is(err, sampling.ErrBusy) {
		k.waitForCPUProfiler(err, took)
		return nil
	}
	if err != nil {
		return k.replace(err)
	}
	if !k.busySince.IsZero() {
		gap := time.Since(k.busySince).Round(time.Millisecond)
		k.logs.log(slog.LevelInfo, "profiling: sampling again", slog.Duration("gap", gap))
		k.busySince = time.Time{}
	}
	if k.retryDelay > 0 && k.fallbackReason == "" {
		k.logs.log(slog.LevelInfo, "profiling: per-sample timestamps available again")
		k.retryDelay = 0
	}
	k.due = time.Now().Add(k.engine.Period())
	k.enter(engineRunning)
	return nil
}

// waitForCPUProfiler pauses until the next try to get the CPU profiler. The last try took CPU time.
func (k *engineKeeper) waitForCPUProfiler(reason error, took time.Duration) {
	k.enter(enginePaused)
	pause := min(max(minBusyPause, busyShare*took), maxBusyPause)
	k.due = time.Now().Add(pause)
	if k.busySince.IsZero() {
		k.busySince = time.Now()
		k.logs.log(slog.LevelWarn, "profiling: CPU profiler is in use elsewhere in this process; "+
			"sampling paused", slog.String("reason", reason.Error()))
	}
	if pause > minBusyPause && k.busyPause <= minBusyPause {
		k.logs.log(slog.LevelWarn, "profiling: a try to get the CPU profiler takes long; "+
			"the next one comes later", slog.Duration("took", took), slog.Duration("pause", pause))
	}
	k.busyPause = pause
}

// read distributes samples. The engine runs.
func (k *engineKeeper) read(from func(func(*sampling.Sample)) error) error {
	err := k.call(func() error { return from(k.user.emit) })
	k.countEngine()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sampling.ErrTaken):
		k.waitForCPUProfiler(err, 0)
		return nil
	default:
		return k.replace(err)
	}
}

// countEngine reports to the user the lost samples since its last call, and the cost of a sample.
func (k *engineKeeper) countEngine() {
	n := k.engine.Lost() - k.lostCounted
	k.lostCounted += n
	var cost time.Duration
	if e, ok := k.engine.(sampling.CostMeter); ok {
		cost = e.Cost()
	}
	k.user.countEngine(n, cost)
}

// call returns the error or the panic of f, which calls the engine. Engines depend on the runtime's
// internals and must not end the process.
func (k *engineKeeper) call(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			text := fmt.Sprintf("profiling: the engine panicked: %v", v)
			err = &panicError{text, string(debug.Stack())}
		}
	}()
	return f()
}

type panicError struct{ text, stack string }

func (p *panicError) Error() string { return p.text }
