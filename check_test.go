package perfline_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/guard"
	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/requests"
)

// A checked program serves requests.
type checked struct {
	pl  *perfline.Pipeline
	ctx context.Context
}

// serve has a handler behind the middleware serve n requests of different paths.
func (c checked) serve(h http.Handler, n int) {
	tl := observer.FromContext(c.ctx)
	h = bridgehttp.Server{Timeline: tl, TracerProvider: c.pl.TracerProvider()}.Middleware(h)
	for i := range n {
		r := httptest.NewRequestWithContext(c.ctx, http.MethodGet, fmt.Sprintf("/items/%d", i), http.NoBody)
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
}

// span makes a span of a kind that took some time, below a parent if ctx has one.
func (c checked) span(ctx context.Context, scope, name string, kind trace.SpanKind, took time.Duration, attrs ...attribute.KeyValue) context.Context {
	began := time.Now()
	ctx, span := c.pl.TracerProvider().Tracer(scope).Start(ctx, name, trace.WithSpanKind(kind), trace.WithTimestamp(began), trace.WithAttributes(attrs...))
	span.End(trace.WithTimestamp(began.Add(took)))
	return ctx
}

func routed() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /items/{id}", func(http.ResponseWriter, *http.Request) {})
	return mux
}

var empty = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})

// catchAll has one pattern for all paths, as the root of a program with another router.
func catchAll() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", empty)
	return mux
}

// manySpans makes a request with more spans than the store takes.
func manySpans(c checked) {
	ctx, request := c.pl.TracerProvider().Tracer("t").Start(c.ctx, "GET /report", trace.WithSpanKind(trace.SpanKindServer))
	for range 20 {
		c.span(ctx, "t", "query", trace.SpanKindClient, 0)
	}
	request.End()
}

func refusing(answer exporter.Answer) senderFunc {
	return func(context.Context, []byte) exporter.Answer { return answer }
}

// Each fault of a set-up is found with its numbers, and a set-up that is right has none.
func TestCheck(t *testing.T) { overBoth(t, testCheck) }

func testCheck(t *testing.T, start starter) {
	t.Helper()
	before := otel.GetTracerProvider()
	t.Cleanup(func() { otel.SetTracerProvider(before) })
	httpAttrs := []attribute.KeyValue{attribute.String("http.request.method", "GET"), attribute.String("url.path", "/a")}
	dbAttrs := []attribute.KeyValue{attribute.String("db.system.name", "sqlite")}
	slowAfter := func(d time.Duration) perfline.Config {
		return perfline.Config{Waits: &answers{}, Keep: bridge.KeepPolicy{Slow: d, PerSecond: -1}}
	}
	timed := func(n int) func(checked) {
		return func(c checked) {
			for range n {
				c.span(c.ctx, "t", "GET /items/{id}", trace.SpanKindServer, 5*time.Millisecond)
			}
		}
	}
	for _, c := range []struct {
		name   string
		config perfline.Config
		do     func(checked)
		what   []string // the beginnings of the findings
		change string   // a part of the first one's
	}{
		{"no requests", perfline.Config{}, func(checked) {}, nil, ""},
		{"a mux", perfline.Config{}, func(c checked) { c.serve(routed(), 30) }, nil, ""},
		{"no mux", perfline.Config{}, func(c checked) { c.serve(empty, 20) },
			[]string{"None of 20 HTTP requests in memory has a route, and their paths differ: 20 paths count as one route for each method."}, "bridgehttp.SetRoute"},
		{"all below /", perfline.Config{}, func(c checked) { c.serve(catchAll(), 30) }, []string{"None of 30 HTTP requests"}, "docs/frameworks.md"},
		{"too few requests", perfline.Config{}, func(c checked) { c.serve(empty, 19) }, nil, ""},
		{"one handler with one path", perfline.Config{}, func(c checked) {
			for range 30 {
				c.serve(empty, 1)
			}
		}, nil, ""},
		{"no handler matches", perfline.Config{}, func(c checked) { c.serve(http.NotFoundHandler(), 30) }, nil, ""},
		{"some have routes", perfline.Config{}, func(c checked) {
			c.serve(routed(), 1)
			c.serve(empty, 90)
		}, nil, ""},

		{"queries without a request", perfline.Config{}, func(c checked) {
			c.serve(routed(), 100)
			for range 30 {
				c.span(c.ctx, "otelsql", "SELECT items\u202e", trace.SpanKindClient, 0, dbAttrs...)
			}
			c.span(c.ctx, "otelsql", "sql.conn.ping", trace.SpanKindClient, 0, dbAttrs...) // of the pool
		}, []string{"30 queries have no request, beside 100 requests: no request shows them."}, "QueryContext"},
		{"few queries without a request", perfline.Config{}, func(c checked) {
			for range 19 {
				c.span(c.ctx, "otelsql", "CREATE TABLE", trace.SpanKindClient, 0, dbAttrs...)
			}
		}, nil, ""},
		{"queries at the start of many requests", perfline.Config{}, func(c checked) {
			for range 30 {
				c.span(c.ctx, "otelsql", "CREATE TABLE", trace.SpanKindClient, 0, dbAttrs...)
			}
			c.serve(routed(), 301)
		}, nil, ""},
		{"marks without a request", perfline.Config{}, func(c checked) {
			for range 25 {
				marks.Mark(c.ctx, "cache.miss")
			}
		}, []string{"25 marks have no request, beside 0 requests: no request shows them."}, "marks.StartJob"},

		{"two server spans", perfline.Config{}, func(c checked) {
			c.serve(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				bridgehttp.SetRoute(r.Context(), "/items/{id}")
				c.span(r.Context(), "otelchi", "GET", trace.SpanKindServer, 0, httpAttrs...)
			}), 1)
		}, []string{"In 1 request, perfline found 1 pair of server spans for the same thing: one of github.com/perfline/perfline, and below it one of otelchi."}, "Keep one instrumentation"},
		{"a gRPC server behind an HTTP server", perfline.Config{}, func(c checked) {
			c.serve(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				bridgehttp.SetRoute(r.Context(), "/items/{id}")
				c.span(r.Context(), "otelgrpc", "shop.Stock/Get", trace.SpanKindServer, 0, attribute.String("rpc.system.name", "grpc"))
			}), 1)
		}, nil, ""},
		{"two spans of a query", perfline.Config{}, func(c checked) {
			ctx, request := c.pl.TracerProvider().Tracer("t").Start(c.ctx, "GET /items", trace.WithSpanKind(trace.SpanKindServer))
			query := c.span(ctx, "gorm", "select items", trace.SpanKindClient, 0, dbAttrs...)
			c.span(query, "otelsql", "sql.conn.query", trace.SpanKindClient, 0, dbAttrs...)
			c.span(query, "otelsql", "sql.rows", trace.SpanKindClient, 0, dbAttrs...)
			request.End()
		}, []string{"In 1 request, perfline found 1 pair of client spans for the same thing: one of gorm, and below it one of otelsql."}, "docs/databases.md"},
		{"a call that is tried again", perfline.Config{}, func(c checked) {
			ctx, request := c.pl.TracerProvider().Tracer("t").Start(c.ctx, "GET /items", trace.WithSpanKind(trace.SpanKindServer))
			for tries := range 3 {
				call := c.span(ctx, "client", "GET", trace.SpanKindClient, 0, httpAttrs...)
				for range tries {
					c.span(call, "otelhttp", "GET", trace.SpanKindClient, 0, httpAttrs...)
				}
			}
			request.End()
		}, nil, ""},

		{"a threshold that is never reached", slowAfter(time.Second), timed(1000),
			[]string{"The slowest of 1000 requests took 5.0 ms, and a request is slow from 1.0 s on: no request gets a cause."}, "Keep.Slow"},
		{"a threshold after too few requests", slowAfter(time.Second), timed(999), nil, ""},
		{"a threshold that is near", slowAfter(10 * time.Millisecond), timed(1000), nil, ""},
		{"a threshold without a recorder", perfline.Config{Keep: bridge.KeepPolicy{Slow: time.Second}}, timed(1000), nil, ""},
		{"a threshold relative to the route", perfline.Config{Waits: &answers{}, Keep: bridge.KeepPolicy{Slow: time.Minute, Factor: 3}}, timed(1000), nil, ""},
		{"no threshold", slowAfter(-1), timed(1000), nil, ""},
		{"the default threshold", slowAfter(0), timed(1000), nil, ""},

		{"a limit of attributes", perfline.Config{}, func(c checked) {
			var attrs []attribute.KeyValue
			for i := range 130 {
				attrs = append(attrs, attribute.Int(fmt.Sprint(i), i))
			}
			c.span(c.ctx, "t", "GET /items", trace.SpanKindServer, 0, attrs...)
			c.serve(routed(), 1)
		}, []string{"1 of 2 requests lost attributes at a limit of the program: 2 in all."}, "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT"},
		{"a limit of spans", perfline.Config{Recent: recentOf(10)}, manySpans, []string{"1 of 1 request lost spans in memory at a limit of the program: 10 in all."}, "Recent.MaxSpans"},
		{"no limit", perfline.Config{}, manySpans, nil, ""},

		{"a backend that refuses", perfline.Config{Traces: exporter.Config{Sender: refusing(exporter.Answer{Err: errRefused})}}, func(c checked) {
			c.serve(routed(), 3)
			_ = c.pl.Flush(c.ctx)
		}, []string{"The backend has accepted none of 3 spans: 3 failed"}, "OTEL_EXPORTER_OTLP_ENDPOINT"},
		{"a backend that accepts", perfline.Config{Traces: exporter.Config{Sender: refusing(exporter.Answer{})}}, func(c checked) {
			c.serve(routed(), 3)
			_ = c.pl.Flush(c.ctx)
		}, nil, ""},

		{"a middleware around the page", perfline.Config{}, func(c checked) {
			page := live.Handler(c.pl, live.Config{Prefix: "/items/", Authorize: func(*http.Request) error { return nil }, Data: guard.Everything})
			mux := http.NewServeMux()
			mux.Handle("GET /items/{id}", page)
			c.serve(mux, 3)
		}, []string{"The requests in memory include 3 requests of perfline's own page or tools, such as GET /items/{id}: a middleware wraps the page."}, "live.Config{Next: bridgehttp.Middleware(mux)}"},
		{"the page around the middleware, as in the README", perfline.Config{}, func(c checked) {
			page := live.Handler(c.pl, live.Config{Next: empty})
			c.serve(routed(), 3)
			page.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, live.Prefix, http.NoBody))
		}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			otel.SetTracerProvider(bridge.NewTracerProvider(bridge.TracerProviderConfig{})) // as an earlier Start
			pl, ctx, _ := start(t, c.config)
			defer func() { _ = pl.Shutdown(patient(t)) }() // the test ignores losses
			c.do(checked{pl, ctx})
			var got []string
			for _, f := range perfline.Check(pl) {
				got = append(got, f.What)
				if len(got) == 1 && !strings.Contains(f.Change, c.change) {
					t.Errorf("the change is %q, want %q in it", f.Change, c.change)
				}
			}
			if !slices.EqualFunc(got, c.what, strings.HasPrefix) {
				t.Errorf("it found\n%q, want\n%q", got, c.what)
			}
		})
	}
}

// A provider that the program set before Start is a fault. Start logs the fault at once, and the check does not log it again.
func TestCheckOfAnEarlierProvider(t *testing.T) {
	before := otel.GetTracerProvider()
	t.Cleanup(func() { otel.SetTracerProvider(before) })
	synctest.Test(t, func(t *testing.T) {
		otel.SetTracerProvider(noop.NewTracerProvider())
		pl, _, log := start(t, perfline.Config{})
		found := perfline.Check(pl)
		if len(found) != 1 || !strings.HasPrefix(found[0].What, "The global tracer provider was set before perfline.Start, to a noop.TracerProvider.") {
			t.Errorf("it found %q", found)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if err := pl.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if n := strings.Count(log.String(), "level=WARN"); n != 1 {
			t.Errorf("the log has %d lines, want 1: %s", n, log)
		}
	})
}

// A pipeline logs each fault once: a fault of the first minute after a minute, and a later fault at one of the later checks.
func TestCheckIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &lockedLog{}
		tl := observer.NewTimeline(observer.TimelineOptions{})
		defer tl.Close()
		pl, err := perfline.Start(t.Context(), perfline.Config{Service: "test", Timeline: tl, Logger: slog.New(slog.NewTextHandler(log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		c := checked{pl, observer.NewContext(t.Context(), tl)}
		lines := func(after time.Duration) (n int) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			return strings.Count(log.String(), "the set-up of the program hides data")
		}
		c.serve(empty, 30)
		for _, step := range []struct {
			after time.Duration
			do    func()
			lines int
		}{
			{59 * time.Second, func() {}, 0},
			{time.Second, func() {}, 1},
			{0, func() { c.serve(empty, 30) }, 1},
			{4*time.Minute - 1, func() {}, 1},
			{1, func() {}, 1}, // after five minutes
			{0, func() {
				for range 100 {
					marks.Mark(c.ctx, "miss")
				}
			}, 1},
			{time.Hour - 1, func() {}, 1},
			{1, func() {}, 2},
			{24 * time.Hour, func() {}, 2},
		} {
			step.do()
			if n := lines(step.after); n != step.lines {
				t.Errorf("after %v more, the log has %d lines, want %d: %s", step.after, n, step.lines, log)
			}
		}
		if text := log.String(); !strings.Contains(text, "None of ") || !strings.Contains(text, "change=") || !strings.Contains(text, "docs/frameworks.md") {
			t.Errorf("the log has neither the fault nor the change: %s", text)
		}
		if err := pl.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A program that ends within the first minute logs nothing.
func TestCheckIsNotLoggedAfterShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		otel.SetTracerProvider(bridge.NewTracerProvider(bridge.TracerProviderConfig{})) // as an earlier Start
		pl, ctx, log := start(t, perfline.Config{})
		checked{pl, ctx}.serve(empty, 30)
		if n := len(perfline.Check(pl)); n != 1 {
			t.Errorf("it found %d faults, want 1", n)
		}
		time.Sleep(59 * time.Second)
		if err := pl.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if log.Len() > 0 {
			t.Errorf("the log has %s", log)
		}
	})
}

// A lockedLog is a log that a test reads while perfline writes.
type lockedLog struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A program's own Source with a nil Pipeline returns no facts of Start.
func TestCheckWithoutPipeline(t *testing.T) {
	pl, ctx, _ := start(t, perfline.Config{})
	defer func() { _ = pl.Shutdown(patient(t)) }()
	checked{pl, ctx}.serve(empty, 20)
	if n := len(perfline.Check(borrowed{other: pl})); n != 1 {
		t.Errorf("it found %d faults, want 1", n)
	}
}

// A borrowed source has the data of another pipeline, and none of its own.
type borrowed struct {
	*perfline.Pipeline
	other *perfline.Pipeline
}

func (b borrowed) Recent() *requests.Store  { return b.other.Recent() }
func (b borrowed) Counts() []exporter.Count { return b.other.Counts() }

var errRefused = errors.New("refused")

func recentOf(spans int) requests.Config { return requests.Config{MaxSpans: spans} }
