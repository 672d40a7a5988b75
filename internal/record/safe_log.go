package record

import (
	"cmp"
	"context"
	"log/slog"
	"runtime/pprof"
	"slices"
	"sync"
	"time"
)

const (
	linePatience = 250 * time.Millisecond // for a line
	maxLines     = 32                     // that wait for the program's handler
)

// SafeLogger returns a logger for perfline's own lines, which go to l, or to slog's default logger
// at that time if l is nil. The handler is the program's code, which may panic, hang, or end its
// goroutine. One goroutine calls it, and runs while there are lines. A caller waits until the line
// is written, for 250 ms at most, and not at all behind a line that hangs. When 32 lines wait,
// further lines are dropped. The next line has their number as dropped_lines.
func SafeLogger(l *slog.Logger) *slog.Logger {
	if l != nil {
		if _, safe := l.Handler().(*safeHandler); safe {
			return l
		}
	}
	return slog.New(&safeHandler{to: l, patience: linePatience, lines: &safeLines{}})
}

// Unwaited returns a logger to which no caller waits for its line. l is a [SafeLogger], which
// shares the goroutine and the order.
func Unwaited(l *slog.Logger) *slog.Logger {
	h := *l.Handler().(*safeHandler)
	h.patience = 0
	return slog.New(&h)
}

// safeLines are the lines of a logger that wait to be written.
type safeLines struct {
	mu      sync.Mutex // guards what follows
	waiting []safeLine
	writing bool // a goroutine writes them
	hanging bool // a caller has lost its patience since a line was written
	dropped int  // since a line was written
}

type safeLine struct {
	ctx     context.Context //nolint:containedctx // of the line's caller
	to      *safeHandler
	record  slog.Record
	written chan struct{} // closed when the handler has returned
}

// A safeHandler does not change: WithAttrs and WithGroup make another.
type safeHandler struct {
	to       *slog.Logger // nil: the default one
	with     []func(slog.Handler) slog.Handler
	patience time.Duration
	lines    *safeLines
}

var _ slog.Handler = (*safeHandler)(nil)

// Enabled does not ask the program's handler, which may hang: the goroutine that writes does.
func (h *safeHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h *safeHandler) Handle(ctx context.Context, r slog.Record) error {
	written, waits := h.lines.add(
		safeLine{ctx: ctx, to: h, record: r.Clone(), written: make(chan struct{})})
	if !waits || h.patience == 0 {
		return nil
	}
	patience := time.NewTimer(h.patience)
	defer patience.Stop()
	select {
	case <-written:
	case <-patience.C:
		h.lines.mu.Lock()
		h.lines.hanging = true
		h.lines.mu.Unlock()
	}
	return nil
}

// add queues a line, or drops it, and reports whether its caller may wait for it.
func (q *safeLines) add(l safeLine) (written <-chan struct{}, waits bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == maxLines {
		q.dropped++
		return nil, false
	}
	q.waiting = append(q.waiting, l)
	if !q.writing {
		q.writing = true
		go q.write()
	}
	return l.written, !q.hanging
}

// write writes lines until none waits.
func (q *safeLines) write() {
	pprof.SetGoroutineLabels(context.Background()) // those of the caller are a request's
	for l, dropped, ok := q.next(); ok; l, dropped, ok = q.next() {
		q.call(l, dropped)
	}
}

// next takes the oldest line out of the queue. When there is none, the goroutine must end.
func (q *safeLines) next() (l safeLine, dropped int, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.waiting, q.writing = nil, false
		return l, 0, false
	}
	l, dropped = q.waiting[0], q.dropped
	q.waiting, q.dropped = q.waiting[1:], 0
	return l, dropped, true
}

// call gives a line to the program's handler. The line counts as dropped if that panics or ends the
// goroutine.
func (q *safeLines) call(l safeLine, dropped int) {
	lost := dropped + 1
	defer func() {
		if recover() == nil && lost > 0 { // the handler has called runtime.Goexit
			go q.write()
		}
		q.mu.Lock()
		defer q.mu.Unlock()
		q.dropped += lost
		q.hanging = false
		close(l.written)
	}()
	if dropped > 0 {
		l.record.AddAttrs(slog.Int("dropped_lines", dropped))
	}
	to := cmp.Or(l.to.to, slog.Default()).Handler()
	for _, with := range l.to.with {
		to = with(to)
	}
	if to.Enabled(l.ctx, l.record.Level) {
		_ = to.Handle(l.ctx, l.record) // as slog does
	}
	lost = 0
}

func (h *safeHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.and(func(to slog.Handler) slog.Handler { return to.WithAttrs(attrs) })
}

func (h *safeHandler) WithGroup(name string) slog.Handler {
	return h.and(func(to slog.Handler) slog.Handler { return to.WithGroup(name) })
}

func (h *safeHandler) and(with func(slog.Handler) slog.Handler) slog.Handler {
	c := *h
	c.with = append(slices.Clip(h.with), with)
	return &c
}
