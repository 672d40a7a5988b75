package record

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// programCode counts what happened in the program's code: callbacks of observers, clocks and schedulers of timelines.
type programCode struct {
	panics atomic.Uint64
	logged sync.Map // a string for each kind of code that has had its line
}

// Panics returns how many calls of the program's code have panicked or ended their goroutine, in the process timeline and all its units.
func (t *Timeline) Panics() uint64 { return t.root.code.panics.Load() }

// try calls f, which is code of the program. It returns false if f panicked, or ended its goroutine. That is counted in [Timeline.Panics], and logged the
// first time for each what, which names the kind of code. try does not stop [runtime.Goexit]: the caller's deferred functions run next.
func (r *root) try(what string, f func()) (ok bool) {
	defer func() {
		if !ok {
			r.failed(what, recover())
		}
	}()
	f()
	return true
}

// failed counts a call that panicked with p, or ended its goroutine if p is nil.
func (r *root) failed(what string, p any) {
	r.code.panics.Add(1)
	if _, known := r.code.logged.LoadOrStore(what, true); !known {
		r.report(Unwaited(r.logger), p, "perfline: code of the program panicked or ended its goroutine; perfline goes on, counts it, and is silent about the next ones", "in", what)
	}
}

// tryCallback calls an observer's callback, as try does. Each panic is reported (PT-7).
func (r *root) tryCallback(o *Observer, batch Batch) {
	over := false
	defer func() {
		if !over {
			p := recover()
			r.code.panics.Add(1)
			r.report(r.logger, p, "perfline: an observer's callback panicked; its entries are lost, other observers go on", "entries", len(batch.Entries))
		}
	}()
	o.callback(batch)
	over = true
}

// report logs what the program's code panicked with. It does so on a timeline of its own: where logs become marks, an observer of marks would be called
// for the line, and panic again.
func (r *root) report(to *slog.Logger, p any, message string, attrs ...any) {
	if p == nil {
		attrs = append(attrs, "panic", GoexitText)
	} else {
		attrs = append(attrs, "panic", panicValue{p}, "stack", string(debug.Stack()))
	}
	to.ErrorContext(NewContext(context.Background(), NewTimeline(TimelineOptions{BufferSize: -1})), message, attrs...)
}

// A panicValue is printed when its line is written, on a goroutine that nobody waits for: its methods are the program's code.
type panicValue struct{ v any }

// LogValue implements [slog.LogValuer].
func (p panicValue) LogValue() slog.Value { return slog.StringValue(PanicText(p.v)) }
