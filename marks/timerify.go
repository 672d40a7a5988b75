package marks

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/perfline/perfline/internal/record"
)

// TimerifyOptions say what Timerify does beside measuring.
type TimerifyOptions struct {
	// Attrs are attributes of every measure. Timerify freezes them: package observer has the rules.
	Attrs []slog.Attr

	// Histogram, when set, is given how long each call took, with the context that
	// f had, so that exemplars lead to the measure's span. It gets every call, also
	// those whose measure nothing wants. It runs on the caller's goroutine after the
	// measure has ended, and must not block. With one of OpenTelemetry, in seconds:
	//
	//	func(ctx context.Context, took time.Duration) { histogram.Record(ctx, took.Seconds()) }
	Histogram func(ctx context.Context, took time.Duration)
}

// Timerify returns a function that does what f does and records each call as a
// measure (Node.js, performance.timerify()):
//
//	load := marks.Timerify("user.load", db.loadUser, marks.TimerifyOptions{})
//	user, err := load(ctx, id)
//
// The context that f gets is one that Start returned: measures and spans made
// under it are the measure's children. An error that f returns is passed on, and
// its text is the measure's attribute "error". A panic goes on as if nothing were
// in its way, with its stack; the measure ends and has the attribute "panic",
// true. So it has when f ends the goroutine.
//
// The function returned may be called concurrently if f may. A nil f is a
// programmer's error: Timerify panics.
func Timerify[A, R any](name string, f func(context.Context, A) (R, error),
	o TimerifyOptions) func(context.Context, A) (R, error) {
	if f == nil {
		panic(fmt.Sprintf("marks: Timerify %q: f is nil: it needs a function to time", name))
	}
	o.Attrs = slices.Clone(record.Freeze(o.Attrs))
	return func(ctx context.Context, arg A) (result R, err error) {
		ctx, t := Start(ctx, name, o.Attrs...)
		tl := record.FromContext(ctx)
		var began time.Duration
		if o.Histogram != nil {
			began = tl.Now()
		}
		returned := false
		defer func() { // it does not recover
			if o.Histogram != nil {
				defer o.Histogram(ctx, tl.Now()-began) // the time is read here, the call made last
			}
			switch {
			case !returned:
				t.End(slog.Bool("panic", true))
			case err != nil:
				defer t.End() // also when the method Error ends the goroutine
				t.Fail(err)
			default:
				t.End()
			}
		}()
		result, err = f(ctx, arg)
		returned = true
		return result, err
	}
}
