package integration

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

const (
	requests = 192
	together = 64 // requests that are in the handler at the same time, at least
)

// The whole tree of one request, as handle makes it: span, its parent, its events.
var wantTree = map[string]struct {
	parent string
	count  int
	events map[string]int
}{
	"GET /task/{req}": {"", 1, map[string]int{"begin": 1, "goroutine": 3, "last": 1}},
	"work":            {"GET /task/{req}", 1, nil},
	"parallel":        {"GET /task/{req}", 3, nil},
	"total":           {"GET /task/{req}", 1, nil},
	"outer":           {"GET /task/{req}", 1, map[string]int{"in.outer": 1}},
	"library":         {"outer", 1, map[string]int{"in.library": 1, "before.end": 1}},
	"inner":           {"library", 1, map[string]int{"in.inner": 1}},
}

// handle makes marks and measures in every way: on other goroutines than the
// span's, right before an End, nested, overlapping, around another library's
// span.
func handle(ctx context.Context, library trace.Tracer, req int) error {
	id := slog.Int("req", req)
	marks.Mark(ctx, "begin", id, slog.Float64("float", 1.5), slog.Bool("bool", true), slog.String("string", "x"))
	work := marks.Time(ctx, "work", id)
	var wg sync.WaitGroup
	for g := range 3 {
		wg.Go(func() {
			t := marks.Time(ctx, "parallel", id, slog.Int("g", g))
			marks.Mark(ctx, "goroutine", id, slog.Int("g", g))
			t.End()
		})
	}
	outerCtx, outer := marks.Start(ctx, "outer", id)
	marks.Mark(outerCtx, "in.outer", id)
	libCtx, lib := library.Start(outerCtx, "library")
	marks.Mark(libCtx, "in.library", id)
	innerCtx, inner := marks.Start(libCtx, "inner", id)
	marks.Mark(innerCtx, "in.inner", id)
	inner.End()
	elsewhere(func() { marks.Mark(libCtx, "before.end", id) })
	lib.End()
	wg.Wait()
	outer.End()
	work.End()
	_, err := marks.Measure(ctx, "total", marks.MeasureOptions{Start: marks.Named("begin"), Detail: []slog.Attr{id}})
	elsewhere(func() { marks.Mark(ctx, "last", id) })
	return err
}

// elsewhere runs f on another goroutine and returns when it has run.
func elsewhere(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// key identifies an entry: name, request and goroutine.
type key struct {
	name   string
	req, g int64
}

func TestEveryMarkAndMeasureArrives(t *testing.T) {
	overBoth(t, func(t *testing.T) {
		for _, protocol := range []string{"grpc", "http/protobuf"} {
			t.Run(protocol, func(t *testing.T) { everyMarkAndMeasureArrives(t, protocol) })
		}
	})
}

func everyMarkAndMeasureArrives(t *testing.T, protocol string) {
	service := ""
	pl, tl, _ := start(t, jaeger, func(c *perfline.Config) {
		service = c.Service
		c.Traces.Protocol = protocol
		if protocol == "http/protobuf" {
			c.Traces.Endpoint = jaeger.OTLPHTTP()
		}
	})
	recorded := map[key]observer.Entry{}
	joined := map[*observer.Timeline]int{} // entries that are the library's spans
	watch := func(entries []observer.Entry) {
		for _, e := range entries {
			if e.Name() == "library" {
				joined[e.Timeline()]++
				continue
			}
			k := key{name: e.Name(), g: -1}
			for _, a := range e.Detail() {
				switch a.Key {
				case "req":
					k.req = a.Value.Int64()
				case "g":
					k.g = a.Value.Int64()
				}
			}
			if _, twice := recorded[k]; twice {
				t.Errorf("%v delivered twice to the observer", k)
			}
			recorded[k] = e
		}
	}
	obs, err := tl.Observe(func(l observer.List) { watch(l.Entries()) },
		observer.Options{Types: []observer.Type{observer.Mark, observer.Measure}, MaxBuffer: 1 << 17})
	if err != nil {
		t.Fatal(err)
	}

	library := pl.TracerProvider().Tracer("library")
	gate := newGate(together)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /task/{req}", func(w http.ResponseWriter, r *http.Request) {
		req, err := strconv.Atoi(r.PathValue("req"))
		if err != nil {
			t.Error(err)
		}
		gate.pass()
		if err := handle(r.Context(), library, req); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusAccepted)
	})
	srv := httptest.NewServer(server(pl, tl).Middleware(mux))
	defer srv.Close()
	sendAll(t, srv.URL)
	srv.Close()

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := pl.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	tl.Deliver()
	obs.Disconnect()
	if len(joined) != requests {
		t.Errorf("%d of %d requests have the library's span on their timeline", len(joined), requests)
	}
	for request, n := range joined {
		if n != 1 {
			t.Errorf("the request from %v has the library's span %d times on its timeline", request.Origin(), n)
		}
	}
	traces, err := jaeger.Traces(ctx, service)
	if err != nil {
		t.Fatal(err)
	}
	if len(traces) != requests {
		t.Errorf("%d traces in Jaeger, %d requests sent", len(traces), requests)
	}
	matched := 0
	for _, spans := range traces {
		matched += checkTrace(t, spans, recorded)
	}
	if want := requests * (6 + 1 + 1 + 1 + 7); len(recorded) != want || matched != want {
		t.Errorf("recorded %d marks and measures, found %d of them in Jaeger, want %d", len(recorded), matched, want)
	}
}

func sendAll(t *testing.T, url string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * together}}
	defer client.CloseIdleConnections()
	var wg sync.WaitGroup
	next := make(chan int)
	for range 2 * together {
		wg.Go(func() {
			for req := range next {
				resp, err := client.Get(fmt.Sprintf("%s/task/%d", url, req))
				if err != nil {
					t.Error(err)
					continue
				}
				resp.Body.Close()
			}
		})
	}
	for req := range requests {
		next <- req
	}
	close(next)
	wg.Wait()
}

// checkTrace compares one trace with wantTree and with what was recorded, and
// returns how many marks and measures it found.
func checkTrace(t *testing.T, spans []backend.Span, recorded map[key]observer.Entry) (found int) {
	t.Helper()
	names := map[string]string{"": ""}
	count := map[string]int{}
	for _, s := range spans {
		names[s.ID] = s.Name
		count[s.Name]++
	}
	for name, want := range wantTree {
		if count[name] != want.count {
			t.Errorf("trace %s has %d spans %q, want %d", spans[0].TraceID, count[name], name, want.count)
		}
	}
	var req int64 = -1
	for _, s := range spans {
		if s.Name == "inner" {
			req, _ = s.Tags["req"].(int64)
		}
	}
	for _, s := range spans {
		want, ok := wantTree[s.Name]
		if !ok {
			t.Errorf("unexpected span %q", s.Name)
			continue
		}
		if got := names[s.ParentID]; got != want.parent {
			t.Errorf("parent of %q is %q, want %q", s.Name, got, want.parent)
		}
		switch s.Name {
		case "library":
		case "GET /task/{req}":
			for tag, want := range map[string]any{"http.request.method": "GET", "http.route": "/task/{req}",
				"http.response.status_code": int64(http.StatusAccepted), "span.kind": "server"} {
				if s.Tags[tag] != want {
					t.Errorf("server span: %s is %v (%T), want %v", tag, s.Tags[tag], s.Tags[tag], want)
				}
			}
		default:
			k := key{s.Name, req, -1}
			if g, ok := s.Tags["g"].(int64); ok {
				k.g = g
			}
			e, ok := recorded[k]
			if !ok || s.Tags["req"] != req {
				t.Errorf("span %v (req tag %v) was not recorded, or is in the wrong trace", k, s.Tags["req"])
				continue
			}
			found++
			if !s.Start.Equal(e.Time().Truncate(time.Microsecond)) || s.Duration != e.Duration().Truncate(time.Microsecond) {
				t.Errorf("span %v: %v for %v, recorded %v for %v", k, s.Start, s.Duration, e.Time(), e.Duration())
			}
		}
		found += checkEvents(t, s, want.events, req, recorded)
	}
	return found
}

func checkEvents(t *testing.T, s backend.Span, want map[string]int, req int64, recorded map[key]observer.Entry) (found int) {
	t.Helper()
	count := map[string]int{}
	for _, ev := range s.Events {
		count[ev.Name]++
		k := key{ev.Name, req, -1}
		if g, ok := ev.Tags["g"].(int64); ok {
			k.g = g
		}
		e, ok := recorded[k]
		if !ok || ev.Tags["req"] != req {
			t.Errorf("event %v (req tag %v) on span %q was not recorded, or is in the wrong trace", k, ev.Tags["req"], s.Name)
			continue
		}
		found++
		if !ev.Time.Equal(e.Time().Truncate(time.Microsecond)) {
			t.Errorf("event %v at %v, recorded at %v", k, ev.Time, e.Time())
		}
		if ev.Name == "begin" && (ev.Tags["float"] != 1.5 || ev.Tags["bool"] != true || ev.Tags["string"] != "x") {
			t.Errorf("event %v has tags %v, want float 1.5, bool true, string x", k, ev.Tags)
		}
	}
	for name, n := range want {
		if count[name] != n {
			t.Errorf("span %q has %d events %q, want %d", s.Name, count[name], name, n)
		}
	}
	if len(want) == 0 && len(s.Events) > 0 {
		t.Errorf("span %q has %d events, want none", s.Name, len(s.Events))
	}
	return found
}

// A gate lets callers through n at a time.
type gate struct {
	mu   sync.Mutex
	n    int
	here int
	open chan struct{}
}

func newGate(n int) *gate { return &gate{n: n, open: make(chan struct{})} }

func (g *gate) pass() {
	g.mu.Lock()
	g.here++
	open := g.open
	if g.here == g.n {
		close(open)
		g.here, g.open = 0, make(chan struct{})
	}
	g.mu.Unlock()
	<-open
}
