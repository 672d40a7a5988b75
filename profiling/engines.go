package profiling

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/internal/wall"
)

// ErrBusy is wrapped by the error of [Profiler.Stop] when the profiler took no sample, and other
// code had the process's CPU profiler meanwhile: net/http/pprof for example, or another agent.
var ErrBusy = sampling.ErrBusy

// The first and the longest pause before an engine is tried again after a failure that may have
// passed. The pause doubles with each failure.
const (
	firstWait   = time.Second
	longestWait = 10 * time.Minute
)

// chooseEngine makes an engine: the best one, else the fallback.
func (h *hub) chooseEngine(budget float64) error {
	h.stopEngine() // also one that waits for the CPU profiler
	h.fallbackReason, h.retryAt, h.budget, h.lostCounted = "", time.Time{}, budget, 0
	err := h.panicked
	if err == nil {
		err = h.call(func() (err error) {
			h.engine, err = h.newBest(budget)
			return err
		})
	}
	if err != nil {
		h.engine = nil
		return h.useFallback(err)
	}
	h.lostCounted = h.engine.Lost()
	if e, ok := h.engine.(*wall.Engine); ok && e.Fallback() != nil {
		h.fallbackReason = e.Fallback().Error()
		h.logs.logOnce(slog.LevelWarn, "profiling: fast goroutine profiles unavailable on "+
			runtime.Version()+": using runtime/pprof's, which take three to five times the CPU",
			h.fallbackReason)
	}
	return nil
}

// useFallback makes the fallback the engine. It returns reason if there is no fallback.
func (h *hub) useFallback(reason error) error {
	h.stopEngine()
	if h.newFallback == nil {
		return reason
	}
	h.engine, h.fallbackReason, h.lostCounted = h.newFallback(), reason.Error(), 0
	attrs := []slog.Attr{}
	var p *panicError
	switch {
	case errors.As(reason, &p):
		h.panicked = reason // its state is not known
		attrs = append(attrs, slog.String("stack", p.stack))
	case errors.Is(reason, sampling.ErrTransient):
		h.retryDelay = min(max(2*h.retryDelay, firstWait), longestWait)
		h.retryAt = time.Now().Add(h.retryDelay)
	}
	h.logs.logOnce(slog.LevelWarn, "profiling: per-sample timestamps unavailable on "+
		runtime.Version()+": using 1 s runtime/pprof windows", h.fallbackReason, attrs...)
	return nil
}

// retryDue reports whether it is time to try the best engine again.
func (h *hub) retryDue() bool { return !h.retryAt.IsZero() && !time.Now().Before(h.retryAt) }

// replaceEngine starts the fallback after the best engine failed. It returns the error if the
// fallback itself failed.
func (h *hub) replaceEngine(err error) error {
	if h.fallbackReason != "" {
		return err
	}
	if err := h.useFallback(err); err != nil {
		return err
	}
	return h.adjust()
}

// dropEngine stops the engine. The next profiler chooses one anew.
func (h *hub) dropEngine() {
	h.stopEngine()
	h.engine, h.fallbackReason, h.symbols = nil, "", sampling.NewSymbols()
	h.sampling, h.slowDownAt, h.busySince = false, time.Time{}, time.Time{}
	h.retryAt, h.retryDelay = time.Time{}, 0
}

// pauseSampling stops the engine. The profilers are paused until startEngine.
func (h *hub) pauseSampling() {
	if !h.sampling {
		return
	}
	h.pauseAll()
	h.stopEngine()
	h.sampling = false
	h.countEngine()
}

// stopEngine stops the engine, if there is one. After a panic some samples are missing.
func (h *hub) stopEngine() {
	if h.engine == nil {
		return
	}
	if err := h.call(func() error { h.engine.Stop(h.emit); return nil }); err != nil {
		h.logs.logOnce(slog.LevelError, "profiling: samples are missing", err.Error())
	}
}

func (h *hub) pauseAll() {
	now := sampling.Now()
	for _, p := range h.profilers {
		if p.begun != 0 {
			p.pause(now)
		}
	}
}

// startEngine starts the engine, or its fallback. Without an error the engine runs, or the hub
// waits until other code does not use the CPU profiler.
func (h *hub) startEngine() error {
	var err error
	took := h.spent(func() { err = h.call(func() error { return h.engine.Start(h.interval) }) })
	if errors.Is(err, sampling.ErrBusy) {
		h.waitForCPUProfiler(err, took)
		return nil
	}
	if err != nil {
		return h.replaceEngine(err)
	}
	h.sampling = true
	if !h.busySince.IsZero() {
		h.logs.log(slog.LevelInfo, "profiling: sampling again",
			slog.Duration("gap", time.Since(h.busySince).Round(time.Millisecond)))
		h.busySince = time.Time{}
	}
	if h.retryDelay > 0 && h.fallbackReason == "" {
		h.logs.log(slog.LevelInfo, "profiling: per-sample timestamps available again")
		h.retryDelay = 0
	}
	h.tickAt = time.Now().Add(h.engine.Period())
	now := sampling.Now()
	for _, p := range h.profilers {
		p.resume(now)
	}
	return nil
}

// waitForCPUProfiler leaves the CPU profiler to other code until the next try.
func (h *hub) waitForCPUProfiler(reason error, took time.Duration) {
	pause := min(max(busyRetry, busyShare*took), busyMost)
	h.tickAt = time.Now().Add(pause)
	for _, p := range h.profilers {
		p.markBusy()
	}
	if h.busySince.IsZero() {
		h.busySince = time.Now()
		h.logs.log(slog.LevelWarn,
			"profiling: CPU profiler is in use elsewhere in this process; sampling paused",
			slog.String("reason", reason.Error()))
	}
	if pause > busyRetry && h.busyPause <= busyRetry {
		h.logs.log(slog.LevelWarn,
			"profiling: a try to get the CPU profiler takes long; the next one comes later",
			slog.Duration("took", took), slog.Duration("pause", pause))
	}
	h.busyPause = pause
}

// flush distributes what was sampled up to now.
func (h *hub) flush() {
	if h.sampling {
		h.read(h.engine.Flush)
	}
}

func (h *hub) read(from func(func(*sampling.Sample)) error) {
	err := h.call(func() error { return from(h.emit) })
	h.countEngine()
	switch {
	case errors.Is(err, sampling.ErrTaken):
		h.sampling = false
		h.pauseAll()
		h.waitForCPUProfiler(err, 0)
	case err != nil:
		h.removeFull()
		h.pauseSampling()
		if err := h.replaceEngine(err); err != nil {
			h.fail(err)
		}
	}
}

// countEngine adds what the engine lost, and what its samples cost, to the counts of the profilers.
func (h *hub) countEngine() {
	n := h.engine.Lost() - h.lostCounted
	h.lostCounted += n
	var cost time.Duration
	if e, ok := h.engine.(sampling.CostMeter); ok {
		cost = e.Cost()
	}
	for _, p := range h.profilers {
		if p.begun != 0 {
			p.countEngine(n, cost)
		}
	}
}

// call returns the error of f, which calls the engine, and a panic as an error. Engines depend on
// the runtime's internals, which must not end the process.
func (h *hub) call(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{fmt.Sprintf("profiling: the engine panicked: %v", v),
				string(debug.Stack())}
		}
	}()
	return f()
}

type panicError struct{ text, stack string }

func (p *panicError) Error() string { return p.text }
