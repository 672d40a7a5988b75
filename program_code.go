package perfline

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/internal/within"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/waits"
)

// A guardedWaits guards the program's recorder Config.Waits against panics. Requests, timers and
// OpenTelemetry's readers call the recorder. The timeline counts a panic, and the caller gets no
// answer. The results have the names that requests in memory have when the caller reads them.
type guardedWaits struct {
	recorder waits.Recorder
	named    func(*waits.Request) *waits.Request // Recent.Named
	timeline *record.Timeline
	stats    lastResult[waits.Stats]
	modules  []string // of the program, beside its main module

	mu      sync.Mutex                        // guards the field below
	renamed map[*waits.Request]*waits.Request // the latest results with new names
}

// maxRenamed bounds the results that a guardedWaits renamed. The same result is the same pointer to
// readers, which cache what they make of results.
const maxRenamed = 16

// name returns a result with the present names of requests.
func (w *guardedWaits) name(q *waits.Request) *waits.Request {
	w.mu.Lock()
	latest := cmp.Or(w.renamed[q], q)
	w.mu.Unlock()
	named := w.named(latest)
	if named == latest {
		return named
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.renamed == nil || len(w.renamed) == maxRenamed {
		w.renamed = map[*waits.Request]*waits.Request{}
	}
	w.renamed[q] = named
	return named
}

var (
	_ waits.Recorder   = (*guardedWaits)(nil)
	_ waiting.Recorder = (*guardedWaits)(nil)
)

const ofWaits = "Config.Waits"

var errWaitsPanicked = errors.New("the method of Config.Waits panicked, or ended its goroutine")

func (w *guardedWaits) try(f func()) bool { return w.timeline.Try(ofWaits, f) }

func (w *guardedWaits) Start(log *slog.Logger) {
	w.try(func() {
		if named, ok := w.recorder.(interface{ SetModules(paths []string) }); ok {
			named.SetModules(w.modules)
		}
		w.recorder.Start(log)
	})
}

func (w *guardedWaits) Slow(r bridge.Root) (asked bool) {
	w.try(func() { asked = w.recorder.Slow(r) })
	return asked
}

func (w *guardedWaits) Result(t trace.TraceID, s trace.SpanID) (q *waits.Request, ok bool) {
	w.try(func() { q, ok = w.recorder.Result(t, s) })
	if !ok || q == nil {
		return nil, false
	}
	return w.name(q), true
}

// SetHeld and Missing implement [waiting.Recorder], as far as the program's recorder does.
func (w *guardedWaits) SetHeld(held func([]local.ID) []bool) {
	if r, ok := w.recorder.(waiting.Recorder); ok {
		w.try(func() { r.SetHeld(held) })
	}
}

func (w *guardedWaits) Missing(id local.ID, end time.Time) (why waiting.Reason) {
	w.try(func() { why = waiting.Missing(w.recorder, id, end) })
	return cmp.Or(why, waiting.Unknown)
}

func (w *guardedWaits) Watch(f func(bridge.Root, *waits.Request)) (stop func()) {
	var stopped func()
	w.try(func() {
		stopped = w.recorder.Watch(func(root bridge.Root, q *waits.Request) {
			if q != nil {
				q = w.name(q)
			}
			f(root, q)
		})
	})
	return func() {
		if stopped != nil {
			w.try(stopped)
		}
	}
}

func (w *guardedWaits) Arm(d time.Duration) error {
	err := errWaitsPanicked
	w.try(func() { err = w.recorder.Arm(d) })
	return record.SafeError(err)
}

func (w *guardedWaits) Disarm() { w.try(w.recorder.Disarm) }

func (w *guardedWaits) State() (s waits.State) {
	if !w.try(func() { s = w.recorder.State() }) {
		s = waits.State{Status: waits.Disarmed, Reason: errWaitsPanicked.Error()}
	}
	return s
}

func (w *guardedWaits) Stats() waits.Stats { return w.stats.update(w.try, w.recorder.Stats) }

func (w *guardedWaits) Shutdown(ctx context.Context) error {
	r := within.Begin(ctx, within.Grace)
	r.Do(ofWaits, w.recorder.Shutdown)
	return r.End()
}

// A guardedProfiles guards the program's exporter Config.ProfileExporter, as [guardedWaits] guards
// the recorder.
type guardedProfiles struct {
	exporter profiling.Exporter
	timeline *record.Timeline
	stats    lastResult[profiling.ExporterStats]
}

var _ profiling.Exporter = (*guardedProfiles)(nil)

const ofProfiles = "Config.ProfileExporter"

func (p *guardedProfiles) try(f func()) bool { return p.timeline.Try(ofProfiles, f) }

func (p *guardedProfiles) Start(
	ctx context.Context, res *resource.Resource, log *slog.Logger,
) error {
	return p.run(ctx, func(ctx context.Context) error { return p.exporter.Start(ctx, res, log) })
}

func (p *guardedProfiles) Flush(ctx context.Context) error { return p.run(ctx, p.exporter.Flush) }

func (p *guardedProfiles) Shutdown(ctx context.Context) error {
	return p.run(ctx, p.exporter.Shutdown)
}

func (p *guardedProfiles) run(ctx context.Context, f func(context.Context) error) error {
	r := within.Begin(ctx, 2*within.Grace)
	r.Do(ofProfiles, f)
	return r.End()
}

func (p *guardedProfiles) Stats() profiling.ExporterStats {
	return p.stats.update(p.try, p.exporter.Stats)
}

func (p *guardedProfiles) LastMinute() (t *profile.Trace) {
	p.try(func() { t = p.exporter.LastMinute() })
	return t
}

// A lastResult holds the last result of a function of the program.
type lastResult[T any] struct {
	mu    sync.Mutex // guards value
	value T
}

// update returns the result of f, or the last result if f panics. try calls f.
func (l *lastResult[T]) update(try func(func()) bool, f func() T) T {
	var v T
	ok := try(func() { v = f() })
	l.mu.Lock()
	defer l.mu.Unlock()
	if ok {
		l.value = v
	}
	return l.value
}
