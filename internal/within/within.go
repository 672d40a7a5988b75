// Package within calls code that a program gives to perfline, where its end matters: exporters,
// processors, readers and recorders that are flushed or shut down. Such code may panic, hang, or
// end its goroutine. Nothing of that ends the program, or holds up a caller for longer than its
// context says. [record.Timeline.Try] calls the code that runs at each request.
package within

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/perfline/perfline/internal/record"
)

// Grace is how long one part goes on after its context has ended: code that reacts to the end of a
// context needs a moment to return its error. What is made of parts takes twice or three times as
// long, so that it has their errors. The whole takes less than a second.
const Grace = 300 * time.Millisecond

// Bounded returns ctx with a deadline after d, unless ctx has one already.
func Bounded(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, d)
}

// late is what a part has that is called when the run is over, because another one hung: most parts
// have nothing to do then.
const late = 10 * time.Millisecond

// ErrAbandoned is in the error of a call that was left behind.
var ErrAbandoned = errors.New("does not return and is left behind")

// call calls f. It returns an error that begins with what if f panics.
func call(ctx context.Context, what string, f func(context.Context) error) (err error) {
	if p, ok := record.Protect(func() { err = f(ctx) }); !ok {
		return fmt.Errorf("%s panicked: %s", what, record.PanicText(p))
	}
	return err
}

// apart is call on a goroutine of its own. The channel gets one error, also if f ends that
// goroutine.
func apart(ctx context.Context, what string, f func(context.Context) error) <-chan error {
	done := make(chan error, 1)
	go func() {
		err := fmt.Errorf("%s ended its goroutine", what)
		defer func() { done <- err }()
		err = call(ctx, what, f)
	}()
	return done
}

// A Run makes calls that together end shortly after a context, whatever they do.
type Run struct {
	ctx   context.Context //nolint:containedctx // a Run is as short as the call that has the context
	over  context.Context //nolint:containedctx // ends some time after ctx
	end   context.CancelFunc
	stop  func() bool
	calls sync.WaitGroup // of Go

	mu  sync.Mutex // guards what follows
	err error
}

// Begin begins a run within ctx and a grace after that. The caller has to call [Run.End].
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

// Do calls f with the run's context on a goroutine of its own, and waits until it returns or the
// run is over. What f returns is joined with the error of the run; so are a panic and the end of
// the goroutine. An f that goes on is left behind, with [ErrAbandoned]. These errors begin with
// what.
func (r *Run) Do(what string, f func(context.Context) error) {
	err := r.wait(what, apart(r.ctx, what, f))
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
	moment := time.NewTimer(late)
	defer moment.Stop()
	select {
	case err := <-done:
		return err
	case <-moment.C:
		return fmt.Errorf("%s %w: %w", what, ErrAbandoned, context.Cause(r.ctx))
	}
}

// Go is [Run.Do] on a goroutine of its own. Wait and End wait for it.
func (r *Run) Go(what string, f func(context.Context) error) {
	r.calls.Go(func() { r.Do(what, f) })
}

// Wait waits for the calls of Go.
func (r *Run) Wait() { r.calls.Wait() }

// End waits for the calls, and returns all their errors.
func (r *Run) End() error {
	r.calls.Wait()
	r.stop()
	r.end()
	return r.err
}

// A Once makes one call of several, as a Shutdown has to. The zero value is ready.
type Once struct {
	once sync.Once
	done chan struct{} // closed when the call is over
	err  error         // of the call, once done is closed
}

// Do calls f with ctx the first time. Later calls wait for that one. Each caller waits within its
// own ctx and the grace after it, and gets the error of f, or one that says that f goes on. A call
// with the context that f got, which comes from within f, returns nil at once: f cannot wait for
// itself.
func (o *Once) Do(ctx context.Context, grace time.Duration, what string,
	f func(context.Context) error) error {
	if ctx.Value(inside{o}) != nil {
		return nil
	}
	o.once.Do(func() {
		o.done = make(chan struct{})
		err := apart(context.WithValue(ctx, inside{o}, true), what, f)
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

// inside is the key of the contexts that the function of a Once gets.
type inside struct{ once *Once }
