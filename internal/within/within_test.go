package within_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/internal/within"
)

var errOwn = errors.New("own")

// ends are ways in which a call ends, or does not. Each error has its text; the call that hangs does so until stop is closed.
func ends(stop <-chan struct{}) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"":                         func(context.Context) error { return nil },
		"own":                      func(context.Context) error { return errOwn },
		"part panicked: v":         func(context.Context) error { panic("v") },
		"part ended its goroutine": func(context.Context) error { runtime.Goexit(); return nil },
		"part does not return and is left behind: context deadline exceeded": func(context.Context) error { <-stop; return nil },
		"context deadline exceeded": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	}
}

// Whatever a part does, a run ends within its context and the grace, and says what happened.
func TestRun(t *testing.T) {
	const given, grace = time.Second, 300 * time.Millisecond
	for want := range ends(nil) {
		for _, beside := range []bool{false, true} {
			t.Run(want, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					stop := make(chan struct{})
					defer close(stop)
					ctx, cancel := context.WithTimeout(t.Context(), given)
					defer cancel()
					began := time.Now()
					r := within.Begin(ctx, grace)
					if beside {
						r.Go("part", ends(stop)[want])
						r.Wait()
					} else {
						r.Do("part", ends(stop)[want])
					}
					r.Do("another", func(context.Context) error { return nil })
					err := r.End()
					if got := textOf(err); got != want {
						t.Errorf("the error is %q, want %q", got, want)
					}
					if took := time.Since(began); took > given+grace+10*time.Millisecond {
						t.Errorf("it took %v, want %v at most", took, given+grace)
					}
					if left := strings.Contains(want, "left behind"); errors.Is(err, within.ErrAbandoned) != left {
						t.Errorf("abandoned is %v, want %v", !left, left)
					}
				})
			})
		}
	}
}

// A run whose context has ended before calls its parts nevertheless, and gives them the grace.
func TestRunThatIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := within.Begin(ctx, time.Second)
		called := false
		r.Do("part", func(context.Context) error {
			time.Sleep(999 * time.Millisecond)
			called = true
			return nil
		})
		if err := r.End(); err != nil || !called {
			t.Errorf("called: %v, with error %v", called, err)
		}
	})
}

// The first caller's call is the only one. Each caller has its own time, and the same result.
func TestOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var once within.Once
		calls := 0
		stop := func(context.Context) error {
			calls++
			time.Sleep(time.Second)
			return errOwn
		}
		result := func(d time.Duration) <-chan error {
			got := make(chan error, 1)
			go func() {
				ctx, cancel := context.WithTimeout(context.Background(), d)
				defer cancel()
				got <- once.Do(ctx, 100*time.Millisecond, "stop", stop)
			}()
			synctest.Wait()
			return got
		}
		first, patient, hasty := result(10*time.Second), result(10*time.Second), result(10*time.Millisecond)
		time.Sleep(125 * time.Millisecond)
		synctest.Wait()
		select {
		case err := <-hasty:
			if !errors.Is(err, within.ErrAbandoned) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a caller without time gets %v", err)
			}
		default:
			t.Error("a caller without time still waits")
		}
		if a, b := <-first, <-patient; !errors.Is(a, errOwn) || !errors.Is(b, errOwn) {
			t.Errorf("the callers get %v and %v, want the result", a, b)
		}
		if err := <-result(time.Second); !errors.Is(err, errOwn) {
			t.Errorf("a later caller gets %v, want the result", err)
		}
		if calls != 1 {
			t.Errorf("%d calls", calls)
		}
	})
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
