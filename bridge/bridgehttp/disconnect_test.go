package bridgehttp_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/internal/garbage"
	"github.com/perfline/perfline/internal/leaktest"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// tally is a processor that counts spans and marks by their name.
type tally struct {
	mu    sync.Mutex // guards what follows
	spans map[string]int64
	marks map[string]int64
}

func (c *tally) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (c *tally) ForceFlush(context.Context) error                { return nil }
func (c *tally) Shutdown(context.Context) error                  { return nil }

func (c *tally) OnEnd(s sdktrace.ReadOnlySpan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spans[s.Name()]++
	for _, e := range s.Events() {
		if e.Name != "exception" { // of spans that end while a handler panics
			c.marks[e.Name]++
		}
	}
}

// A storm is a server behind the middleware that calls another one, and clients
// that leave it in every way there is.
type storm struct {
	t         *testing.T
	tracer    trace.Tracer // of other instrumentation
	outer     *httptest.Server
	inner     *httptest.Server
	client    *http.Client // of outer
	calls     *http.Client // of inner, through the Transport
	handlers  sync.WaitGroup
	served    atomic.Int64
	called    atomic.Int64
	foreign   atomic.Int64
	timelines garbage.Objects
}

// ServeHTTP does what the request's query says: f flushes first, c calls, a
// aborts, and n is the answer's length.
func (s *storm) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.served.Add(1)
	ctx := r.Context()
	garbage.Watch(&s.timelines, "timeline", observer.FromContext(ctx))
	q := r.URL.Query()
	marks.Mark(ctx, "begin")
	defer marks.Time(ctx, "all").End()
	_, span := s.tracer.Start(ctx, "theirs")
	s.foreign.Add(1)
	defer span.End()
	_, _ = io.Copy(io.Discard, r.Body)
	if q.Has("f") {
		w.(http.Flusher).Flush()
	}
	if q.Has("c") {
		s.call(ctx, q.Get("c"))
	}
	marks.Time(ctx, "leaf").End()
	n, _ := strconv.Atoi(q.Get("n"))
	_, _ = w.Write(make([]byte, n))
	if q.Has("a") {
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(make([]byte, n))
}

// call calls the inner server and reads so much of its answer.
func (s *storm) call(ctx context.Context, read string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.inner.URL, nil)
	if err != nil {
		s.t.Error(err)
		return
	}
	s.called.Add(1)
	resp, err := s.calls.Do(req)
	if err != nil {
		return // the client has gone
	}
	n, _ := strconv.ParseInt(read, 10, 64)
	_, _ = io.CopyN(io.Discard, resp.Body, n)
	resp.Body.Close()
}

// visit makes one request and leaves it in a way that chance chooses.
func (s *storm) visit(rng *rand.Rand) {
	path := fmt.Sprintf("/?n=%d", rng.IntN(20_000))
	if rng.IntN(2) == 0 {
		path += "&f"
	}
	if rng.IntN(4) == 0 {
		path += fmt.Sprintf("&c=%d", rng.IntN(40_000))
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var read int64 = 1 << 20
	switch rng.IntN(8) {
	case 0: // while the handler runs
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, time.Duration(rng.IntN(3000))*time.Microsecond)
		defer stop()
	case 1: // while it streams
		read = int64(rng.IntN(10_000))
	case 2: // the handler does
		path += "&a"
	case 3:
		s.leave(path, "Content-Length: 1000\r\n\r\nhalf of a body")
		return
	case 4:
		s.leave(path, "\r\n")
		return
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.outer.URL+path, strings.NewReader("a body"))
	if err != nil {
		s.t.Error(err)
		return
	}
	if rng.IntN(2) == 0 {
		req.Header.Set("TE", "trailers")
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, resp.Body, read)
	resp.Body.Close()
}

// leave sends the beginning of a request and closes the connection.
func (s *storm) leave(path, rest string) {
	conn, err := new(net.Dialer).DialContext(context.Background(), "tcp", s.outer.Listener.Addr().String())
	if err != nil {
		s.t.Error(err)
		return
	}
	_, _ = io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: x\r\n"+rest)
	_ = conn.Close()
}

// Whatever clients do, nothing of their requests is left, and nothing is lost.
func TestDisconnects(t *testing.T) {
	const requests, visitors = 2000, 16
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	before := goleak.IgnoreCurrent()

	next := &tally{spans: map[string]int64{}, marks: map[string]int64{}}
	tl := observer.NewTimeline(observer.TimelineOptions{})
	tp := bothproviders.New(t, tl, nil, next)
	var entries [2]atomic.Int64
	types := []observer.Type{observer.Navigation, observer.Resource}
	for i, typ := range types {
		if _, err := tl.Observe(func(l observer.List) { entries[i].Add(int64(len(l.Entries()))) }, observer.Options{Type: typ}); err != nil {
			t.Fatal(err)
		}
	}
	transport := &http.Transport{MaxIdleConnsPerHost: visitors}
	s := &storm{t: t, tracer: tp.Tracer("theirs"), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: visitors}}}
	s.calls = &http.Client{Transport: bridgehttp.Client{TracerProvider: tp}.Transport(transport)}
	s.inner = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Server-Timing", "inner;dur=1")
		for range 4 {
			_, _ = w.Write(make([]byte, 10_000))
			w.(http.Flusher).Flush()
		}
	}))
	h := bridgehttp.Server{TracerProvider: tp, Timeline: tl, ServerTiming: bridgehttp.ServerTiming{Names: []string{"*"}}}.Middleware(s)
	s.outer = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.handlers.Add(1)
		defer s.handlers.Done()
		h.ServeHTTP(w, r)
	}))
	s.outer.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.outer.Start()

	var wg sync.WaitGroup
	for i := range visitors {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			for range requests / visitors {
				s.visit(rng)
			}
		})
	}
	wg.Wait()
	s.client.CloseIdleConnections()
	s.outer.Close()
	s.handlers.Wait()
	s.calls.CloseIdleConnections()
	s.inner.Close()

	if err := tp.ForceFlush(context.Background()); err != nil {
		t.Fatal(err)
	}
	tl.Deliver()
	served, called, foreign := s.served.Load(), s.called.Load(), s.foreign.Load()
	s.timelines.WaitFor(t, 100)
	// Marks that still wait are lost, and counted, when the provider ends.
	if err := tp.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if st := (*record.Timeline)(tl).UnitStats(); st.MarksAfterEnd+st.MarksOfOpenSpans != 0 || st.Waiting != 0 {
		t.Errorf("%+v", st)
	}
	want := map[string]int64{"POST": served, "GET": called, "theirs": foreign, "all": served, "leaf": served}
	if !maps.Equal(next.spans, want) || next.marks["begin"] != served || len(next.marks) != 1 {
		t.Errorf("spans %v and marks %v, want %v and %d begin", next.spans, next.marks, want, served)
	}
	if total := tl.Stats().Total(); total.Overflow+total.ObserverFull != 0 {
		t.Errorf("%+v", total)
	}
	if n, c := entries[0].Load(), entries[1].Load(); n != served || c != called || served < requests/2 {
		t.Errorf("%d navigation and %d resource entries, want %d and %d; %d requests were made", n, c, served, called, requests)
	}
	t.Logf("%d requests served, %d calls; %d timelines still in memory", served, called, s.timelines.Left())
	if err := leaktest.Find(before); err != nil {
		t.Error(err)
	}
}
