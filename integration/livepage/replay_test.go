package livepage

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/live"
)

// kinds are the events of a page's stream, in their order.
var kinds = []string{"page", "requests", "routes", "sessions", "waits", "counts", "deaths", "runtime"}

// A replay serves the page with recorded answers. Its stream sends the recorded events, and then
// those of tell. The tests share one, because the browser keeps the scripts of an address.
type replay struct {
	page   string // its address
	server *httptest.Server
	static http.Handler // the real page
	header http.Header  // of its answers

	mu      sync.Mutex // guards what follows
	answers Recording
	events  map[string]json.RawMessage
	streams map[chan string]struct{}
	unknown []string // requests without a recorded answer
}

// newReplay starts one. It ends with its server.
func newReplay() *replay {
	r := &replay{
		static:  live.Handler(&waiting{recent: requests.NewRecent(requests.Config{})}, live.Config{}),
		streams: map[chan string]struct{}{},
	}
	w := httptest.NewRecorder()
	first := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "http://127.0.0.1"+live.Prefix, http.NoBody)
	first.RemoteAddr = "127.0.0.1:1" // others may not come here
	r.static.ServeHTTP(w, first)
	r.header = w.Header()
	r.server = httptest.NewServer(r)
	r.page = r.server.URL + live.Prefix
	return r
}

// startReplay has the recorded answers until the test's end. The test fails if the page asks for
// what is not recorded.
func startReplay(t *testing.T) *replay {
	t.Helper()
	r := replayed
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers, r.events, r.unknown = maps.Clone(recorded.answers), map[string]json.RawMessage{}, nil
	if err := json.Unmarshal(r.answers[Key(http.MethodGet, "data/v1/overview", "")], &r.events); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.drop()
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, key := range r.unknown {
			t.Errorf("the page asked for what is not recorded: %s", key)
		}
		r.unknown = nil
	})
	return r
}

// nothing is the answer to the beginning of a text that is typed into the form: nothing is found.
var nothing = map[string]string{
	"data/v1/requests":    `{"requests": [], "more": false, "inMemory": 0}`,
	"data/v1/routes/heat": `{"start": 0, "step": 10000, "bounds": [], "counts": [], "failed": []}`,
}

// waitsOf is the answer for any part of a request's waits: those of the whole request. A page asks
// for them 200 ms after a zoom, or not at all, if the next zoom comes sooner.
func (r Recording) waitsOf(path string) (json.RawMessage, bool) {
	if !strings.HasSuffix(path, "/waits") {
		return nil, false
	}
	for key, answer := range r {
		if strings.HasPrefix(key, http.MethodGet+" "+path+"?") {
			return answer, true
		}
	}
	return nil, false
}

func (r *replay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	path := strings.TrimPrefix(req.URL.Path, live.Prefix)
	if !strings.HasPrefix(path, "data/") && !strings.HasPrefix(path, "rpc/") {
		r.static.ServeHTTP(cached{w}, req)
		return
	}
	for _, name := range []string{"Content-Security-Policy", "X-Content-Type-Options", "Cross-Origin-Resource-Policy"} {
		w.Header().Set(name, r.header.Get(name))
	}
	if path == "data/v1/stream" {
		r.stream(w, req)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	key := Key(req.Method, path+"?"+req.URL.RawQuery, string(body))
	r.mu.Lock()
	answer, ok := r.answers[key]
	if !ok && nothing[path] != "" {
		answer, ok = json.RawMessage(nothing[path]), true
	}
	if !ok {
		answer, ok = r.answers.waitsOf(path)
	}
	if !ok {
		r.unknown = append(r.unknown, key)
	}
	r.mu.Unlock()
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		answer = json.RawMessage(`{"error": "not recorded"}`)
	}
	_, _ = w.Write(answer) // the page may be gone
}

// cached lets the browser keep an answer. A page has 60 files, for each of which it would ask in each
// test, and which stay the same here.
type cached struct{ http.ResponseWriter }

func (c cached) WriteHeader(status int) {
	c.Header().Set("Cache-Control", "max-age=3600")
	c.ResponseWriter.WriteHeader(status)
}

func (r *replay) stream(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	more := make(chan string, 100)
	r.mu.Lock()
	var first strings.Builder
	first.WriteString("retry: 10\n\n")
	for _, kind := range kinds {
		first.WriteString(eventText(kind, r.events[kind]))
	}
	r.streams[more] = struct{}{}
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.streams, more)
	}()
	control := http.NewResponseController(w)
	for text, open := first.String(), true; open; {
		if _, err := io.WriteString(w, text); err != nil || control.Flush() != nil {
			return
		}
		select {
		case text, open = <-more:
		case <-req.Context().Done():
			return
		}
	}
}

func eventText(kind string, data json.RawMessage) string {
	return fmt.Sprintf("event: %s\ndata: %s\n\n", kind, data)
}

// tell sends an event to all open pages, and to those that will be opened. JSON has no line breaks.
func (r *replay) tell(kind string, data json.RawMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events[kind] = data
	for s := range r.streams {
		s <- eventText(kind, data)
	}
}

// drop ends all streams, as a program does that ends.
func (r *replay) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for s := range r.streams {
		close(s)
		delete(r.streams, s)
	}
}

// answer changes what a request is answered with.
func (r *replay) answer(key, data string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers[key] = json.RawMessage(data)
}

// openRecorded opens a view of the recorded page, until the test's end.
func openRecorded(t *testing.T, hash string, v View) tab {
	t.Helper()
	return open(t, startReplay(t).page+hash, v)
}

// recorded are the answers of testdata/shop.json.gz: of a shop after a session under load.
var recorded struct {
	answers Recording
	session int
	route   int    // of the session, with the most samples
	request string // the address of a request that the session has samples of
}

func readRecorded() (err error) {
	if recorded.answers, err = ReadRecording("testdata/shop.json.gz"); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(recorded.answers)) {
		const compared = "GET data/v1/compare?a="
		if ids, ok := strings.CutPrefix(key, compared); ok && recorded.request == "" && !strings.Contains(ids, "&") {
			recorded.request = "#/requests/" + strings.Replace(ids, "%2F", "/", 1)
		}
		if id, ok := strings.CutPrefix(key, "GET data/v1/sessions/"); ok {
			var contents struct {
				ID     int
				Routes []struct{ Route int }
			}
			if err := json.Unmarshal(recorded.answers[key], &contents); err != nil || len(contents.Routes) == 0 {
				return fmt.Errorf("the recorded session %s: %w", id, err)
			}
			recorded.session, recorded.route = contents.ID, contents.Routes[0].Route
		}
	}
	return nil
}
