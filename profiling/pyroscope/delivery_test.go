package pyroscope

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/grafana/pyroscope-go/upstream"
)

// A testLog keeps what is logged, for a test to count lines. It may be used concurrently.
type testLog struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *testLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *testLog) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// want fails unless the lines have these texts, one each.
func (l *testLog) want(t *testing.T, texts ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := strings.FieldsFunc(l.buf.String(), func(r rune) bool { return r == '\n' })
	bad := len(lines) != len(texts)
	for i := range min(len(lines), len(texts)) {
		bad = bad || !strings.Contains(lines[i], texts[i])
	}
	if bad {
		t.Errorf("log:\n%s\nwant %d lines with %q", l.buf.String(), len(texts), texts)
	}
}

// wantStats fails unless each profile is counted once and the counts are these.
func wantStats(t *testing.T, got, want Stats) {
	t.Helper()
	if got.Accepted != got.Sent+got.Refused+got.Unanswered+got.Overflow+got.Pending {
		t.Errorf("%+v do not add up", got)
	}
	if got != want {
		t.Errorf("counts are %+v, want %+v", got, want)
	}
}

// A fake is a server whose answers the test decides.
type fake struct {
	t   *testing.T
	d   *delivery
	log testLog

	mu     sync.Mutex
	answer func(ctx context.Context, n int) result
	got    []string
	at     []time.Time
}

func newFake(t *testing.T, limit int, answer func(ctx context.Context, n int) result) *fake {
	f := &fake{t: t, answer: answer}
	f.d = newDelivery(limit, newReport(Config{ServerAddress: "http://server", Logger: f.log.logger()}), func(ctx context.Context, u *upload) result {
		f.mu.Lock()
		f.got, f.at = append(f.got, string(u.job.Profile)), append(f.at, time.Now())
		n, answer := len(f.at), f.answer
		f.mu.Unlock()
		return answer(ctx, n)
	})
	go func() {
		defer close(f.d.done)
		f.d.run()
	}()
	return f
}

func (f *fake) set(answer func(context.Context, int) result) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
}

func (f *fake) add(profiles ...string) {
	for _, p := range profiles {
		f.d.add(&upload{kind: "cpu", job: upstream.UploadJob{Profile: []byte(p)}})
	}
}

// flush tells of all that was lost so far.
func (f *fake) flush(ctx context.Context) error { return f.d.flush(ctx, 0) }

func (f *fake) close(ctx context.Context) error {
	err := f.d.close(ctx)
	select {
	case <-f.d.done:
	default:
		f.t.Error("closed, and still running")
	}
	return err
}

func (f *fake) wantGot(want string) {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if got := strings.Join(f.got, " "); got != want {
		f.t.Errorf("the server got %q, want %q", got, want)
	}
}

// always is a server with one answer.
func always(r result) func(context.Context, int) result {
	return func(context.Context, int) result { return r }
}

var (
	fine         = always(result{outcome: sent})
	away         = always(result{outcome: retryable, err: errors.New("connection refused")})
	slow         = always(result{outcome: unanswered, err: errors.New("timeout")})
	unauthorized = always(result{outcome: refused, err: errors.New("401")})
	invalid      = always(result{outcome: refused, profile: true, err: errors.New("422")})
)

// hang answers when the delivery gives up.
func hang(ctx context.Context, _ int) result {
	<-ctx.Done()
	return result{outcome: cancelled, err: ctx.Err()}
}

func TestDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 100, fine)
		f.add("a", "bb", "c")
		if err := f.flush(t.Context()); err != nil {
			t.Error(err)
		}
		f.wantGot("a bb c")
		wantStats(t, f.d.counts(), Stats{Accepted: 3, Sent: 3})
		f.add("d")
		if err := f.close(t.Context()); err != nil {
			t.Error(err)
		}
		f.wantGot("a bb c d")
		wantStats(t, f.d.counts(), Stats{Accepted: 4, Sent: 4})
		f.log.want(t)
	})
}

// While the server is away, attempts come after pauses that double up to 30 s, with some
// chance; when it is back all that waits is delivered in order.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 100, away)
		f.add("a")
		time.Sleep(5 * time.Minute) // of the bubble's clock
		f.mu.Lock()
		pause := minPause
		for i := 1; i < len(f.at); i++ {
			if got := f.at[i].Sub(f.at[i-1]); got < pause/2 || got > pause {
				t.Errorf("attempt %d comes after %v, want between %v and %v", i, got, pause/2, pause)
			}
			pause = min(2*pause, maxPause)
		}
		n := len(f.at)
		f.mu.Unlock()
		if pause != maxPause {
			t.Errorf("%d attempts in 5 minutes", n)
		}
		f.add("b", "c")
		f.set(fine)
		time.Sleep(maxPause)
		f.wantGot(strings.Repeat("a ", n) + "a b c")
		wantStats(t, f.d.counts(), Stats{Accepted: 3, Sent: 3, Retries: uint64(n)})
		f.log.want(t, `profiles are not delivered; the program is not affected, what does not fit the queue is dropped and counted" to=http://server error="connection refused"`,
			`profiles are delivered again" to=http://server lost=0`)

		// The next time the pauses begin anew.
		f.set(away)
		f.add("d")
		time.Sleep(minPause)
		f.set(fine)
		time.Sleep(2 * minPause)
		wantStats(t, f.d.counts(), Stats{Accepted: 4, Sent: 4, Retries: f.d.counts().Retries})
		if err := f.close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Jitter must keep services that lost their server together from coming back together.
func TestPausesDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := map[time.Duration]bool{}
		for range 8 {
			f := newFake(t, 100, away)
			f.add("a")
			time.Sleep(minPause)
			f.mu.Lock()
			seen[f.at[1].Sub(f.at[0])] = true
			f.mu.Unlock()
			f.set(fine)
			_ = f.close(t.Context())
		}
		if len(seen) < 2 {
			t.Errorf("8 deliveries all waited %v", seen)
		}
	})
}

// A pause that the server asks for is kept.
func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 100, func(_ context.Context, n int) result {
			if n == 1 {
				return result{outcome: retryable, after: 2 * time.Minute, err: errors.New("429")}
			}
			return result{outcome: sent}
		})
		began := time.Now()
		f.add("a")
		time.Sleep(3 * time.Minute)
		f.mu.Lock()
		if got := f.at[1].Sub(began); got != 2*time.Minute {
			t.Errorf("sent again after %v, want 2m0s", got)
		}
		f.mu.Unlock()
		_ = f.close(t.Context())
		f.log.want(t, "profiles are not delivered", "delivered again")
	})
}

// Flush does not wait for what comes after it.
// Flush says what of it was lost, and ends with its context.
// Flush does not wait for a server that is away; what waits for that goes on waiting.
// The queue is bounded by bytes: the oldest make room, but for the one under way.
func TestOverflow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan result)
		f := newFake(t, 10, func(context.Context, int) result { return <-release })
		f.add("aaaa")
		synctest.Wait() // it is under way
		f.add("bbb", "ccc")
		wantStats(t, f.d.counts(), Stats{Accepted: 3, Pending: 3, PendingBytes: 10})
		f.add("d") // instead of bbb
		wantStats(t, f.d.counts(), Stats{Accepted: 4, Overflow: 1, Pending: 3, PendingBytes: 8})
		f.add("eeeeeee") // never fits while aaaa is there: nothing is dropped for it
		wantStats(t, f.d.counts(), Stats{Accepted: 5, Overflow: 2, Pending: 3, PendingBytes: 8})
		release <- result{outcome: retryable, err: errors.New("503")}
		synctest.Wait()
		f.add("ffffffff") // aaaa waits for its next attempt and makes room, as ccc and d do
		wantStats(t, f.d.counts(), Stats{Accepted: 6, Overflow: 4, Pending: 2, PendingBytes: 9})
		f.add(strings.Repeat("g", 11))
		wantStats(t, f.d.counts(), Stats{Accepted: 7, Overflow: 5, Pending: 2, PendingBytes: 9})
		go func() {
			for range 2 {
				release <- result{outcome: sent}
			}
		}()
		if err := f.d.flush(t.Context(), f.d.counts().gone()); err != nil {
			t.Error(err)
		}
		f.wantGot("aaaa d ffffffff")
		wantStats(t, f.d.counts(), Stats{Accepted: 7, Sent: 2, Overflow: 5})
		_ = f.close(t.Context())
		f.log.want(t, "not delivered", "larger than QueueSize", "delivered again\" to=http://server lost=3")
	})
}

// However long the server is away, what waits is bounded.
func TestMemoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1000, away)
		for i := range 5000 {
			f.add(strings.Repeat("x", 1+i%300))
			if i%100 == 0 {
				time.Sleep(time.Second)
			}
			if s := f.d.counts(); s.PendingBytes > 1000 || cap(f.d.queue) > 4000 {
				t.Fatalf("%d bytes and a queue of %d after %d profiles", s.PendingBytes, cap(f.d.queue), i)
			}
		}
		f.set(fine)
		_ = f.close(t.Context())
		s := f.d.counts()
		wantStats(t, s, Stats{Accepted: 5000, Sent: s.Sent, Overflow: 5000 - s.Sent, Retries: s.Retries})
	})
}

// What the server says decides what becomes of a profile, and is said once.
func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer func(context.Context, int) result
		want   Stats
		lines  []string
	}{
		{"unanswered", slow, Stats{Accepted: 4, Sent: 1, Unanswered: 3}, []string{"profiles are not delivered; .* error=timeout", "delivered again.* lost=3"}},
		{"who sends is refused", unauthorized, Stats{Accepted: 4, Sent: 1, Refused: 3}, []string{"profiles are refused, .* error=401", "delivered again.* lost=3"}},
		{"the profile is refused", invalid, Stats{Accepted: 4, Sent: 1, Refused: 3}, []string{"a profile is refused.* kind=cpu .* error=422", "taken again.* kind=cpu .* refused=3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, 100, c.answer)
				f.add("a", "b", "c")
				synctest.Wait()
				f.set(fine)
				f.add("d")
				if err := f.close(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "pyroscope: 3 of 4 profiles did not reach http://server: 3 ") {
					t.Error(err)
				}
				f.wantGot("a b c d")
				wantStats(t, f.d.counts(), c.want)
				for i := range c.lines {
					// Of each line its first part; the rest is looked for below.
					first, rest, _ := strings.Cut(c.lines[i], ".*")
					c.lines[i] = first
					for part := range strings.SplitSeq(rest, ".*") {
						if !strings.Contains(f.log.buf.String(), strings.TrimSpace(part)) {
							t.Errorf("log %s lacks %q", f.log.buf.String(), part)
						}
					}
				}
				f.log.want(t, c.lines...)
			})
		})
	}
}

// A profile that the server cannot take for now, which may be its own fault, holds up the
// others for some attempts only. Success in between is nothing to log.
func TestTriesOfAProfile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 100, func(_ context.Context, n int) result {
			if n == 4 || n > 5+profileTries {
				return result{outcome: sent}
			}
			return result{outcome: retryable, profile: true, err: errors.New("422 push rate limit")}
		})
		f.add("a", "b", "c")
		time.Sleep(time.Minute)
		f.wantGot("a a a a b b b b b c c")
		wantStats(t, f.d.counts(), Stats{Accepted: 3, Sent: 2, Refused: 1, Retries: 8})
		_ = f.close(t.Context())
		f.log.want(t, "a profile is refused", "taken again")
	})
}

// A profile that the server fails at lets the others go first after some attempts; when it
// fails again, though they did not, it is given up.
func TestOneProfileFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f *fake
		f = newFake(t, 100, func(_ context.Context, n int) result {
			if f.got[n-1] == "bad" {
				return result{outcome: retryable, suspect: true, err: errors.New("500")}
			}
			return result{outcome: sent}
		})
		f.add("a", "bad", "b", "c")
		time.Sleep(time.Minute)
		f.wantGot("a bad bad bad bad bad b c bad")
		wantStats(t, f.d.counts(), Stats{Accepted: 4, Sent: 3, Refused: 1, Retries: 5})
		if err := f.close(t.Context()); err == nil || err.Error() != "pyroscope: 1 of 4 profiles did not reach http://server: 1 refused: 500" {
			t.Error(err)
		}
		f.log.want(t, "not delivered", "delivered again", "a profile is refused")
	})
}

// A server that comes and goes does not cost the profile that met it away, however often,
// and though others got through.
func TestConnectionFailsOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f *fake
		f = newFake(t, 100, func(_ context.Context, n int) result {
			if f.got[n-1] == "unlucky" && n < 20 {
				return result{outcome: retryable, err: errors.New("connection refused")}
			}
			return result{outcome: sent}
		})
		f.add("unlucky", "a", "b")
		time.Sleep(10 * time.Minute)
		wantStats(t, f.d.counts(), Stats{Accepted: 3, Sent: 3, Retries: f.d.counts().Retries})
		if err := f.close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// While nothing gets through, profiles take turns, and the oldest is given up for want of
// room, wherever it is in the queue.
func TestOverflowWhileAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 3, away)
		f.add("a", "b", "c")
		for n := range 100 { // until a was tried so often that b is next
			if time.Sleep(time.Second); n > 0 && f.last() == "b" {
				break
			}
		}
		synctest.Wait()
		f.add("d")
		f.set(fine)
		time.Sleep(time.Minute)
		_ = f.close(t.Context())
		if got := f.d.counts(); got.Sent != 3 || got.Overflow != 1 || got.Refused != 0 {
			t.Errorf("counts are %+v", got)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if sent := f.got[len(f.got)-3:]; slices.Contains(sent, "a") {
			t.Errorf("sent are %q, want the newest", sent)
		}
	})
}

// last is what the server was sent last.
func (f *fake) last() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.got[len(f.got)-1]
}

// A kind that is refused does not hide that another is, nor that the server goes away.
func TestReportByKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 100, invalid)
		f.add("a")
		f.d.add(&upload{kind: "heap"})
		synctest.Wait()
		f.set(away)
		f.add("b")
		synctest.Wait()
		f.set(fine)
		_ = f.close(t.Context())
		f.log.want(t, "a profile is refused and dropped; so may be those like it, which are counted\" kind=cpu", "kind=heap", "not delivered", "delivered again", "taken again\" kind=cpu")
	})
}

// Closing, the server gets a few attempts at once; then what waits is given up.
// When the context of closing is over, what is under way is cancelled, and counted as what
// it became.
// Flush while another shuts down ends, with what there is to say.
