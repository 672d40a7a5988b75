package record

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// programCode counts what happened in the program's code: callbacks, samplers, outputs and whatever else a program gives to perfline.
type programCode struct {
	panics atomic.Uint64
	logged sync.Map // a string for each kind of code that has had its line
}

// Try calls f, which is code of the program, or calls nothing else that may panic. It returns false if f panicked, or ended its goroutine: that is
// counted in [Timeline.Panics], and the first time for each kind of code it is logged. what names the kind; there are few. Try does not stop
// [runtime.Goexit]: the caller's deferred functions run next.
func (t *Timeline) Try(what string, f func()) (ok bool) { return t.root.try(what, f) }

// Panics returns how many calls of the program's code have panicked or ended their goroutine, in the process timeline and all its units.
func (t *Timeline) Panics() uint64 { return t.root.code.panics.Load() }

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
		attrs = append(attrs, "panic", PanicValue(p), "stack", string(debug.Stack()))
	}
	to.ErrorContext(NewContext(context.Background(), NewTimeline(TimelineOptions{BufferSize: -1})), message, attrs...)
}

// PanicValue returns the value of a panic for a line of a [SafeLogger].
func PanicValue(p any) slog.LogValuer { return panicValue{p} }

// A panicValue is printed when its line is written, on a goroutine that nobody waits for: its methods are the program's code.
type panicValue struct{ v any }

// LogValue implements [slog.LogValuer].
func (p panicValue) LogValue() slog.Value { return slog.StringValue(PanicText(p.v)) }
