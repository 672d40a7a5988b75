package profiling

import (
	"context"
	"log/slog"
	"runtime/pprof"
	"sync"
	"time"
)

const (
	maxLines   = 32 // that wait for the program's log handler
	maxReasons = 8  // that logOnce tells apart
)

// A logQueue writes lines to slog's default handler on a goroutine that nothing waits for: the
// handler is the program's code, and may block. The goroutine runs while there are lines. When
// the queue is full, lines are dropped; the next line says how many.
type logQueue struct {
	mu      sync.Mutex // guards what follows
	lines   []slog.Record
	dropped int
	writing bool
	reasons map[string]bool // of logOnce
}

func (q *logQueue) log(level slog.Level, message string, attrs ...slog.Attr) {
	r := slog.NewRecord(time.Now(), level, message, 0)
	r.AddAttrs(attrs...)
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.lines) == maxLines {
		q.dropped++
		return
	}
	q.lines = append(q.lines, r)
	if !q.writing {
		q.writing = true
		go q.write()
	}
}

// logOnce logs a message once for each reason, of which it remembers maxReasons.
func (q *logQueue) logOnce(level slog.Level, message, reason string, attrs ...slog.Attr) {
	key := message + "\x00" + reason
	q.mu.Lock()
	said := q.reasons[key] || len(q.reasons) == maxReasons
	if !said {
		if q.reasons == nil {
			q.reasons = map[string]bool{}
		}
		q.reasons[key] = true
	}
	q.mu.Unlock()
	if !said {
		q.log(level, message, append([]slog.Attr{slog.String("reason", reason)}, attrs...)...)
	}
}

func (q *logQueue) write() {
	pprof.SetGoroutineLabels(context.Background()) // the hub's caller's labels are not ours
	returned := false
	defer func() {
		if !returned { // the handler called runtime.Goexit
			go q.write()
		}
	}()
	for {
		r, ok := q.next()
		if !ok {
			break
		}
		q.handle(r)
	}
	returned = true
}

// next takes the oldest line out of the queue. When there is none, the goroutine must end.
func (q *logQueue) next() (r slog.Record, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.lines) == 0 {
		q.lines, q.writing = nil, false
		return r, false
	}
	r, q.lines = q.lines[0], q.lines[1:]
	if q.dropped > 0 {
		r.AddAttrs(slog.Int("dropped_lines", q.dropped))
		q.dropped = 0
	}
	return r, true
}

// handle counts a line as dropped when the handler panics or exits.
func (q *logQueue) handle(r slog.Record) {
	handled := false
	defer func() {
		_ = recover()
		if !handled {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.dropped++
		}
	}()
	h, ctx := slog.Default().Handler(), context.Background()
	if h.Enabled(ctx, r.Level) {
		_ = h.Handle(ctx, r) // as slog does
	}
	handled = true
}
