package profiling

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/perfline/perfline/profiling/internal/cpuprof"
	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/internal/wall"
	"github.com/perfline/perfline/profiling/internal/window"
)

// ErrBusy is wrapped by the error of [Profiler.Stop] when the session never had the process's CPU
// profiler: other code used it all the time, net/http/pprof for example, or another agent. The
// trace has no samples then.
var ErrBusy = sampling.ErrBusy

// The first and the longest pause before an engine is tried again after a failure that may have
// passed. The pause doubles with each failure.
const (
	firstWait   = time.Second
	longestWait = 10 * time.Minute
)

// newEngine makes the best engine for this system.
func (h *hub) newEngine(budget float64) (sampling.Engine, error) {
	if h.wall {
		return wall.New(budget, h.symbols)
	}
	return cpuprof.New(h.symbols)
}

func (h *hub) newFallback() sampling.Engine { return window.New(h.symbols) }

// choose makes an engine: the best one, else the fallback.
func (h *hub) choose(budget float64) error {
	h.stop() // also when it only waits for the profiler
	h.reason, h.again, h.budget, h.lost = "", time.Time{}, budget, 0
	err := h.broken
	if err == nil {
		err = h.call(func() (err error) {
			h.engine, err = h.make(budget)
			return err
		})
	}
	if err != nil {
		h.engine = nil
		return h.fallBack(err)
	}
	h.lost = h.engine.Lost()
	if e, ok := h.engine.(*wall.Engine); ok && e.Fallback() != nil {
		h.reason = e.Fallback().Error()
		h.logs.logOnce(slog.LevelWarn, "profiling: fast goroutine profiles unavailable on "+runtime.Version()+": using runtime/pprof's, which take three to five times the CPU", h.reason)
	}
	return nil
}

// fallBack makes the fallback the engine, or returns the reason when there is no fallback.
func (h *hub) fallBack(reason error) error {
	h.stop()
	if h.fallback == nil {
		return reason
	}
	h.engine, h.reason, h.lost = h.fallback(), reason.Error(), 0
	attrs := []slog.Attr{}
	var p *panicError
	switch {
	case errors.As(reason, &p):
		h.broken = reason // its state is not known
		attrs = append(attrs, slog.String("stack", p.stack))
	case errors.Is(reason, cpuprof.ErrTransient):
		h.wait = min(max(2*h.wait, firstWait), longestWait)
		h.again = time.Now().Add(h.wait)
	}
	h.logs.logOnce(slog.LevelWarn, "profiling: per-sample timestamps unavailable on "+runtime.Version()+": using 1 s runtime/pprof windows", h.reason, attrs...)
	return nil
}

// due reports whether to try the better engine again.
func (h *hub) due() bool { return !h.again.IsZero() && !time.Now().Before(h.again) }

// replace starts the fallback after the better engine failed. It returns the error when the
// fallback itself failed.
func (h *hub) replace(err error) error {
	if h.reason != "" {
		return err
	}
	if err := h.fallBack(err); err != nil {
		return err
	}
	return h.tune()
}

// rest stops the engine. The next session begins anew with the choice of one.
func (h *hub) rest() {
	h.stop()
	h.engine, h.reason, h.symbols = nil, "", sampling.NewSymbols()
	h.on, h.slower, h.away = false, time.Time{}, time.Time{}
	h.again, h.wait = time.Time{}, 0
}

// halt stops the engine; the sessions are paused until start.
func (h *hub) halt() {
	if !h.on {
		return
	}
	h.pause()
	h.stop()
	h.on = false
	h.charge()
}

// stop stops the engine, if there is one. After a panic some samples are missing.
func (h *hub) stop() {
	if h.engine == nil {
		return
	}
	if err := h.call(func() error { h.engine.Stop(h.emit); return nil }); err != nil {
		h.logs.logOnce(slog.LevelError, "profiling: samples are missing", err.Error())
	}
}

func (h *hub) pause() {
	now := sampling.Now()
	for _, s := range h.sessions {
		if s.begun != 0 {
			s.pause(now)
		}
	}
}

// start starts the engine, or its fallback. Without an error the engine runs, or waits until
// other code does not use the CPU profiler.
func (h *hub) start() error {
	err := h.call(func() error { return h.engine.Start(h.interval) })
	if errors.Is(err, sampling.ErrBusy) {
		h.yield(err)
		return nil
	}
	if err != nil {
		return h.replace(err)
	}
	h.on = true
	if !h.away.IsZero() {
		h.logs.log(slog.LevelInfo, "profiling: sampling again", slog.Duration("gap", time.Since(h.away).Round(time.Millisecond)))
		h.away = time.Time{}
	}
	if h.wait > 0 && h.reason == "" {
		h.logs.log(slog.LevelInfo, "profiling: per-sample timestamps available again")
		h.wait = 0
	}
	h.next = time.Now().Add(h.engine.Period())
	now := sampling.Now()
	for _, s := range h.sessions {
		s.resume(now)
	}
	return nil
}

// yield leaves the CPU profiler to other code until another try.
func (h *hub) yield(reason error) {
	h.next = time.Now().Add(retry)
	for _, s := range h.sessions {
		s.yield()
	}
	if h.away.IsZero() {
		h.away = time.Now()
		h.logs.log(slog.LevelWarn, "profiling: CPU profiler is in use elsewhere in this process; sampling paused", slog.String("reason", reason.Error()))
	}
}

// flush gives the sessions what was sampled up to now.
func (h *hub) flush() {
	if h.on {
		h.read(h.engine.Flush)
	}
}

func (h *hub) read(from func(func(*sampling.Sample)) error) {
	err := h.call(func() error { return from(h.emit) })
	h.charge()
	switch {
	case errors.Is(err, sampling.ErrTaken):
		h.on = false
		h.pause()
		h.yield(err)
	case err != nil:
		h.reap()
		h.halt()
		if err := h.replace(err); err != nil {
			h.fail(err)
		}
	}
}

// charge tells the sessions what the engine lost, and what its samples cost.
func (h *hub) charge() {
	n := h.engine.Lost() - h.lost
	h.lost += n
	var cost time.Duration
	if e, ok := h.engine.(interface{ Cost() time.Duration }); ok {
		cost = e.Cost()
	}
	for _, s := range h.sessions {
		if s.begun != 0 {
			s.charged(n, cost)
		}
	}
}

// call returns the error of f, which calls the engine, and a panic as an error. Engines depend on
// the runtime's internals, which must not end the process.
func (h *hub) call(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{fmt.Sprintf("profiling: the engine panicked: %v", v), string(debug.Stack())}
		}
	}()
	return f()
}

type panicError struct{ text, stack string }

func (p *panicError) Error() string { return p.text }
