package record

import (
	"context"
	"log/slog"
	"runtime/debug"
)

// Try calls f, a function of the program: a callback, a sampler, or an output. Try returns false if
// f panicked. If f calls [runtime.Goexit], the goroutine ends, and Try does not return.
// [Timeline.Panics] counts both failures. Try logs the first failure of each kind of function. The
// parameter what is a name for the kind of f. Use few different kinds, because Try stores each
// kind.
func (t *Timeline) Try(what string, f func()) (ok bool) { return t.root.try(what, f) }

// Panics returns the number of failed calls of the program's functions. A call fails if the
// function panics or calls [runtime.Goexit]. The number includes calls by t's units.
func (t *Timeline) Panics() uint64 { return t.root.panics.Load() }

func (r *root) try(what string, f func()) (ok bool) {
	defer func() {
		if ok {
			return
		}
		p := recover()
		r.panics.Add(1)
		if _, known := r.panicked.LoadOrStore(what, true); !known {
			r.report(Unwaited(r.logger), p,
				"perfline: code of the program panicked or ended its goroutine; perfline goes on, counts it, and is silent about the next ones", "in", what)
		}
	}()
	f()
	return true
}

// report logs a panic or a Goexit of the program's code, on a new timeline: if logs become marks,
// an observer of marks would be called for the line, and panic again.
func (r *root) report(to *slog.Logger, p any, message string, attrs ...any) {
	if p == nil {
		attrs = append(attrs, "panic", GoexitText)
	} else {
		attrs = append(attrs, "panic", PanicValue(p), "stack", string(debug.Stack()))
	}
	to.ErrorContext(NewContext(context.Background(), NewTimeline(TimelineOptions{BufferSize: -1})),
		message, attrs...)
}

// PanicValue returns a value for a log line of a [SafeLogger]. The logger prints the value as the
// text of the panic value p: see [PanicText].
func PanicValue(p any) slog.LogValuer { return panicValue{p} }

// A panicValue is printed by the goroutine that writes the line: its methods are the program's.
type panicValue struct{ v any }

// LogValue returns the text of the panic value.
func (p panicValue) LogValue() slog.Value { return slog.StringValue(PanicText(p.v)) }
