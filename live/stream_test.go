package live_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/live"
)

// A stream as a browser has it.
type stream struct {
	t      *testing.T
	lines  *bufio.Scanner
	cancel context.CancelFunc
	body   interface{ Close() error }
}

// serveStreams serves the page; served gets an element when a request has been answered.
func serveStreams(p *program) (server *httptest.Server, served chan struct{}) {
	served = make(chan struct{}, 100)
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.page.ServeHTTP(w, r)
		served <- struct{}{}
	}))
	p.t.Cleanup(server.Close) // after the streams
	return server, served
}

func open(t *testing.T, server *httptest.Server) (*stream, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+live.Prefix+"data/v1/stream", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	s := &stream{t: t, lines: bufio.NewScanner(resp.Body), cancel: cancel, body: resp.Body}
	s.lines.Buffer(nil, 1<<22)
	t.Cleanup(s.close)
	return s, resp.StatusCode
}

func (s *stream) close() {
	s.cancel()
	s.body.Close()
}

// next is the name and the data of the next event; "" at the end.
func (s *stream) next() (event, data string) {
	for s.lines.Scan() {
		name, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch name {
		case "event":
			event = value
		case "data":
			return event, value
		}
	}
	return "", ""
}

func TestStream(t *testing.T) {
	p := start(t, allowed, live.Config{}.Refreshing(5*time.Millisecond))
	server, served := serveStreams(p)
	s, status := open(t, server)
	if status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	for _, want := range []string{"page", "requests", "routes", "sessions", "waits", "counts", "deaths"} { // at once, each of them
		if event, data := s.next(); event != want || !json.Valid([]byte(data)) {
			t.Fatalf("event %s with %s, want %s", event, data, want)
		}
	}
	p.serve("GET /late", "/late", func(http.ResponseWriter, *http.Request) {})
	for {
		event, data := s.next()
		if event == "" {
			t.Fatal("the stream ended before it told of the request")
		}
		if event == "requests" && strings.Contains(data, `"GET /late"`) {
			break
		}
	}
	p.startSession(`{"startMode":"START_MODE_IMMEDIATE","noSamples":true}`)
	for event, data := s.next(); event != "sessions" || !strings.Contains(data, `"recording"`); event, data = s.next() {
		if event == "" {
			t.Fatal("the stream ended before it told of the session")
		}
	}
	s.close()
	<-served // the handler returns when its client is gone
}

// A stream sends only changes.
func TestStreamTellsChangesOnly(t *testing.T) {
	p := start(t, allowed, live.Config{}.Refreshing(time.Millisecond))
	server, served := serveStreams(p)
	s, _ := open(t, server)
	seen := map[string]bool{}
	for range 20 { // the counts of the timeline's own observers may move
		p.serve("GET /a", "/a", func(http.ResponseWriter, *http.Request) {})
		for {
			event, data := s.next()
			if event == "" {
				t.Fatal("the stream ended")
			}
			if seen[event+data] && event == "requests" {
				t.Fatalf("told twice: %s", data)
			}
			seen[event+data] = true
			if event == "requests" {
				break
			}
		}
	}
	s.close()
	<-served
}

func TestStreamEndsAtShutdown(t *testing.T) {
	p := start(t, allowed, live.Config{})
	server, served := serveStreams(p)
	s, _ := open(t, server)
	s.next()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range 2 { // a program may ask twice
		if err := server.Config.Shutdown(ctx); err != nil {
			t.Fatalf("Shutdown: %v: the stream did not end", err)
		}
	}
	<-served
	for event, _ := s.next(); event != ""; event, _ = s.next() {
	}
}

func TestStreamsAreBounded(t *testing.T) {
	p := start(t, allowed, live.Config{})
	server, served := serveStreams(p)
	var all []*stream
	for range 16 {
		s, status := open(t, server)
		if status != http.StatusOK {
			t.Fatalf("stream %d: status %d", len(all), status)
		}
		all = append(all, s)
	}
	if _, status := open(t, server); status != http.StatusServiceUnavailable {
		t.Errorf("one too many: status %d", status)
	}
	<-served
	all[0].close()
	<-served
	if _, status := open(t, server); status != http.StatusOK {
		t.Errorf("after one was closed: status %d", status)
	}
}

// stuck is a connection whose client takes nothing after the first event.
type stuck struct {
	*httptest.ResponseRecorder
	deadlines []time.Time
	writes    int
}

func (s *stuck) SetWriteDeadline(d time.Time) error {
	if !d.IsZero() { // which clears it
		s.deadlines = append(s.deadlines, d)
	}
	return nil
}

func (s *stuck) Write(b []byte) (int, error) {
	if s.writes++; s.writes > 1 {
		return 0, os.ErrDeadlineExceeded
	}
	return s.ResponseRecorder.Write(b)
}

func TestStreamOfAStuckClientEnds(t *testing.T) {
	p := start(t, allowed, live.Config{}.Refreshing(time.Millisecond))
	w := &stuck{ResponseRecorder: httptest.NewRecorder()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.page.ServeHTTP(w, ask(http.MethodGet, "data/v1/stream", ""))
	}()
	for ended := false; !ended; {
		p.serve("GET /a", "/a", func(http.ResponseWriter, *http.Request) {})
		select {
		case <-done:
			ended = true
		default:
		}
	}
	if len(w.deadlines) != 2 || time.Until(w.deadlines[1]) > 10*time.Second {
		t.Errorf("deadlines of writing are %v, want one of 10 s for each event", w.deadlines)
	}
}
