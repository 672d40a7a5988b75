package service_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	"github.com/perfline/perfline/internal/leaktest"
	"github.com/perfline/perfline/internal/memnet"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/service"
	"github.com/perfline/perfline/profiling/service/profilerv1"
	"github.com/perfline/perfline/profiling/service/profilerv1/profilerv1connect"
	"github.com/perfline/perfline/profiling/sessions"
)

func TestMain(m *testing.M) {
	// The policy in the environment of the tests must not decide them.
	if err := os.Unsetenv("PERFLINE_PROFILING"); err != nil {
		panic(err)
	}
	leaktest.Main(m)
}

// A program is one that lets its sessions be seen from outside.
type program struct {
	*sessions.Recorder
	ctx context.Context // on its timeline
}

func newProgram(t *testing.T) program {
	t.Helper()
	tl := observer.NewTimeline(observer.TimelineOptions{})
	t.Cleanup(tl.Close)
	r := sessions.NewRecorder(sessions.Config{Timeline: tl, Policy: profiling.Policy{Remote: true}})
	t.Cleanup(r.Close)
	return program{r, observer.NewContext(t.Context(), tl)}
}

// recorded is a session in which the program did what work does.
func (p program) recorded(t *testing.T, work func(context.Context)) sessions.SessionID {
	t.Helper()
	id, err := p.Start(p.ctx, sessions.StartOptions{NoSamples: true})
	if err != nil {
		t.Fatal(err)
	}
	work(p.ctx)
	if _, err := p.Stop(p.ctx, id); err != nil {
		t.Fatal(err)
	}
	return id
}

// manyMarks are n marks of different names.
func manyMarks(n int) func(context.Context) {
	return func(ctx context.Context) {
		for i := range n {
			marks.Mark(ctx, fmt.Sprintf("mark %d", i), slog.Int("i", i))
			deliver(ctx, i)
		}
	}
}

// deliver has the timeline deliver after each 500 entries: a busy machine may come to that only when the
// timeline has lost some.
func deliver(ctx context.Context, i int) {
	if i%500 == 0 {
		observer.FromContext(ctx).Deliver()
	}
}

// serve serves r over HTTP/1.1 and HTTP/2 without TLS, as the example has it.
func serve(t *testing.T, r service.Recorder, c service.Config) (url string) {
	t.Helper()
	return serveHandler(t, r, c, func(h http.Handler) http.Handler { return h })
}

func serveHandler(t *testing.T, r service.Recorder, c service.Config, around func(http.Handler) http.Handler) (url string) {
	t.Helper()
	srv := httptest.NewUnstartedServer(handlerOf(r, c, around))
	srv.Config.Protocols = new(http.Protocols)
	srv.Config.Protocols.SetHTTP1(true)
	srv.Config.Protocols.SetUnencryptedHTTP2(true)
	srv.Start()
	t.Cleanup(srv.Close)
	return srv.URL
}

// serveInMemory is serveHandler for a test in a bubble, by HTTP/1.1 over a network in memory. It returns a client, too.
func serveInMemory(t *testing.T, r service.Recorder, c service.Config, around func(http.Handler) http.Handler) (*memnet.Network, *http.Client) {
	t.Helper()
	n := &memnet.Network{}
	srv, l := &http.Server{Handler: handlerOf(r, c, around)}, n.Listen() //nolint:gosec // a slow client is no danger to a test
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	tr := &http.Transport{DialContext: n.Dial}
	t.Cleanup(tr.CloseIdleConnections)
	return n, &http.Client{Transport: tr}
}

// inMemory is the URL of servers of serveInMemory.
const inMemory = "http://" + memnet.Address

func handlerOf(r service.Recorder, c service.Config, around func(http.Handler) http.Handler) http.Handler {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	mux := http.NewServeMux()
	path, h := service.NewHandlerOf(r, c.WithStarts(1000))
	mux.Handle(path, around(h))
	return mux
}

// httpClient is one of the test's own, so that no connection is left open after it.
func httpClient(t *testing.T, http2 bool) *http.Client {
	t.Helper()
	tr := &http.Transport{Protocols: new(http.Protocols)}
	tr.Protocols.SetUnencryptedHTTP2(http2)
	tr.Protocols.SetHTTP1(!http2)
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// client is for tests that are not about protocols.
func client(t *testing.T, url string) profilerv1connect.ProfilerServiceClient {
	t.Helper()
	return profilerv1connect.NewProfilerServiceClient(httpClient(t, false), url)
}

// theTimeline is the timeline with the most events, except the garbage collector's: it may have any number.
func theTimeline(s *profilerv1.Session) uint32 {
	var id, most uint32
	for _, tl := range s.GetTimelineList() {
		if tl.GetName() != "gc" && tl.GetEventCount() > most {
			id, most = tl.GetTimelineId(), tl.GetEventCount()
		}
	}
	return id
}

// failure is an error as clients of all protocols see it: the Scope Profiler's status if it is a detail, the code and the text.
func failure(err error) string {
	if err == nil {
		return ""
	}
	var ce *connect.Error
	if !errors.As(err, &ce) {
		return err.Error()
	}
	text := ce.Code().String() + ": " + ce.Message()
	for _, d := range ce.Details() {
		m, err := d.Value()
		info, ok := m.(*errdetails.ErrorInfo)
		if err != nil || !ok || info.GetDomain() != "perfline.profiler.v1" {
			return fmt.Sprintf("%s, with the detail %v, %v", text, m, err)
		}
		text = info.GetReason() + " " + text
	}
	return text
}

func drain(r io.ReadCloser) []byte {
	defer r.Close()
	b, _ := io.ReadAll(r)
	return b
}
