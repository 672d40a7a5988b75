package pyroscope_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/pyroscope"
)

const tick = 15 * time.Second

// push starts a pusher in a bubble, which takes a profile of each kind every tick, unless c says how often.
func push(t *testing.T, c pyroscope.Config, n *network) profiling.Exporter {
	t.Helper()
	n.t = t
	c.HTTPClient, c.UploadInterval = &http.Client{Transport: n}, cmp.Or(c.UploadInterval, tick)
	return play(t, c, time.Now, &played{})
}

// delivered are the counts of the delivery.
func delivered(p profiling.Exporter) profiling.ExporterStats {
	s := p.Stats()
	return profiling.ExporterStats{
		Accepted: s.Accepted, Delivered: s.Delivered, Refused: s.Refused, Unanswered: s.Unanswered, Dropped: s.Dropped,
		Pending: s.Pending, PendingBytes: s.PendingBytes, Retries: s.Retries,
	}
}

// A server that was away gets the profiles of that time when it is back, oldest first.
func TestServerAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log testLog
		n := &network{answer: func(string, int) (int, string) { return away, "" }}
		p := push(t, pyroscope.Config{Logger: log.logger()}, n)
		time.Sleep(2*tick + time.Minute)
		n.mu.Lock()
		tries := len(n.got)
		n.mu.Unlock()
		n.set(200)
		time.Sleep(tick / 2)
		want := strings.Repeat("cpu ", tries) + strings.TrimSuffix(strings.Repeat("cpu heap goroutine ", 6), " ")
		if got := n.kinds(); got != want {
			t.Errorf("the server was sent %s, want %s", got, want)
		}
		wantStats(t, delivered(p), profiling.ExporterStats{Accepted: 18, Delivered: 18, Retries: uint64(tries)})
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		log.want(t, `profiles are not delivered; requests are not affected, what does not fit the queue is dropped and counted" to=http://server error="connection refused"`,
			`profiles are delivered again" to=http://server lost=0`)
	})
}

// A pause that the server asks for is kept.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &network{asks: true, answer: func(_ string, n int) (int, string) {
			if n == 1 {
				return http.StatusTooManyRequests, ""
			}
			return http.StatusOK, ""
		}}
		p := push(t, pyroscope.Config{}, n)
		time.Sleep(5 * time.Minute)
		n.mu.Lock()
		if got := n.at[1].Sub(n.at[0]); got < 2*time.Minute || got > 132*time.Second {
			t.Errorf("sent again after %v, want 2m0s and a tenth at most", got)
		}
		n.mu.Unlock()
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// However long the server is away, what waits is bounded: the oldest are dropped.
func TestQueueBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log testLog
		n := &network{answer: func(string, int) (int, string) { return away, "" }}
		p := push(t, pyroscope.Config{QueueBytes: 20_000, Logger: log.logger()}, n)
		for range 30 {
			time.Sleep(tick)
			if s := p.Stats(); s.PendingBytes > 20_000 {
				t.Fatalf("counts are %+v", s)
			}
		}
		synctest.Wait()
		s := delivered(p)
		if s.Dropped == 0 || s.Pending < 2 || s.Accepted != 90 {
			t.Errorf("counts are %+v", s)
		}
		oldest := n.got[0].id
		n.set(200)
		time.Sleep(tick / 2)
		n.mu.Lock()
		if last := n.got[uint64(len(n.got))-s.Pending]; last.id == oldest {
			t.Error("the oldest profile is sent")
		}
		n.mu.Unlock()
		wantStats(t, delivered(p), profiling.ExporterStats{Accepted: 90, Delivered: s.Pending, Dropped: s.Dropped, Retries: delivered(p).Retries})
		err := p.Shutdown(t.Context())
		if want := fmt.Sprintf("%d dropped: the queue is full", p.Stats().Dropped); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		log.want(t, "not delivered", "delivered again")
	})
}

// unreachable is a server that is not there.
type unreachable struct{}

func (unreachable) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("no route")
}

// A profile that the queue has no room for is dropped, which Flush says.
func TestTooLargeForTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{}
		p := push(t, pyroscope.Config{QueueBytes: 10}, n)
		err := p.Flush(t.Context())
		s := delivered(p)
		if err == nil || s.Dropped != perFlush || len(n.got) > 0 {
			t.Errorf("error %v, counts %+v", err, s)
		}
		_ = p.Shutdown(t.Context())
	})
}

// A profile that the server fails at, or whose rate it refuses, lets the others go first after some attempts. When the
// server fails again, though it took others, the profile is given up.
func TestOneProfileFails(t *testing.T) {
	for _, status := range []int{http.StatusInternalServerError, http.StatusTooManyRequests} {
		synctest.Test(t, func(t *testing.T) {
			var log testLog
			n := &network{answer: func(kind string, _ int) (int, string) {
				if kind == "heap" {
					return status, "oops"
				}
				return http.StatusOK, ""
			}}
			p := push(t, pyroscope.Config{Logger: log.logger()}, n)
			time.Sleep(tick + 14*time.Second)
			if got, want := n.kinds(), "cpu heap heap heap heap heap goroutine heap"; got != want {
				t.Errorf("the server was sent %s, want %s", got, want)
			}
			wantStats(t, delivered(p), profiling.ExporterStats{Accepted: 3, Delivered: 2, Refused: 1, Retries: 5})
			n.set(200)
			want := fmt.Sprintf("pyroscope: 1 of 6 profiles did not reach http://server: 1 refused: heap: the server answered %d %s: oops", status, http.StatusText(status))
			if err := p.Shutdown(t.Context()); err == nil || err.Error() != want {
				t.Errorf("error %v, want %s", err, want)
			}
			log.want(t, "not delivered", "delivered again", fmt.Sprintf("reason=\"heap: the server answered %d", status))
		})
	}
}

// A profile may have reached a server that gave no clear answer. If it is lost later, it counts as unanswered.
func TestOneProfileFailsLater(t *testing.T) {
	for _, unclear := range []int{499, http.StatusBadGateway, http.StatusGatewayTimeout} {
		synctest.Test(t, func(t *testing.T) {
			n := &network{answer: func(kind string, n int) (int, string) {
				switch {
				case kind != "heap":
					return http.StatusOK, ""
				case n == 2:
					return unclear, ""
				default:
					return http.StatusBadRequest, ""
				}
			}}
			p := push(t, pyroscope.Config{}, n)
			time.Sleep(tick + 14*time.Second)
			wantStats(t, delivered(p), profiling.ExporterStats{Accepted: 3, Delivered: 2, Unanswered: 1, Retries: 1})
			n.set(200)
			if err := p.Shutdown(t.Context()); err == nil || !strings.Contains(err.Error(), "1 not answered") {
				t.Error(err)
			}
		})
	}
}

// While the server takes no profile at all, for a rate that others use up, none is given up.
func TestRateUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{answer: func(_ string, n int) (int, string) {
			if n <= 20 {
				return http.StatusTooManyRequests, ""
			}
			return http.StatusOK, ""
		}}
		p := push(t, pyroscope.Config{}, n)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if s := delivered(p); s.Delivered != s.Accepted || s.Retries < 17 {
			t.Errorf("counts are %+v", s)
		}
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A server that does not answer, or whose connection fails, costs no profile, however often.
func TestConnectionFailsOften(t *testing.T) {
	t.Parallel()
	for _, status := range []int{away, http.StatusTooManyRequests, http.StatusRequestTimeout} {
		synctest.Test(t, func(t *testing.T) {
			n := &network{asks: true, answer: func(kind string, n int) (int, string) {
				if kind == "heap" && n < 9 {
					return status, ""
				}
				return http.StatusOK, ""
			}}
			p := push(t, pyroscope.Config{UploadInterval: 2 * time.Minute}, n)
			time.Sleep(20 * time.Minute)
			synctest.Wait()
			if s := delivered(p); s.Delivered != s.Accepted || s.Retries < 7 {
				t.Errorf("counts are %+v", s)
			}
			if err := p.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A kind that is refused does not hide that another is, nor that the server goes away. Each reason has a line an hour.
func TestReasonsByKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log testLog
		n := &network{answer: func(kind string, _ int) (int, string) {
			if kind == "cpu" {
				return http.StatusOK, ""
			}
			return http.StatusBadRequest, "bad " + kind
		}}
		p := push(t, pyroscope.Config{Logger: log.logger()}, n)
		time.Sleep(10*tick + time.Second)
		n.set(away)
		time.Sleep(tick)
		n.set(200)
		time.Sleep(tick)
		wantStats(t, delivered(p), profiling.ExporterStats{Accepted: 36, Delivered: 16, Refused: 20, Retries: delivered(p).Retries})
		_ = p.Shutdown(t.Context())
		log.want(t, "reason=\"heap: the server answered 400", "reason=\"goroutine: the server answered 400", "not delivered", "delivered again\" to=http://server lost=0")
	})
}

// Shutdown gives up after three attempts, and says what became of the profiles since Start.
func TestShutdownGivesUp(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		want   profiling.ExporterStats
		err    string
	}{
		{"away", away, profiling.ExporterStats{Accepted: 6, Delivered: 3, Pending: 3}, "pyroscope: 3 of 6 profiles did not reach http://server: 3 given up: connection refused"},
		{"refusing", http.StatusUnauthorized, profiling.ExporterStats{Accepted: 6, Delivered: 3, Refused: 3}, `pyroscope: 3 of 6 profiles did not reach http://server: 3 refused: the server answered 401 Unauthorized`},
		{"asking for time", http.StatusTooManyRequests, profiling.ExporterStats{Accepted: 6, Delivered: 3, Pending: 3}, `pyroscope: 3 of 6 profiles did not reach http://server: 3 given up: the server answered 429 Too Many Requests`},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &network{asks: true}
				p := push(t, pyroscope.Config{}, n)
				time.Sleep(tick + time.Second)
				n.set(c.status)
				began := time.Now()
				if err := p.Shutdown(context.Background()); err == nil || err.Error() != c.err {
					t.Errorf("error %v, want %s", err, c.err)
				}
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("it took %v", took)
				}
				s := delivered(p)
				c.want.Retries, c.want.PendingBytes = s.Retries, s.PendingBytes
				wantStats(t, s, c.want)
				if s := p.Stats(); s.State != profiling.Stopped || len(n.got) > 3+1+3 { // one attempt may come before Shutdown waits
					t.Errorf("state %s after %d requests", s.State, len(n.got))
				}
			})
		})
	}
}
