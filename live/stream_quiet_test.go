package live_test

import (
	"github.com/perfline/perfline"

	public "github.com/perfline/perfline/requests"

	"bufio"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/guard"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
	"github.com/perfline/perfline/waits"
)

// A quiet program has nothing to show.
type quiet struct {
	*perfline.Pipeline // none
	recent             *requests.Recent
}

func (q quiet) Recent() *public.Store      { return (*public.Store)(q.recent) }
func (quiet) Sessions() *sessions.Recorder { return nil }
func (quiet) Waits() waits.Recorder        { return nil }
func (quiet) Runtime() *perfline.Runtime   { return nil }
func (quiet) Counts() []exporter.Count     { return nil }
func (quiet) LastMinute() *profile.Trace   { return nil }
func (quiet) Deaths() *perfline.Deaths     { return nil }

// pipes is a listener in memory, whose connections are in the time of a synctest bubble.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error {
	close(p.closed)
	return nil
}

func (p pipes) Addr() net.Addr { return new(net.UnixAddr) }

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	p.conns <- server
	return client, nil
}

// nextEvent returns the data of the next event of a kind.
func nextEvent(t *testing.T, events *bufio.Scanner, kind string) string {
	t.Helper()
	for events.Scan() {
		if events.Text() == "event: "+kind && events.Scan() {
			return strings.TrimPrefix(events.Text(), "data: ")
		}
	}
	t.Fatalf("the stream ended before an event %s: %v", kind, events.Err())
	return ""
}

// openQuietly serves the page of a program over a protocol, and opens its stream.
func openQuietly(t *testing.T, protocol string, source perfline.Source) (server *http.Server, events io.Reader) {
	t.Helper()
	var protocols http.Protocols
	protocols.SetHTTP1(protocol == "HTTP/1.1")
	protocols.SetUnencryptedHTTP2(protocol == "HTTP/2.0")
	page := live.Handler(source, live.Config{Data: guard.Everything, Authorize: func(*http.Request) error { return nil }})
	server = &http.Server{Handler: page, Protocols: &protocols, ReadHeaderTimeout: time.Second, ErrorLog: log.New(io.Discard, "", 0)}
	l := pipes{make(chan net.Conn), make(chan struct{})}
	go func() { _ = server.Serve(l) }() // until it is closed
	transport := &http.Transport{Protocols: &protocols, DialContext: l.dial}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://page"+live.Prefix+"data/v1/stream", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Proto != protocol {
		t.Fatalf("the stream came over %s", resp.Proto)
	}
	t.Cleanup(func() {
		resp.Body.Close()
		_ = server.Close() // its error is that it was shut down before
		transport.CloseIdleConnections()
	})
	return server, resp.Body
}

// A stream goes on when nothing changes, however long.
func TestStreamOfAQuietProgramGoesOn(t *testing.T) {
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(protocol, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, events := openQuietly(t, protocol, quiet{recent: requests.NewRecent(requests.Config{})})
				lines := bufio.NewScanner(events)
				for waits := 0; waits < 4; { // a quarter of a minute each
					if !lines.Scan() {
						t.Fatalf("the stream ended when it had been quiet %d times: %v", waits, lines.Err())
					}
					if strings.HasPrefix(lines.Text(), ": still here") {
						waits++
					}
				}
			})
		})
	}
}

// The end of a stream has a deadline: a client that takes nothing does not hold up a shutdown.
func TestStreamToAClientThatTakesNothingEndsAtShutdown(t *testing.T) {
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(protocol, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, events := openQuietly(t, protocol, quiet{recent: requests.NewRecent(requests.Config{})})
				if _, err := io.ReadFull(events, make([]byte, 10)); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := server.Shutdown(ctx); err != nil {
					t.Errorf("the server did not shut down: %v", err)
				}
			})
		})
	}
}
