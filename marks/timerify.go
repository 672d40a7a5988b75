package marks

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/perfline/perfline/internal/record"
)

// TimerifyOptions configure [Timerify].
type TimerifyOptions struct {
	// Attrs are attributes of every measure. Timerify freezes them: see package observer.
	Attrs []slog.Attr

	// Histogram, when set, gets the duration of each call, also of calls whose measure nothing
	// wants. The context is that of f, so that exemplars lead to the measure's span. Histogram runs
	// on the caller's goroutine after the end of the measure, and must not block. With a histogram
	// of OpenTelemetry, in seconds:
	//
	//	func(ctx context.Context, took time.Duration) { histogram.Record(ctx, took.Seconds()) }
	Histogram func(ctx context.Context, took time.Duration)
}

// Timerify returns a function that calls f and records each call as a measure (Node.js,
// performance.timerify()):
//
//	load := marks.Timerify("user.load", db.loadUser, marks.TimerifyOptions{})
//	user, err := load(ctx, id)
//
// f gets the context of a [Start]: measures and spans under the context are children of the
// measure. The function returns f's error, and the measure gets the error's text as the attribute
// "error". A panic of f continues with its stack. After a panic or a [runtime.Goexit], the measure
// has the attribute "panic", true.
//
// The function may be called concurrently if f may. Timerify panics if f is nil.
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
		defer func() { // without recover: a panic continues with its stack
			if o.Histogram != nil {
				defer o.Histogram(ctx, tl.Now()-began) // reads the clock now, calls Histogram last
			}
			switch {
			case !returned:
				t.End(slog.Bool("panic", true))
			case err != nil:
				defer t.End() // also when the method Error calls Goexit
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
