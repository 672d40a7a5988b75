package livepage

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/sessions"
)

// serve serves h with a live page beside it until the test's end, as an application does. around
// sees every request.
func serve(t *testing.T, s bridgehttp.Server, h http.HandlerFunc, c sessions.Config, around ...func(http.Handler) http.Handler) (base, page string) {
	t.Helper()
	return servePage(t, s, h, c, live.Config{}, around...)
}

// servePage is serve with a configuration of the page.
func servePage(t *testing.T, s bridgehttp.Server, h http.HandlerFunc, c sessions.Config, lc live.Config, around ...func(http.Handler) http.Handler) (base, page string) {
	t.Helper()
	pl, tl := startPerfline(t, c)
	s.TracerProvider, s.Timeline = pl.TracerProvider(), tl
	mux := http.NewServeMux()
	mux.Handle("/", s.Middleware(h))
	mux.Handle(live.Prefix, live.Handler(pl, lc))
	var all http.Handler = mux
	for _, outer := range around {
		all = outer(all)
	}
	if len(around) > 0 {
		base = listenAlone(t, all) // they are to see each request
	} else {
		base = listen(t, all)
	}
	return base, base + live.Prefix
}

// startPerfline starts perfline for a program that sends nothing, until the test's end.
func startPerfline(t *testing.T, c sessions.Config) (*perfline.Pipeline, *observer.Timeline) {
	t.Helper()
	for _, name := range []string{"OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER"} {
		t.Setenv(name, "none")
	}
	tl := observer.NewTimeline(observer.TimelineOptions{})
	pl, err := perfline.Start(t.Context(), perfline.Config{Service: "test", Timeline: tl, Sessions: c})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { inTime(t, pl.Shutdown) })
	return pl, tl
}

// A front is an address at which one handler after the other serves. The browser keeps the scripts of
// an address.
type front struct {
	server  *httptest.Server
	handler atomic.Pointer[http.Handler] // nil between two tests
}

func newFront() *front {
	f := &front{}
	f.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := f.handler.Load()
		if h == nil {
			http.NotFound(w, r)
			return
		}
		if strings.Contains(r.URL.Path, "/page/") {
			w = cached{w}
		}
		(*h).ServeHTTP(w, r)
	}))
	return f
}

// listen serves h until the test's end, and returns its address.
func listen(t *testing.T, h http.Handler) string {
	t.Helper()
	if f := fronted; f.handler.CompareAndSwap(nil, &h) {
		t.Cleanup(func() {
			f.handler.Store(nil)
			f.server.CloseClientConnections() // ends streams
		})
		return f.server.URL
	}
	return listenAlone(t, h)
}

// listenAlone is listen with an address of its own, of which the browser keeps nothing.
func listenAlone(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// inTime shuts something down.
func inTime(t *testing.T, shutdown func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// request sends one.
func request(t *testing.T, url string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}
