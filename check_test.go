package perfline_test

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
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
	"github.com/perfline/perfline/profiling"
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

// left serves n requests of one route, each with a client that leaves when the handler calls leave.
func (c checked) left(h func(w http.ResponseWriter, r *http.Request, leave func()), n int) {
	for range n {
		ctx, leave := context.WithCancel(c.ctx)
		mux := http.NewServeMux()
		mux.HandleFunc("GET /tail", func(w http.ResponseWriter, r *http.Request) { h(w, r, leave) })
		server := bridgehttp.Server{Timeline: observer.FromContext(ctx), TracerProvider: c.pl.TracerProvider()}
		server.Middleware(mux).ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/tail", http.NoBody))
		leave()
	}
}

// leaving writes a part of a response, after which the client leaves.
func leaving(w http.ResponseWriter, _ *http.Request, leave func()) {
	_, _ = io.WriteString(w, "line\n")
	w.(http.Flusher).Flush()
	leave()
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
		{"queries before the first request", perfline.Config{}, func(c checked) {
			for range 30 {
				c.span(c.ctx, "otelsql", "CREATE TABLE", trace.SpanKindClient, 0, dbAttrs...)
				marks.Mark(c.ctx, "loaded")
			}
			time.Sleep(time.Nanosecond) // the clock moves on
			c.serve(routed(), 1)
		}, nil, ""},
		{"queries before any request", perfline.Config{}, func(c checked) {
			for range 30 {
				c.span(c.ctx, "otelsql", "CREATE TABLE", trace.SpanKindClient, 0, dbAttrs...)
			}
		}, nil, ""},
		{"queries beside many requests", perfline.Config{}, func(c checked) {
			c.serve(routed(), 301)
			for range 30 {
				c.span(c.ctx, "otelsql", "SELECT", trace.SpanKindClient, 0, dbAttrs...)
			}
		}, nil, ""},
		{"marks without a request", perfline.Config{}, func(c checked) {
			c.serve(routed(), 1)
			for range 25 {
				marks.Mark(c.ctx, "cache.miss")
			}
		}, []string{"25 marks have no request, beside 1 request: no request shows them."}, "marks.StartJob"},

		{"responses that clients leave", perfline.Config{}, func(c checked) { c.left(leaving, 20) },
			[]string{"20 of 20 requests of GET /tail failed, and in memory all of these because the client left after a part of the response."}, "bridgehttp.SetStream"},
		{"too few responses that clients leave", perfline.Config{}, func(c checked) { c.left(leaving, 19) }, nil, ""},
		{"few of the responses that clients leave", perfline.Config{}, func(c checked) {
			c.left(func(w http.ResponseWriter, _ *http.Request, _ func()) { _, _ = io.WriteString(w, "whole") }, 181)
			c.left(leaving, 20)
		}, nil, ""},
		{"streams that clients leave", perfline.Config{}, func(c checked) {
			c.left(func(w http.ResponseWriter, r *http.Request, leave func()) {
				bridgehttp.SetStream(r.Context())
				leaving(w, r, leave)
			}, 30)
		}, nil, ""},
		{"downloads that clients leave", perfline.Config{}, func(c checked) {
			c.left(func(w http.ResponseWriter, r *http.Request, leave func()) {
				w.Header().Set("Content-Length", "100")
				leaving(w, r, leave)
			}, 30)
		}, nil, ""},
		{"clients that leave before the response", perfline.Config{}, func(c checked) {
			c.left(func(_ http.ResponseWriter, _ *http.Request, leave func()) { leave() }, 30)
		}, nil, ""},
		{"responses that clients leave, beside errors", perfline.Config{}, func(c checked) {
			c.left(leaving, 20)
			c.left(func(w http.ResponseWriter, _ *http.Request, _ func()) { w.WriteHeader(http.StatusInternalServerError) }, 1)
		}, nil, ""},

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
		}, []string{"Of the 2 requests in memory that perfline has checked, 1 lost attributes at a limit of the program: 2 in all."}, "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT"},
		{"a limit of spans", perfline.Config{Recent: recentOf(10)}, manySpans, []string{"Of the 1 request in memory, 1 lost spans at a limit of the program: 10 in all."}, "Recent.MaxSpans"},
		{"a limit of spans in some of many requests", perfline.Config{Recent: recentOf(10)}, func(c checked) {
			c.serve(routed(), 40)
			for range 5 {
				manySpans(c)
			}
		}, []string{"Of the 45 requests in memory, 5 lost spans at a limit of the program: 50 in all."}, "docs/keep.md#bounds"},
		{"a limit of spans in a request inside another", perfline.Config{Recent: recentOf(10)}, func(c checked) {
			ctx, request := c.pl.TracerProvider().Tracer("t").Start(c.ctx, "GET /outer", trace.WithSpanKind(trace.SpanKindServer))
			manySpans(checked{c.pl, trace.ContextWithRemoteSpanContext(ctx, request.SpanContext())})
			request.End()
		}, []string{"Of the 2 requests in memory, 2 lost spans at a limit of the program: 10 in all."}, "Recent.MaxSpans"},
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

// wrapping is a program's provider around another one.
type wrapping struct{ trace.TracerProvider }

// sliced is a provider that == cannot compare.
type sliced struct {
	noop.TracerProvider
	_ []string
}

// A provider that the program sets after Start is a fault, unless spans of the provider may reach the pipeline, or requests arrive.
func TestCheckOfALaterProvider(t *testing.T) { overBoth(t, testCheckOfALaterProvider) }

func testCheckOfALaterProvider(t *testing.T, start starter) {
	t.Helper()
	before := otel.GetTracerProvider()
	t.Cleanup(func() { otel.SetTracerProvider(before) })
	for _, c := range []struct {
		name  string
		later func(*perfline.Pipeline) trace.TracerProvider
		n     int // requests
		found string
	}{
		{"none", func(*perfline.Pipeline) trace.TracerProvider { return otel.GetTracerProvider() }, 0, ""},
		{"no-op", func(*perfline.Pipeline) trace.TracerProvider { return noop.NewTracerProvider() }, 0, "to a noop.TracerProvider, and no request has reached perfline."},
		{"no-op beside requests", func(*perfline.Pipeline) trace.TracerProvider { return noop.NewTracerProvider() }, 1, ""},
		{"SDK", func(*perfline.Pipeline) trace.TracerProvider { return sdktrace.NewTracerProvider() }, 0, "to a *trace.TracerProvider,"},
		{"not comparable", func(*perfline.Pipeline) trace.TracerProvider { return sliced{} }, 0, "to a perfline_test.sliced,"},
		{"a wrapper of another", func(*perfline.Pipeline) trace.TracerProvider { return &wrapping{noop.NewTracerProvider()} }, 0, "to a *perfline_test.wrapping,"},
		{"a wrapper", func(*perfline.Pipeline) trace.TracerProvider { return wrapping{otel.GetTracerProvider()} }, 0, ""},
		{"a pointer to a wrapper", func(pl *perfline.Pipeline) trace.TracerProvider { return &wrapping{pl.TracerProvider()} }, 0, ""},
		{"the pipeline's", (*perfline.Pipeline).TracerProvider, 0, ""},
		{"with labels", func(pl *perfline.Pipeline) trace.TracerProvider {
			return profiling.WrapTracerProvider(pl.TracerProvider())
		}, 0, ""},
		{"of another Start", func(*perfline.Pipeline) trace.TracerProvider {
			return bridge.NewTracerProvider(bridge.TracerProviderConfig{})
		}, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			otel.SetTracerProvider(bridge.NewTracerProvider(bridge.TracerProviderConfig{})) // as an earlier Start
			pl, ctx, _ := start(t, perfline.Config{})
			defer func() { _ = pl.Shutdown(patient(t)) }()
			otel.SetTracerProvider(c.later(pl))
			checked{pl, ctx}.serve(routed(), c.n)
			found := perfline.Check(pl)
			if len(found) != min(1, len(c.found)) || len(found) > 0 && (!strings.Contains(found[0].What, c.found) || !strings.Contains(found[0].Change, "Config.TracerProvider")) {
				t.Errorf("it found %q, want %q", found, c.found)
			}
		})
	}
}

// The log names a later provider once.
func TestCheckOfALaterProviderIsLogged(t *testing.T) {
	before := otel.GetTracerProvider()
	t.Cleanup(func() { otel.SetTracerProvider(before) })
	synctest.Test(t, func(t *testing.T) {
		otel.SetTracerProvider(bridge.NewTracerProvider(bridge.TracerProviderConfig{})) // as an earlier Start
		pl, _, log := start(t, perfline.Config{})
		otel.SetTracerProvider(noop.NewTracerProvider())
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if err := pl.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if text := log.String(); strings.Count(text, "level=WARN") != 1 || !strings.Contains(text, "after perfline.Start, to a noop.TracerProvider") {
			t.Errorf("the log is %s", text)
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

// A request inside another one is no further request of the finding on thresholds.
func TestCheckOfThresholdsCountsCallsIntoTheProcessOnce(t *testing.T) {
	for _, c := range []struct{ requests, want int }{{999, 0}, {1000, 1}} {
		pl, ctx, _ := start(t, perfline.Config{Waits: &answers{}, Keep: bridge.KeepPolicy{Slow: 24 * time.Hour}})
		tracer := pl.TracerProvider().Tracer("t")
		for range c.requests {
			outerCtx, outer := tracer.Start(ctx, "GET /outer", trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attribute.String("http.route", "/outer")))
			_, call := tracer.Start(outerCtx, "GET", trace.WithSpanKind(trace.SpanKindClient))
			_, inner := tracer.Start(trace.ContextWithRemoteSpanContext(ctx, call.SpanContext().WithRemote(true)), "GET /inner", trace.WithSpanKind(trace.SpanKindServer))
			inner.End()
			call.End()
			outer.End()
		}
		n := 0
		for _, f := range perfline.Check(pl) {
			if strings.HasPrefix(f.What, fmt.Sprintf("The slowest of %d requests took", c.requests)) {
				n++
			} else {
				t.Errorf("it found %q", f.What)
			}
		}
		if n != c.want {
			t.Errorf("of %d requests, it found %d thresholds, want %d", c.requests, n, c.want)
		}
		if err := pl.Shutdown(patient(t)); err != nil {
			t.Error(err)
		}
	}
}
