package perfline_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/waits"
	"github.com/perfline/perfline/waits/flight"
)

// Beside a provider of the SDK, slow requests are analysed by the real flight recorder.
func TestWaitsBesideTheSDK(t *testing.T) {
	recorder := flight.NewRecorder(flight.Config{Armed: true, MinInterval: -1})
	done := make(chan *waits.Request, 1)
	recorder.Watch(func(_ bridge.Root, result *waits.Request) { done <- result })
	pl, ctx, _ := startJoined(t, perfline.Config{Waits: recorder, Keep: bridge.KeepPolicy{Slow: 1}})
	ctx, span := pl.TracerProvider().Tracer("t").Start(ctx, "GET /slow", trace.WithSpanKind(trace.SpanKindServer))
	marks.Time(ctx, "part").End()
	span.End()
	if result := <-done; result == nil || result.Name != "GET /slow" || len(result.Causes) == 0 {
		t.Errorf("the request has the result %+v", result)
	}
	if kept := pl.Recent().Kept(); len(kept) != 1 || kept[0].Root().Keep != "slow" {
		t.Errorf("kept %v, want the slow request", kept)
	}
	if s := pl.Stats().Waits; s.Analysed != 1 || decisions(pl) != "slow 1" {
		t.Errorf("stats %+v and decisions %s, want one slow request", s, decisions(pl))
	}
	if err := pl.Shutdown(patient(t)); err != nil {
		t.Error(err)
	}
}

// A policy beside a provider of the SDK keeps recorded requests for the same reasons as perfline's provider.
func TestKeepBesideTheSDK(t *testing.T) {
	overBoth(t, func(t *testing.T, start starter) {
		pl, ctx, _ := start(t, perfline.Config{Keep: bridge.KeepPolicy{Slow: time.Minute, PerSecond: 3}})
		h := bridgehttp.Server{TracerProvider: pl.TracerProvider(), Timeline: observer.FromContext(ctx)}.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/chosen":
				marks.Keep(r.Context())
			case "/failed":
				w.WriteHeader(http.StatusInternalServerError)
			}
			bridgehttp.SetRoute(r.Context(), r.URL.Path)
		}))
		for _, path := range []string{"/other", "/failed", "/chosen", "/failed", "/failed"} {
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil))
		}
		var got []string
		for _, q := range pl.Recent().Kept() {
			got = append(got, q.Root().Name+" "+q.Root().Keep)
		}
		if text := strings.Join(got, ", "); text != "GET /failed failed, GET /chosen chosen, GET /failed failed" {
			t.Errorf("kept %q", text)
		}
		if got, want := decisions(pl), "chosen 1, failed 2, other 1, over_ceiling 1"; got != want {
			t.Errorf("decisions %s, want %s", got, want)
		}
	})
}

// Where perfline exports the spans, the root of a slow request carries the cause.
func TestCausesBesideTheSDK(t *testing.T) {
	recorder, sent := &answers{}, &collected{}
	pl, ctx, _ := startJoined(t, perfline.Config{Waits: recorder, Traces: exporter.Config{Sender: sent}, Keep: bridge.KeepPolicy{Slow: 1}})
	_, span := pl.TracerProvider().Tracer("t").Start(ctx, "GET /slow", trace.WithSpanKind(trace.SpanKindServer))
	span.End()
	root := recorder.asked[0]
	recorder.watcher(root, mutexWait(root))
	if err := pl.Flush(patient(t)); err != nil {
		t.Fatal(err)
	}
	if got := sent.text(); !strings.Contains(got, "GET /slow perfline.time.mutex=1") {
		t.Errorf("the backend got %q", got)
	}
}

// Where another exporter sends the spans, the cause of a slow request is a log line with the ids of the request, for 20 requests in a minute.
func TestCausesInTheLog(t *testing.T) {
	overBoth(t, func(t *testing.T, start starter) {
		synctest.Test(t, func(t *testing.T) {
			recorder := &answers{}
			c := perfline.Config{Waits: recorder, Keep: bridge.KeepPolicy{Slow: 1, PerSecond: -1}, Sampler: sdktrace.AlwaysSample()}
			c.SpanExporter = tracetest.NewInMemoryExporter()
			pl, ctx, log := start(t, c)
			slow := func() {
				_, span := pl.TracerProvider().Tracer("t").Start(ctx, "GET /slow", trace.WithSpanKind(trace.SpanKindServer))
				time.Sleep(time.Second)
				span.End()
				root := recorder.asked[len(recorder.asked)-1]
				recorder.watcher(root, mutexWait(root))
			}
			slow()
			root := recorder.asked[0]
			if got := log.String(); !strings.Contains(got, "why a request was slow") || !strings.Contains(got, `request="GET /slow" took=1s cause="1.0 s of 1.0 s: waited for a mutex"`) ||
				!strings.Contains(got, "trace_id="+root.TraceID.String()+" span_id="+root.SpanID.String()) {
				t.Errorf("logged %q", got)
			}
			recorder.watcher(root, nil)
			for range 29 {
				slow()
			}
			if n := strings.Count(log.String(), "why a request was slow"); n != 20 {
				t.Errorf("%d lines in a minute, want 20", n)
			}
			time.Sleep(time.Minute)
			slow()
			if got := log.String(); strings.Count(got, "why a request was slow") != 21 || !strings.Contains(got, "requests_without_a_line=10") {
				t.Errorf("logged %q, want a line that counts ten others", got)
			}
			if err := pl.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
		})
	})
}

// The slow requests of a trace have one line, about the longest one with a cause: a gateway and the service that it calls may be one
// process. The line waits until the recorder has answered for all of them. The others are not requests without a line.
func TestCausesInTheLogOfCallsIntoTheProcess(t *testing.T) {
	for _, c := range []struct {
		name, answers string // in order: for the inner and the outer request, and of the latter when it ends
		lines         []string
	}{
		{"the inner one first", "inner outer", []string{"GET /outer"}},
		{"the outer one first", "outer inner", []string{"GET /outer"}},
		{"the inner one has a cause", "inner outer:none", []string{"GET /inner"}},
		{"the outer one has a cause", "inner:none outer", []string{"GET /outer"}},
		{"none has a cause", "outer:none inner:none", nil},
		{"the outer one refused", "outer:refused inner", []string{"GET /inner"}},
		{"the end before all answers", "inner", []string{"GET /inner"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				recorder := &answers{}
				pl, ctx, log := startJoined(t, perfline.Config{Waits: recorder, Keep: bridge.KeepPolicy{Slow: 1, PerSecond: -1}})
				tracer := pl.TracerProvider().Tracer("t")
				serve := func() {
					recorder.asked, recorder.refuses = nil, false
					outerCtx, outer := tracer.Start(ctx, "GET /outer", trace.WithSpanKind(trace.SpanKindServer))
					_, call := tracer.Start(outerCtx, "GET", trace.WithSpanKind(trace.SpanKindClient))
					_, inner := tracer.Start(trace.ContextWithRemoteSpanContext(ctx, call.SpanContext().WithRemote(true)), "GET /inner",
						trace.WithSpanKind(trace.SpanKindServer))
					time.Sleep(time.Second)
					inner.End()
					time.Sleep(time.Millisecond)
					call.End()
					recorder.refuses = strings.Contains(c.answers, "outer:refused")
					outer.End()
					roots := map[string]bridge.Root{"inner": recorder.asked[0], "outer": recorder.asked[1]}
					for i, answer := range strings.Fields(c.answers) {
						switch name, how, _ := strings.Cut(answer, ":"); how {
						case "":
							recorder.watcher(roots[name], mutexWait(roots[name]))
						case "none":
							recorder.watcher(roots[name], nil)
						}
						if i == 0 && strings.Contains(log.String(), "why a request was slow") {
							t.Errorf("before the last answer, logged %q", log)
						}
					}
				}
				serve()
				if len(strings.Fields(c.answers)) == 1 {
					_ = pl.Shutdown(context.Background())
				}
				var lines []string
				for line := range strings.Lines(log.String()) {
					if _, rest, ok := strings.Cut(line, `request="`); ok {
						request, _, _ := strings.Cut(rest, `"`)
						lines = append(lines, request)
					}
				}
				if !slices.Equal(lines, c.lines) {
					t.Errorf("the lines are about %q, want %q", lines, c.lines)
				}
				if c.lines == nil || len(strings.Fields(c.answers)) == 1 {
					return
				}
				for range 25 {
					log.Reset()
					serve()
				}
				time.Sleep(time.Minute)
				serve()
				if got := log.String(); !strings.Contains(got, "requests_without_a_line=6") { // 26 in the first minute
					t.Errorf("after 26 traces in a minute, logged %q, want 6 without a line", got)
				}
			})
		})
	}
}

// While 1024 traces wait for the recorder, each request of a further trace has its own line at once.
func TestCausesInTheLogBeyondItsTraces(t *testing.T) {
	recorder := &answers{}
	pl, ctx, log := startJoined(t, perfline.Config{Waits: recorder, Keep: bridge.KeepPolicy{Slow: 1, PerSecond: -1}})
	tracer := pl.TracerProvider().Tracer("t")
	serve := func(ctx context.Context) bridge.Root {
		_, span := tracer.Start(ctx, "GET /slow", trace.WithSpanKind(trace.SpanKindServer))
		span.End()
		return recorder.asked[len(recorder.asked)-1]
	}
	waiting := 0 // traces
	for want, n := range []int{1023, 1024} {
		for ; waiting < n; waiting++ {
			serve(ctx)
		}
		log.Reset()
		first := serve(ctx)
		parent := trace.NewSpanContext(trace.SpanContextConfig{TraceID: first.TraceID, SpanID: first.SpanID, TraceFlags: trace.FlagsSampled})
		second := serve(trace.ContextWithRemoteSpanContext(ctx, parent))
		recorder.watcher(first, mutexWait(first))
		if got := strings.Count(log.String(), "why a request was slow"); got != want {
			t.Errorf("beside %d traces, the first of two results gave %d lines, want %d", n, got, want)
		}
		recorder.watcher(second, mutexWait(second))
		if got := strings.Count(log.String(), "why a request was slow"); got != want+1 {
			t.Errorf("beside %d traces, two results gave %d lines, want %d", n, got, want+1)
		}
	}
}

// decisions returns the counts of the policy that are not zero.
func decisions(pl *perfline.Pipeline) string {
	var all []string
	for _, c := range pl.Counts() {
		if c.Group == "perfline.requests" && c.N > 0 {
			all = append(all, fmt.Sprint(c.Name, " ", c.N))
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// mutexWait returns the result of a request that waited for a mutex.
func mutexWait(root bridge.Root) *waits.Request {
	return &waits.Request{
		TraceID: root.TraceID, RootID: root.SpanID, Duration: time.Second, Causes: []waits.Cause{{Kind: waits.Mutex, Duration: time.Second}},
		Goroutines: []waits.Goroutine{{Intervals: []waits.Interval{{Kind: waits.Mutex, End: time.Second, SpanID: root.SpanID}}}},
	}
}
