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
	linePatience = 250 * time.Millisecond // of a caller, for a line
	maxLines     = 32                     // in the queue for the program's handler
)

// SafeLogger returns a logger for perfline's lines. The logger forwards the lines to l. If l is
// nil, the logger forwards each line to the current default logger of slog. The program's handler
// may panic, hang, or end the goroutine. Therefore a separate goroutine calls the handler.
//
//   - A caller waits at most 250 ms for the handler.
//   - A caller does not wait while the handler hangs on an earlier line.
//   - When 32 lines wait, SafeLogger drops further lines. The next written line reports the number
//     of dropped lines as dropped_lines.
func SafeLogger(l *slog.Logger) *slog.Logger {
	if l != nil {
		if _, safe := l.Handler().(*safeHandler); safe {
			return l
		}
	}
	return slog.New(&safeHandler{to: l, patience: linePatience, lines: &safeLines{}})
}

// Unwaited returns a logger that never blocks the caller. l must be a [SafeLogger]. The returned
// logger and l use the same queue.
func Unwaited(l *slog.Logger) *slog.Logger {
	h := *l.Handler().(*safeHandler)
	h.patience = 0
	return slog.New(&h)
}

// Once returns true for the first call with a key, and false for later calls. l must be a
// [SafeLogger], or a logger made from a SafeLogger. Loggers of the same SafeLogger share the keys.
// Therefore several packages with the same SafeLogger can write a common line only once.
func Once(l *slog.Logger, key string) bool {
	q := l.Handler().(*safeHandler).lines
	q.mu.Lock()
	defer q.mu.Unlock()
	if slices.Contains(q.keys, key) {
		return false
	}
	q.keys = append(q.keys, key)
	return true
}

// safeLines is the queue of a SafeLogger.
type safeLines struct {
	mu      sync.Mutex // guards the fields below
	keys    []string   // of Once
	queue   []safeLine
	writing bool // a goroutine writes the queue
	hanging bool // a caller has given up waiting since the last written line
	dropped int  // lines since the last written line
}

type safeLine struct {
	ctx     context.Context //nolint:containedctx // of the caller
	to      *safeHandler
	record  slog.Record
	written chan struct{} // closed when the handler returns
}

// A safeHandler is immutable: WithAttrs and WithGroup return new ones.
type safeHandler struct {
	to       *slog.Logger // nil for slog's default logger
	with     []func(slog.Handler) slog.Handler
	patience time.Duration
	lines    *safeLines
}

var _ slog.Handler = (*safeHandler)(nil)

// Enabled returns true. The program's handler may hang, so Enabled does not call the handler. The
// goroutine that writes the line calls the handler's Enabled.
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

// add queues a line, or drops the line, and reports whether the caller may wait.
func (q *safeLines) add(l safeLine) (written <-chan struct{}, waits bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queue) == maxLines {
		q.dropped++
		return nil, false
	}
	q.queue = append(q.queue, l)
	if !q.writing {
		q.writing = true
		go q.write()
	}
	return l.written, !q.hanging
}

// write writes the lines of the queue.
func (q *safeLines) write() {
	pprof.SetGoroutineLabels(context.Background()) // drops the labels of the caller's request
	for l, dropped, ok := q.next(); ok; l, dropped, ok = q.next() {
		q.call(l, dropped)
	}
}

// next takes the oldest line out of the queue. When the queue is empty, the goroutine must end.
func (q *safeLines) next() (l safeLine, dropped int, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queue) == 0 {
		q.queue, q.writing = nil, false
		return l, 0, false
	}
	l, dropped = q.queue[0], q.dropped
	q.queue, q.dropped = q.queue[1:], 0
	return l, dropped, true
}

// call gives a line to the program's handler. If that panics or ends the goroutine, the line drops.
func (q *safeLines) call(l safeLine, dropped int) {
	lost := dropped + 1
	defer func() {
		if recover() == nil && lost > 0 { // the handler called runtime.Goexit
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
