package live_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/perfline/perfline/live"
)

// HEAD gets the status and the headers of a GET without the work. It takes no place of a stream,
// and does not wait for flame graphs and files of other clients.
func TestHead(t *testing.T) {
	p := start(t, allowed, live.Config{})
	p.startSession(`{"startMode":"START_MODE_IMMEDIATE"}`)
	p.serve("GET /a", "/a", func(http.ResponseWriter, *http.Request) {})
	p.call("StopProfiler", `{"sessionID":1}`, nil)
	request := "data/v1/requests/" + p.overview().Requests.Requests[0].Trace + "/" + p.overview().Requests.Requests[0].Span
	paths := []string{"", "page/main.js", "data/v1/overview", request, request + "/svg", "data/v1/profile/flame?session=1", "data/v1/sessions/1",
		"data/v1/sessions/1/json", "data/v1/sessions/1/pprof", "data/v1/sessions/1/firefox", "data/v1/sessions/1/speedscope",
		"data/v1/sessions/1/nothing", "data/v1/sessions/7", "data/v1/profile/flame?session=7", "nothing"}
	want := map[string]*httptest.ResponseRecorder{}
	for _, path := range paths {
		want[path] = p.do(ask(http.MethodGet, path, ""))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // of a stream that does begin
	defer cancel()
	release := p.occupy()
	defer release()
	for _, path := range paths {
		rec := p.do(ask(http.MethodHead, path, "").WithContext(ctx))
		if rec.Code != want[path].Code {
			t.Errorf("HEAD %s: status %d, GET has %d", path, rec.Code, want[path].Code)
		}
		for _, name := range []string{"Content-Type", "Content-Disposition"} {
			if got, want := rec.Header().Get(name), want[path].Header().Get(name); got != want {
				t.Errorf("HEAD %s: %s is %q, of GET %q", path, name, got, want)
			}
		}
		if rec.Code == http.StatusOK && rec.Body.Len() > 0 {
			t.Errorf("HEAD %s has %d bytes", path, rec.Body.Len())
		}
	}
	for range 20 { // more than there are places for streams
		if rec := p.do(ask(http.MethodHead, "data/v1/stream", "").WithContext(ctx)); rec.Code != http.StatusOK || rec.Header().Get("Content-Type") != "text/event-stream" || rec.Body.Len() > 0 {
			t.Fatalf("HEAD of the stream: %d %v", rec.Code, rec.Header())
		}
	}
}

// stuckClient is a client that takes nothing until it is gone.
type stuckClient struct {
	*httptest.ResponseRecorder
	writing chan<- struct{}
	gone    <-chan struct{}
}

func (h stuckClient) Write([]byte) (int, error) {
	h.writing <- struct{}{}
	<-h.gone
	return 0, errors.New("gone")
}

// occupy has as many files in the making as there may be, until release is called.
func (p *program) occupy() (release func()) {
	writing, gone, ended := make(chan struct{}), make(chan struct{}), make(chan any)
	const most = 2
	for range most {
		go func() {
			defer func() { ended <- recover() }()
			p.page.ServeHTTP(stuckClient{httptest.NewRecorder(), writing, gone}, ask(http.MethodGet, "data/v1/sessions/1/firefox", ""))
		}()
		<-writing
	}
	return func() {
		close(gone)
		for range most {
			if err, _ := (<-ended).(error); !errors.Is(err, http.ErrAbortHandler) {
				p.t.Errorf("a file that is not taken ends with %v, want the connection closed", err)
			}
		}
	}
}

// Files and flame graphs wait for others. A client that left meanwhile gets nothing.
func TestFilesAreBounded(t *testing.T) {
	p := start(t, allowed, live.Config{})
	p.startSession(`{"startMode":"START_MODE_IMMEDIATE"}`)
	p.call("StopProfiler", `{"sessionID":1}`, nil)
	release := p.occupy()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, path := range []string{"data/v1/sessions/1/json", "data/v1/profile/flame?session=1"} {
		if rec := p.do(ask(http.MethodGet, path, "").WithContext(ctx)); rec.Body.Len() > 0 {
			t.Errorf("%s beside two others, for nobody: %d bytes", path, rec.Body.Len())
		}
	}
	release()
	for _, path := range []string{"data/v1/sessions/1/json", "data/v1/profile/flame?session=1"} {
		if rec := p.do(ask(http.MethodGet, path, "")); rec.Code != http.StatusOK || rec.Body.Len() == 0 {
			t.Errorf("%s after that: status %d, %d bytes", path, rec.Code, rec.Body.Len())
		}
	}
}
