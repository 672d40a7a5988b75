package bridgetest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/bridge/bridgetest"
	"github.com/perfline/perfline/internal/leaktest"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/scope"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A fakeT is a test whose failures do not count.
type fakeT struct {
	testing.TB
	cleanups []func()
	failures []string
	log      []string
}

func newT() *fakeT { return &fakeT{} }

func (t *fakeT) Helper()                    {}
func (t *fakeT) Cleanup(f func())           { t.cleanups = append(t.cleanups, f) }
func (t *fakeT) Failed() bool               { return len(t.failures) > 0 }
func (t *fakeT) Logf(f string, args ...any) { t.log = append(t.log, fmt.Sprintf(f, args...)) }
func (t *fakeT) Errorf(f string, args ...any) {
	t.failures = append(t.failures, fmt.Sprintf(f, args...))
}
func (t *fakeT) Fatalf(f string, args ...any) { t.Errorf(f, args...) }

func (t *fakeT) end() {
	for _, f := range t.cleanups {
		f()
	}
}

// overBoth runs a test over both providers.
func overBoth(t *testing.T, test func(*testing.T, func(testing.TB) *bridgetest.Recorder)) {
	t.Helper()
	t.Run("perfline", func(t *testing.T) {
		t.Parallel()
		test(t, bridgetest.New)
	})
	t.Run("SDK", func(t *testing.T) {
		t.Parallel()
		sdk := sdktrace.NewTracerProvider()
		test(t, func(t testing.TB) *bridgetest.Recorder { return bridgetest.Over(t, sdk) })
	})
}

func TestTree(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(context.Context, trace.Tracer)
		want string
	}{
		{"nothing", func(context.Context, trace.Tracer) {}, ""},
		{"marks and measures under no span", func(ctx context.Context, _ trace.Tracer) {
			marks.Mark(ctx, "first", slog.Int("n", 1))
			marks.Time(ctx, "work", slog.Int("n", 2)).End()
			marks.Mark(ctx, "last")
		}, `
			* first n=1
			work n=2
			* last
		`},
		{"in the order of time, on whatever goroutine", func(ctx context.Context, tracer trace.Tracer) {
			ctx, root := tracer.Start(ctx, "root", trace.WithSpanKind(trace.SpanKindServer))
			marks.Mark(ctx, "a")
			root.AddEvent("b")
			outer, m := marks.Start(ctx, "outer")
			in(func() { marks.Time(outer, "leaf").End() })
			in(func() { marks.Mark(outer, "c") })
			m.End()
			_, call := tracer.Start(ctx, "call", trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attribute.String("n", "x y")))
			call.End()
			marks.Mark(ctx, "d")
			root.End()
		}, `
			root (server)
			  * a
			  * b
			  outer
			    leaf
			    * c
			  call n=x y (client)
			  * d
		`},
		{"errors", func(ctx context.Context, tracer trace.Tracer) {
			ctx, root := tracer.Start(ctx, "root")
			_, m := marks.Start(ctx, "started")
			m.Fail(errors.New("refused"))
			m.End()
			root.SetStatus(codes.Error, "")
			root.End()
		}, `
			root (error)
			  started (error: refused)
			    * exception
		`},
		{"what has not ended", func(ctx context.Context, tracer trace.Tracer) {
			ctx, _ = tracer.Start(ctx, "root")
			ctx, _ = marks.Start(ctx, "measure")
			_, span := tracer.Start(ctx, "child")
			span.End()
		}, `
			root (not ended)
			  measure (not ended)
			    child
		`},
		{"a remote parent", func(ctx context.Context, tracer trace.Tracer) {
			ctx = trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
				TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled,
			}))
			_, span := tracer.Start(ctx, "root")
			span.End()
		}, `
			root
		`},
	} {
		t.Run(c.name, func(t *testing.T) {
			overBoth(t, func(t *testing.T, open func(testing.TB) *bridgetest.Recorder) {
				rec := open(t)
				c.do(rec.Context(t.Context()), rec.TracerProvider().Tracer("t"))
				rec.Want(c.want, "n")
			})
		})
	}
}

// in runs f on another goroutine.
func in(f func()) {
	var wg sync.WaitGroup
	wg.Go(f)
	wg.Wait()
}

func TestSpans(t *testing.T) {
	overBoth(t, func(t *testing.T, open func(testing.TB) *bridgetest.Recorder) {
		rec := open(t)
		ctx, outer := rec.TracerProvider().Tracer("shop").Start(rec.Context(t.Context()), "outer", trace.WithAttributes(attribute.Int("n", 1)))
		marks.Mark(ctx, "mark", slog.String("key", "value"))
		marks.Time(ctx, "measure").End()
		outer.End()
		all := rec.Spans()
		if len(all) != 2 {
			t.Fatalf("%d spans, want 2", len(all))
		}
		span, measure := all[0], all[1]
		if span.Name != "outer" || span.Parent != nil || len(span.Children) != 1 || span.Children[0] != measure || measure.Parent != span {
			t.Errorf("the spans are %+v and %+v, want measure under outer", span, measure)
		}
		if span.InstrumentationScope.Name != "shop" || measure.InstrumentationScope.Name != scope.Name {
			t.Errorf("the scopes are %q and %q", span.InstrumentationScope.Name, measure.InstrumentationScope.Name)
		}
		if !span.SpanContext.Equal(outer.SpanContext()) || span.Attr("n").AsInt64() != 1 || span.Attr("m").Type() != attribute.EMPTY {
			t.Errorf("the span is %+v", span)
		}
		if e := span.Events; len(e) != 1 || e[0].Name != "mark" || e[0].Attributes[0] != attribute.String("key", "value") {
			t.Errorf("the events are %+v, want the mark", e)
		}
		if span.EndTime.Before(span.StartTime) || measure.StartTime.Before(span.StartTime) || measure.EndTime.After(span.EndTime) {
			t.Errorf("the times are %+v and %+v", span, measure)
		}
		entries := rec.Entries(observer.Filter{Type: observer.Mark}, observer.Filter{Type: observer.Measure, Name: "measure"})
		if len(entries) != 2 || entries[0].Name() != "mark" || entries[1].Name() != "measure" {
			t.Errorf("the entries are %v, want the mark and the measure", entries)
		}
		for i := range entries {
			if got := (*record.Entry)(&entries[i]).Span(); trace.SpanID(got.Parent) != outer.SpanContext().SpanID() {
				t.Errorf("%v is under the span %x", entries[i], got.Parent)
			}
		}
	})
}

// A middleware's request, its marks and measures, and Server-Timing are as in production.
func TestMiddleware(t *testing.T) {
	overBoth(t, func(t *testing.T, open func(testing.TB) *bridgetest.Recorder) {
		rec := open(t)
		mux := http.NewServeMux()
		mux.HandleFunc("GET /products/{id}", func(_ http.ResponseWriter, r *http.Request) {
			marks.Mark(r.Context(), "cache.miss")
			marks.Time(r.Context(), "render").End()
		})
		server := bridgehttp.Server{TracerProvider: rec.TracerProvider(), Timeline: rec.Timeline()}
		server.Middleware(mux).ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", "/products/7", http.NoBody))
		rec.Want(`
			GET /products/{id} http.route=/products/{id} (server)
			  * cache.miss
			  render
		`, "http.route")
		if got := rec.Entries(observer.Filter{Type: observer.Navigation}); len(got) != 1 || got[0].Name() != "/products/7" {
			t.Errorf("the navigation entries are %v, want one", got)
		}
	})
}

// A span that a sampler drops is in no trace. Observers see it.
func TestUnsampled(t *testing.T) {
	t.Parallel()
	rec := bridgetest.Over(t, sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())))
	ctx, span := rec.TracerProvider().Tracer("t").Start(rec.Context(t.Context()), "span")
	marks.Mark(ctx, "mark")
	marks.Time(ctx, "measure").End()
	span.End()
	rec.Want("")
	if got := rec.Entries(); len(got) != 2 {
		t.Errorf("the entries are %v, want two", got)
	}
}

// A test that fails says what was recorded.
func TestFailures(t *testing.T) {
	overBoth(t, func(t *testing.T, open func(testing.TB) *bridgetest.Recorder) {
		for name, c := range map[string]struct {
			fail func(*bridgetest.Recorder)
			want string
		}{
			"Want":           {func(rec *bridgetest.Recorder) { rec.Want("\tother\n") }, "recorded\nspan\n  * mark\nspan\nwant\nother\n"},
			"Span, of none":  {func(rec *bridgetest.Recorder) { rec.Span("other") }, `0 spans have the name "other", want 1`},
			"Span, of two":   {func(rec *bridgetest.Recorder) { rec.Span("span") }, `2 spans have the name "span", want 1`},
			"without reason": {func(*bridgetest.Recorder) {}, ""},
		} {
			t.Run(name, func(t *testing.T) {
				fake := newT()
				rec := open(fake)
				ctx, span := rec.TracerProvider().Tracer("t").Start(rec.Context(t.Context()), "span")
				marks.Mark(ctx, "mark", slog.Int("n", 1))
				span.End()
				_, span = rec.TracerProvider().Tracer("t").Start(rec.Context(t.Context()), "span")
				span.End()
				c.fail(rec)
				fake.end()
				if got := strings.Join(fake.failures, "; "); got != c.want {
					t.Errorf("the test failed with %q, want %q", got, c.want)
				}
				log := "recorded:\nspan\n  * mark n=1\nspan\n"
				if c.want == "" {
					log = ""
				}
				if got := strings.Join(fake.log, "; "); got != log {
					t.Errorf("the log is %q, want %q", got, log)
				}
			})
		}
	})
}

// After the test, a provider of the SDK goes on without the recorder.
func TestEnd(t *testing.T) {
	provider := sdktrace.NewTracerProvider()
	for range 2 {
		fake := newT()
		rec := bridgetest.Over(fake, provider)
		ctx := rec.Context(t.Context())
		_, span := provider.Tracer("t").Start(ctx, "span")
		span.End()
		fake.end()
		_, span = provider.Tracer("t").Start(ctx, "late")
		span.End()
		marks.Time(ctx, "late").End()
		rec.Want("span")
		if fake.Failed() {
			t.Error(fake.failures)
		}
	}
}

// Recorders are apart, and may be read while others record.
func TestConcurrently(t *testing.T) {
	overBoth(t, func(t *testing.T, open func(testing.TB) *bridgetest.Recorder) {
		rec := open(t)
		ctx, root := rec.TracerProvider().Tracer("t").Start(rec.Context(t.Context()), "root")
		const goroutines, each = 8, 50
		var wg sync.WaitGroup
		for range goroutines {
			wg.Go(func() {
				for range each {
					inner, m := marks.Start(ctx, "measure")
					marks.Mark(inner, "mark")
					m.End()
				}
				_ = rec.Tree()
				_ = rec.Entries()
			})
		}
		wg.Wait()
		root.End()
		if n := len(rec.Span("root").Children); n != goroutines*each {
			t.Errorf("%d measures, want %d", n, goroutines*each)
		}
		for _, s := range rec.Span("root").Children {
			if len(s.Events) != 1 {
				t.Fatalf("a measure has the events %v, want the mark", s.Events)
			}
		}
	})
}
