package pyroscope

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestFlushTriesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 100, away)
		f.add("a")
		time.Sleep(time.Minute)
		synctest.Wait()
		f.set(fine)
		began := time.Now()
		if err := f.flush(t.Context()); err != nil {
			t.Error(err)
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("Flush waited %v for a server that is there", waited)
		}
		// It has nothing to do with pauses to come.
		if err := f.flush(t.Context()); err != nil {
			t.Error(err)
		}
		f.set(away)
		f.add("b")
		synctest.Wait()
		time.Sleep(minPause/2 - 1)
		synctest.Wait()
		if strings.Contains(strings.Join(f.got, ""), "bb") {
			t.Errorf("b was sent again before %v were over", minPause/2)
		}
		f.set(fine)
		_ = f.close(t.Context())
	})
}

func TestFlushOfWhatWasThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		f := newFake(t, 100, func(context.Context, int) result {
			<-release
			return result{outcome: sent}
		})
		f.add("a")
		flushed := make(chan error)
		go func() { flushed <- f.flush(t.Context()) }()
		synctest.Wait()
		f.add("b", "c")
		release <- struct{}{}
		if err := <-flushed; err != nil {
			t.Error(err)
		}
		wantStats(t, f.d.counts(), Stats{Accepted: 3, Sent: 1, Pending: 2, PendingBytes: 2})
		close(release)
		_ = f.close(t.Context())
	})
}

func TestFlushErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 100, invalid)
		f.add("a", "b")
		if err := f.flush(t.Context()); err == nil || err.Error() != "pyroscope: 2 profiles not delivered to http://server: 422" {
			t.Errorf("error %v", err)
		}
		f.set(away)
		f.add("c")
		ctx, cancel := context.WithTimeoutCause(t.Context(), minPause/4, errors.New("enough"))
		defer cancel()
		if err := f.flush(ctx); err == nil || err.Error() != "pyroscope: flushing to http://server: enough" {
			t.Errorf("error %v", err)
		}
		f.set(fine)
		_ = f.close(t.Context())
		wantStats(t, f.d.counts(), Stats{Accepted: 3, Sent: 1, Refused: 2, Retries: f.d.counts().Retries})
	})
}

func TestFlushGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 100, away)
		f.add("a")
		time.Sleep(time.Hour) // attempts of before do not count
		began := time.Now()
		if err := f.flush(t.Context()); err == nil || err.Error() != "pyroscope: 1 profiles wait for http://server, which did not take one in 3 attempts: connection refused" {
			t.Errorf("error %v", err)
		}
		if took := time.Since(began); took < minPause || took > 4*minPause {
			t.Errorf("it took %v", took)
		}
		f.set(fine)
		time.Sleep(time.Minute)
		wantStats(t, f.d.counts(), Stats{Accepted: 1, Sent: 1, Retries: f.d.counts().Retries})
		f.set(func(_ context.Context, n int) result { // every other attempt fails: it goes on
			if n%2 == 0 {
				return result{outcome: sent}
			}
			return result{outcome: retryable, err: errors.New("503")}
		})
		f.add("b", "c", "d", "e", "f")
		if err := f.flush(t.Context()); err != nil {
			t.Error(err)
		}
		_ = f.close(t.Context())
	})
}

func TestCloseGivesUp(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer func(context.Context, int) result
		within time.Duration
		want   Stats
		err    string
	}{
		{"away", away, 4 * minPause, Stats{Accepted: 5, Pending: 5, PendingBytes: 5}, "pyroscope: 5 of 5 profiles did not reach http://server: 5 given up: connection refused"},
		{"slow", slow, 0, Stats{Accepted: 5, Unanswered: 3, Pending: 2, PendingBytes: 2}, "pyroscope: 5 of 5 profiles did not reach http://server: 3 not answered, 2 given up: timeout"},
		{"refusing", unauthorized, 0, Stats{Accepted: 5, Refused: 3, Pending: 2, PendingBytes: 2}, "pyroscope: 5 of 5 profiles did not reach http://server: 3 refused, 2 given up: 401"},
		{"asking for time", always(result{outcome: retryable, after: maxRetryAfter, err: errors.New("429")}), 2 * maxPause, Stats{Accepted: 5, Pending: 5, PendingBytes: 5}, "pyroscope: 5 of 5 profiles did not reach http://server: 5 given up: 429"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, 100, away)
				f.add("a")
				time.Sleep(5 * time.Minute) // pauses are long by now
				synctest.Wait()
				tries := len(f.got)
				f.set(c.answer)
				f.add("b", "c", "d", "e")
				began := time.Now()
				if err := f.close(t.Context()); fmt.Sprint(err) != c.err {
					t.Errorf("error %v, want %s", err, c.err)
				}
				if took := time.Since(began); took > c.within {
					t.Errorf("took %v, want at most %v", took, c.within)
				}
				if got := len(f.got) - tries; got != lastTries {
					t.Errorf("%d attempts, want %d", got, lastTries)
				}
				c.want.Retries = f.d.counts().Retries
				wantStats(t, f.d.counts(), c.want)
			})
		})
	}
}

func TestCloseWhileHanging(t *testing.T) {
	for _, c := range []struct {
		name    string
		outcome outcome
		waits   string
		want    Stats
		err     string
	}{
		{"not sent", cancelled, "b", Stats{Accepted: 2, Pending: 2, PendingBytes: 2}, "2 of 2 profiles did not reach http://server: 2 given up: the context of Shutdown: context deadline exceeded"},
		{"the last", unanswered, "", Stats{Accepted: 1, Unanswered: 1}, "1 of 1 profiles did not reach http://server: 1 not answered: the context of Shutdown: context deadline exceeded"},
		{"sent", unanswered, "b", Stats{Accepted: 2, Unanswered: 1, Pending: 1, PendingBytes: 1}, "2 of 2 profiles did not reach http://server: 1 not answered, 1 given up: the context of Shutdown: context deadline exceeded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, 100, func(ctx context.Context, n int) result {
					r := hang(ctx, n)
					r.outcome = c.outcome
					return r
				})
				f.add("a")
				if c.waits != "" {
					f.add(c.waits)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				began := time.Now()
				if err := f.close(ctx); err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want %s", err, c.err)
				}
				if took := time.Since(began); took != 3*time.Second {
					t.Errorf("took %v, want 3s", took)
				}
				wantStats(t, f.d.counts(), c.want)
			})
		})
	}
}

func TestFlushWhileClosing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 100, away)
		f.add("a")
		got := make(chan error)
		go func() { got <- f.flush(context.Background()) }()
		synctest.Wait()
		_ = f.close(t.Context())
		if err := <-got; err == nil || !strings.Contains(err.Error(), "it was shut down") {
			t.Errorf("error %v", err)
		}
	})
}
