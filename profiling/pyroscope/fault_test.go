package pyroscope_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/internal/memnet"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/pyroscope"
)

// A faulty is a server whose handler the test changes.
type faulty struct {
	*httptest.Server
	handler atomic.Pointer[http.HandlerFunc]
	sent    atomic.Uint64 // profiles it took
}

// newFaulty starts a server on a listener.
func newFaulty(t *testing.T, l net.Listener, start func(*httptest.Server), h http.HandlerFunc) *faulty {
	f := &faulty{}
	f.set(h)
	f.Server = &httptest.Server{Listener: l, Config: &http.Server{ //nolint:gosec // a slow client is no danger to a test
		Handler:  http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*f.handler.Load())(w, r) }),
		ErrorLog: log.New(io.Discard, "", 0), // what its handlers do is meant
	}}
	start(f.Server)
	t.Cleanup(f.Close)
	return f
}

func (f *faulty) set(h http.HandlerFunc) { f.handler.Store(&h) }

// take is a handler that takes what it is sent.
func (f *faulty) take(_ http.ResponseWriter, r *http.Request) {
	if _, err := receive(r); err == nil {
		f.sent.Add(1)
	}
}

// status is a handler that answers so, and tells the client its own secrets.
func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		fmt.Fprint(w, "no ", r.Header.Get("X-Token"))
	}
}

// raw is a handler that writes to the connection and closes it.
func raw(answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(conn, answer)
		_ = conn.Close()
	}
}

// A flush gives three profiles: CPU, heap and goroutines.
const perFlush = 3

// rarely is an interval within which a test of faults ends.
const rarely = 30 * time.Minute

// inBubble runs a subtest in a bubble, at the end of which no goroutine is left.
func inBubble(t *testing.T, name string, test func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// Each profile is counted once, whatever a server does. A fault has one line in the log. The waiting profiles are
// delivered when the server works again.
func TestFaults(t *testing.T) {
	const down, refused, up = "profiles are not delivered", "profiles are refused and dropped", "profiles are delivered again"
	refusedAll, waits, unknown := profiling.ExporterStats{Accepted: perFlush, Refused: perFlush}, profiling.ExporterStats{Accepted: perFlush, Pending: perFlush}, profiling.ExporterStats{Accepted: perFlush, Unanswered: perFlush}
	sent, foreign := profiling.ExporterStats{Accepted: perFlush, Delivered: perFlush}, []string{"the receiver of profiles warns"}
	turnedDown := []string{"turned down some profiles; more of them for the same reason are only counted", "reason=\"heap: ", "reason=\"goroutine: "}
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		want    profiling.ExporterStats
		says    string
		lines   []string
	}{
		{"301", status(301, "Location", "/elsewhere"), refusedAll, "301 Moved Permanently", []string{refused, up}},
		{"400", status(400), refusedAll, "400 Bad Request", turnedDown},
		{"401", status(401), refusedAll, "401 Unauthorized", []string{refused, up}},
		{"403", status(403), refusedAll, "403 Forbidden", []string{refused, up}},
		{"404", status(404), refusedAll, "404 Not Found: no xxxxx; pushing needs Pyroscope 1.0 or newer", []string{refused, up}},
		{"408", status(408), waits, "408 Request Timeout", []string{down, up}},
		{"413", status(413), refusedAll, "413 Request Entity Too Large", turnedDown},
		{"422", status(422), refusedAll, "422 Unprocessable Entity", turnedDown},
		{"429 of Connect", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(429)
			fmt.Fprint(w, `{"code":"resource_exhausted","message":"push rate limit (4.0 MiB) exceeded\nfor hun\u0074er2"}`)
		}, waits, `429 Too Many Requests: resource_exhausted: push rate limit (4.0 MiB) exceeded\\u000afor xxxxx"`, []string{down, up}},
		{"429", status(429), waits, "429 Too Many Requests", []string{down, up}},
		{"499", status(499), waits, "499 ", []string{down, up}},
		{"500", status(500), waits, "500 Internal Server Error", []string{down, up}},
		{"501", status(501), refusedAll, "501 Not Implemented", []string{refused, up}},
		{"502", status(502), waits, "502 Bad Gateway", []string{down, up}},
		{"503", status(503), waits, "503 Service Unavailable", []string{down, up}},
		{"504", status(504), waits, "504 Gateway Timeout", []string{down, up}},
		{"no HTTP", raw("garbage\r\n\r\n"), waits, "malformed HTTP", []string{down, up}},
		{"no answer", raw(""), waits, "EOF", []string{down, up}},
		{"a connection cut while the profile is sent", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.CopyN(io.Discard, r.Body, 100)
			raw("")(w, &http.Request{Body: http.NoBody})
		}, waits, "", []string{down, up}},
		{"an answer cut in its header", raw("HTTP/1.1 200 OK\r\nContent-Le"), waits, "connection broken", []string{down, up}},
		{"too large a header", raw("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n"), waits, "", []string{down, up}},
		{"an answer cut in its body", raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"), sent, "", foreign},
		{"an answer of Pyroscope cut in its body", raw("HTTP/1.1 200 OK\r\nContent-Type: application/proto\r\nContent-Length: 9\r\n\r\nx"), sent, "", nil},
		{"another success", status(204), sent, "", nil},
		{"a page", status(200, "Content-Type", "text/html"), sent, "its answer is not Pyroscope's: check ServerAddress", foreign},
		{"endless body", func(w http.ResponseWriter, r *http.Request) {
			for {
				if _, err := w.Write(make([]byte, 4096)); err != nil {
					return
				}
			}
		}, sent, "", foreign},
		{"slow", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}, unknown, " exceeded", []string{down, up}}, // the deadline of the context, or the Timeout of the client
	} {
		inBubble(t, c.name, func(t *testing.T) {
			var n memnet.Network
			f := newFaulty(t, n.Listen(), (*httptest.Server).Start, c.handler)
			var said testLog
			p := playOver(t, &n, pyroscope.Config{
				ServerAddress: strings.Replace(f.URL, "//", "//hunter2:hunter2@", 1), BasicAuthUser: "user", BasicAuthPassword: "hunter2",
				Headers: map[string]string{"X-Token": "hunter2"}, UploadInterval: rarely, Logger: said.logger(),
			}, time.Now, &played{})
			began := time.Now()
			err := p.Flush(t.Context())
			if took := time.Since(began); c.want.Pending == 0 && took != time.Duration(c.want.Unanswered)*time.Minute {
				t.Errorf("Flush took %v", took)
			}
			if (err == nil) != (c.want.Delivered == perFlush) || err != nil && c.want.Pending == 0 && !strings.Contains(err.Error(), c.says) {
				t.Errorf("Flush: %v", err)
			}
			got := p.Stats()
			c.want.PendingBytes, c.want.Retries = got.PendingBytes, got.Retries
			c.want.State, c.want.Engine, c.want.Fallback = profiling.Started, "played", "a reason"
			c.want.LostSamples, c.want.Gaps, c.want.GapTime = 1, 1, time.Millisecond
			wantStats(t, got, c.want)
			if (got.PendingBytes > 0) != (got.Pending > 0) {
				t.Errorf("%d bytes of %d profiles wait", got.PendingBytes, got.Pending)
			}

			f.set(f.take)
			began = time.Now()
			if err := p.Flush(t.Context()); err != nil || time.Since(began) > 0 {
				t.Errorf("Flush to a server that works: %v after %v", err, time.Since(began))
			}
			lost := c.want.Refused + c.want.Unanswered
			if err := p.Shutdown(t.Context()); (err == nil) != (lost == 0) || err != nil && !strings.Contains(err.Error(), "3 of 9 profiles did not reach") {
				t.Errorf("Shutdown: %v", err)
			}
			got = p.Stats()
			if got.Accepted != 3*perFlush || got.Delivered != 3*perFlush-lost || got.Pending != 0 || got.PendingBytes != 0 || got.Lost() != lost {
				t.Errorf("counts in the end are %+v", got)
			}
			if n := f.sent.Load(); n != got.Delivered && c.want.Delivered == 0 {
				t.Errorf("the server took %d profiles, %d are counted", n, got.Delivered)
			}
			said.want(t, c.lines...)
			if text := said.buf.String(); !strings.Contains(text, c.says) && c.lines != nil || strings.Contains(text, "hunter2") || strings.Contains(text, "PusherService") {
				t.Errorf("log tells a secret, or not %q:\n%s", c.says, text)
			}
		})
	}
}

// A server that is not there yet, and one that dies and comes back, gets what waited.
func TestServerComesAndGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n memnet.Network
		var said testLog
		p := playOver(t, &n, pyroscope.Config{UploadInterval: rarely, Logger: said.logger()}, time.Now, &played{})
		var taken uint64
		for round := range 2 {
			if err := p.Flush(t.Context()); err == nil {
				t.Error("flushed to a server that is not there")
			}
			f := newFaulty(t, n.Listen(), (*httptest.Server).Start, nil)
			f.set(f.take)
			if err := p.Flush(t.Context()); err != nil {
				t.Errorf("round %d: %v", round, err)
			}
			f.Close()
			taken += f.sent.Load()
		}
		if s := p.Stats(); s.Delivered != taken || s.Delivered != s.Accepted || s.Retries == 0 {
			t.Errorf("the server took %d, counts are %+v", taken, s)
		}
		said.want(t, "not delivered", "delivered again", "not delivered", "delivered again")
		if !strings.Contains(said.buf.String(), "connection refused") {
			t.Errorf("log does not say why:\n%s", said.buf.String())
		}
		if err := p.Shutdown(t.Context()); err == nil || !strings.Contains(err.Error(), "3 of 15 profiles did not reach") {
			t.Errorf("Shutdown without a server: %v", err)
		}
		// A request may have been written to the connection before the end of the server closed it.
		if s := p.Stats(); s.Pending+s.Unanswered != perFlush || s.Unanswered > 1 || s.Lost() != perFlush {
			t.Errorf("counts in the end are %+v", s)
		}
	})
}

// A profile that waits at the end counts as unanswered if the server may have it.
func TestUnansweredAtTheEnd(t *testing.T) {
	for _, c := range []struct {
		name       string
		handler    http.HandlerFunc
		unanswered uint64
	}{
		{"499", status(499), 1},
		{"500", status(500), 0},
		{"502", status(502), 1},
		{"503", status(503), 0},
		{"504", status(504), 1},
		{"the connection ends", raw(""), 1},
		{"no HTTP", raw("garbage\r\n\r\n"), 1},
		{"408", status(408), 0},
	} {
		inBubble(t, c.name, func(t *testing.T) {
			var n memnet.Network
			f := newFaulty(t, n.Listen(), (*httptest.Server).Start, c.handler)
			p := playOver(t, &n, pyroscope.Config{ServerAddress: f.URL, UploadInterval: rarely}, time.Now, &played{})
			if err := p.Shutdown(t.Context()); err == nil || strings.Contains(err.Error(), "1 not answered") != (c.unanswered > 0) {
				t.Errorf("Shutdown: %v", err)
			}
			s := delivered(p)
			wantStats(t, s, profiling.ExporterStats{Accepted: perFlush, Unanswered: c.unanswered, Pending: perFlush - c.unanswered, PendingBytes: s.PendingBytes, Retries: s.Retries})
		})
	}
}

func TestUnknownCertificate(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := newFaulty(t, l, (*httptest.Server).StartTLS, status(200))
	var said testLog
	p := play(t, pyroscope.Config{ServerAddress: f.URL, Logger: said.logger()}, time.Now, &played{})
	const why = "certificate signed by unknown authority"
	if err := p.Shutdown(t.Context()); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("Shutdown: %v, want one that says %q", err, why)
	}
	if s := p.Stats(); s.Pending != s.Accepted || s.Accepted == 0 {
		t.Errorf("counts are %+v", s)
	}
	said.want(t, why)
}

// Shutdown ends with its context, whatever hangs, and leaves nothing behind, not even a
// connection that is being made.
func TestShutdownWhileAnUploadHangs(t *testing.T) {
	for _, c := range []struct {
		name, address string
		unanswered    uint64
	}{
		{"for the answer", "http://server", 1},
		{"for TLS", "https://server", 0},
		{"for the connection", "http://server", 0},
	} {
		inBubble(t, c.name, func(t *testing.T) {
			var n memnet.Network
			l := n.Listen()
			switch c.name {
			case "for the answer":
				newFaulty(t, l, (*httptest.Server).Start, func(_ http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					<-r.Context().Done()
				})
			case "for TLS":
				go func() {
					if conn, err := l.Accept(); err == nil {
						_, _ = io.Copy(io.Discard, conn)
					}
				}()
			}
			var said testLog
			p := playOver(t, &n, pyroscope.Config{ServerAddress: c.address, UploadInterval: rarely, Logger: said.logger()}, time.Now, &played{})
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				synctest.Wait() // the upload hangs
				cancel(context.DeadlineExceeded)
			}()
			began := time.Now()
			err := p.Shutdown(ctx)
			if err == nil || !strings.Contains(err.Error(), "context deadline exceeded") || time.Since(began) > 0 {
				t.Errorf("Shutdown: %v after %v", err, time.Since(began))
			}
			s := p.Stats()
			if s.Accepted != perFlush || s.Unanswered != c.unanswered || s.Pending != perFlush-c.unanswered {
				t.Errorf("counts are %+v", s)
			}
			if again := p.Shutdown(t.Context()); again == nil || again.Error() != err.Error() {
				t.Errorf("the second Shutdown: %v, want what the first said", again)
			}
			if err := p.Flush(t.Context()); err != nil || p.Stats() != s {
				t.Errorf("Flush after Shutdown: %v, counts %+v", err, p.Stats())
			}
		})
	}
}
