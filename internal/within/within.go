// Package within flushes and shuts down the program's exporters, processors, readers and recorders.
// The code of the program may panic, hang, or end the goroutine. Even then, the caller waits at
// most until the context ends and a grace period has passed. For code that runs at each request,
// see [record.Timeline.Try].
package within

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/perfline/perfline/internal/record"
)

// Grace is the time that a part may go on after the end of its context: code that reacts to the end
// of a context needs a moment to return its error. A whole waits two or three times as long, for
// the errors of its parts, and less than a second in all.
const Grace = 300 * time.Millisecond

// Bounded returns ctx with a deadline after d. If ctx already contains a deadline, Bounded returns
// ctx unchanged.
func Bounded(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, d)
}

// minimum is the time of a part that begins after the end of the run, because an earlier part hung.
const minimum = 10 * time.Millisecond

// ErrAbandoned is wrapped in the error of a call that does not return.
var ErrAbandoned = errors.New("does not return and is left behind")

// start calls f on a goroutine of its own. The channel receives one error, even if f panics or ends
// the goroutine.
func start(ctx context.Context, what string, f func(context.Context) error) <-chan error {
	done := make(chan error, 1)
	go func() {
		err := fmt.Errorf("%s ended its goroutine", what)
		defer func() { done <- err }()
		var result error
		if p, ok := record.Protect(func() { result = f(ctx) }); !ok {
			result = fmt.Errorf("%s panicked: %s", what, record.PanicText(p))
		}
		err = result
	}()
	return done
}

// A Run limits the time of several calls by a context and a grace period.
type Run struct {
	ctx   context.Context //nolint:containedctx // a Run lives as long as the call with the context
	over  context.Context //nolint:containedctx // ends at the end of the grace
	end   context.CancelFunc
	stop  func() bool
	calls sync.WaitGroup // of Go

	mu  sync.Mutex // guards err
	err error
}

// Begin starts a run. The run ends when ctx has ended and grace has passed. The caller must call
// [Run.End].
func Begin(ctx context.Context, grace time.Duration) *Run {
	r := &Run{ctx: ctx}
	r.over, r.end = context.WithCancel(context.WithoutCancel(ctx))
	r.stop = context.AfterFunc(ctx, func() {
		t := time.NewTimer(grace)
		defer t.Stop()
		select {
		case <-t.C:
			r.end()
		case <-r.over.Done(): // by End
		}
	})
	return r
}

// Do calls f with the context of the run, on a new goroutine. Do waits until f returns or the run
// ends. Do adds an error to the errors of the run in these cases:
//
//   - f returns an error.
//   - f panics.
//   - f ends the goroutine.
//   - f does not return before the end of the run. The error wraps [ErrAbandoned].
//
// The text of an error begins with the parameter what, except for an error that f returns.
func (r *Run) Do(what string, f func(context.Context) error) {
	err := r.wait(what, start(r.ctx, what, f))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = errors.Join(r.err, err)
}

func (r *Run) wait(what string, done <-chan error) error {
	select {
	case err := <-done:
		return err
	case <-r.over.Done():
	}
	timer := time.NewTimer(minimum)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return fmt.Errorf("%s %w: %w", what, ErrAbandoned, context.Cause(r.ctx))
	}
}

// Go calls [Run.Do] on a new goroutine.
func (r *Run) Go(what string, f func(context.Context) error) {
	r.calls.Go(func() { r.Do(what, f) })
}

// Wait waits for all calls that Go began.
func (r *Run) Wait() { r.calls.Wait() }

// End waits for all calls that Go began. End returns the joined errors of all calls.
func (r *Run) End() error {
	r.calls.Wait()
	r.stop()
	r.end()
	return r.err
}

// A Once calls a function only once, for example a Shutdown. The zero value is ready for use.
type Once struct {
	once sync.Once
	done chan struct{} // closed at the end of the call
	err  error         // of the call; valid after the close of done
}

// Do calls f with ctx at the first call of Do. Later calls of Do wait for the end of f. Each call
// returns the error of f. Do waits at most until ctx ends and grace has passed. If f still runs
// then, Do returns an error that wraps [ErrAbandoned]. If f calls Do with the context of f, Do
// returns nil at once, because f cannot wait for f.
func (o *Once) Do(ctx context.Context, grace time.Duration, what string,
	f func(context.Context) error) error {
	if ctx.Value(onceKey{o}) != nil {
		return nil
	}
	o.once.Do(func() {
		o.done = make(chan struct{})
		err := start(context.WithValue(ctx, onceKey{o}, true), what, f)
		go func() {
			defer close(o.done)
			o.err = <-err
		}()
	})
	r := Begin(ctx, grace)
	r.Do(what, func(context.Context) error {
		<-o.done
		return o.err
	})
	return r.End()
}

// A onceKey is the key in the contexts of a Once's function.
type onceKey struct{ once *Once }
