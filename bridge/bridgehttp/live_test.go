package bridgehttp_test

import (
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perfline/perfline/observer"
)

// A site is a real server and a client of its own.
type site struct {
	*rig
	url      string
	client   *http.Client
	entries  func() []observer.Entry // of type navigation
	handlers sync.WaitGroup          // that run
	stop     func()                  // returns when the server has left all connections
}

// protocols are what a site is served over.
var protocols = []string{"http/1.1", "h2"}

// open serves h over a protocol, as it is.
func (r *rig) open(t *testing.T, protocol string, h http.Handler) *site {
	t.Helper()
	s := &site{rig: r, entries: watch(t, r.tl, observer.Navigation)}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		s.handlers.Add(1)
		defer s.handlers.Done()
		h.ServeHTTP(w, req)
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	if protocol == "h2" {
		srv.EnableHTTP2 = true
		srv.StartTLS()
	} else {
		srv.Start()
	}
	s.url, s.client = srv.URL, srv.Client()
	s.stop = func() {
		s.client.CloseIdleConnections()
		srv.Close()
	}
	t.Cleanup(s.stop)
	return s
}

func newRequest(t *testing.T, method, url string, body io.Reader) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// do makes a request, reads the response and waits until its handler is over.
// body has what came of the body, err why that is not all.
func (s *site) do(t *testing.T, req *http.Request) (resp *http.Response, body string, err error) {
	t.Helper()
	resp, err = s.client.Do(req)
	if err != nil {
		s.handlers.Wait()
		return nil, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	s.handlers.Wait()
	return resp, string(b), err
}

// watch observes types on a timeline; what it returns reads what came so far.
func watch(t *testing.T, tl *observer.Timeline, types ...observer.Type) func() []observer.Entry {
	t.Helper()
	var mu sync.Mutex
	var got []observer.Entry
	o, err := tl.Observe(func(l observer.List) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, l.Entries()...)
	}, observer.Options{Types: types})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Disconnect)
	return func() []observer.Entry {
		tl.Deliver()
		mu.Lock()
		defer mu.Unlock()
		return append([]observer.Entry(nil), got...)
	}
}

// only is the one entry there is.
func only(t *testing.T, entries []observer.Entry) *observer.Entry {
	t.Helper()
	if len(entries) != 1 {
		t.Fatalf("%d entries, want 1: %v", len(entries), entries)
	}
	return &entries[0]
}

// shape returns an entry's detail as text, with T for times, which vary.
func shape(e *observer.Entry) string {
	var out []string
	for _, a := range e.Detail() {
		v := a.Value.Resolve()
		if v.Kind() == slog.KindDuration && v.Duration() > 0 {
			out = append(out, a.Key+"=T")
			continue
		}
		out = append(out, fmt.Sprintf("%s=%v", a.Key, v))
	}
	return strings.Join(out, " ")
}

// attr is one attribute of an entry's detail, nil if it is not there.
func attr(e *observer.Entry, key string) any {
	for _, a := range e.Detail() {
		if a.Key == key {
			return a.Value.Any()
		}
	}
	return nil
}

// within receives from a channel, and fails the test where nothing comes.
func within[T any](t *testing.T, c <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(time.Minute):
		t.Fatal("waited in vain for " + what)
	}
	return v
}
