package marks

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/perfline/perfline/internal/record"
)

// TimerifyOptions configure the measures of [Timerify].
type TimerifyOptions struct {
	// Attrs are added to every measure. Timerify freezes Attrs by the rules of package observer.
	Attrs []slog.Attr

	// Histogram, if set, receives the duration of each call, even if the measure is not recorded.
	// The context is the context of f. Therefore exemplars refer to the measure's span. Histogram
	// runs on the caller's goroutine after the end of the measure, and must not block. This
	// function records into a histogram of OpenTelemetry, in seconds:
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
// The returned function calls [Start], and passes the new context to f. Measures and spans under
// this context are children of the measure. If f returns an error, the returned function returns
// the same error. The attribute "error" of the measure then contains the error's text. A panic of f
// continues with the original stack. After a panic or a [runtime.Goexit], the attribute "panic" of
// the measure is true.
//
// The returned function may be called concurrently if f may be called concurrently. Timerify panics
// if f is nil.
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
