package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	httptrace "github.com/DataDog/dd-trace-go/contrib/net/http/v2"
	"github.com/DataDog/dd-trace-go/v2/ddtrace/tracer"
	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/bridge/bridgetest"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/profiling"
)

const callersTrace = "0af7651916cd43dd8448eb211c80319c"

// dd-trace-go's tracer and perfline trace the same requests, each completely, and goroutines have the labels of both. docs/beside.md
// has what they share: the trace, and the header traceparent of calls.
func TestBesideDatadog(t *testing.T) {
	for _, c := range []struct {
		name        string
		outside     bool // perfline's middleware and transport are around Datadog's
		propagation string
		caller      bool // sends traceparent
		oneTrace    bool
		traceparent string // whose it is
	}{
		{"perfline inside", false, "", true, true, "perfline"},
		{"perfline outside", true, "", true, true, "Datadog"},
		{"perfline outside, without a caller", true, "", false, false, "Datadog"},
		{"perfline outside, Datadog's own headers only", true, "datadog", true, false, "perfline"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.propagation != "" {
				t.Setenv("DD_TRACE_PROPAGATION_STYLE", c.propagation)
			}
			agent := startDatadog(t)
			defer profiling.HoldLabels(profiling.EverySpan)()
			rec := bridgetest.New(t)
			around := func(h http.Handler) http.Handler { return httptrace.WrapHandler(h, "shop", "") }
			through := func(rt http.RoundTripper) http.RoundTripper { return httptrace.WrapRoundTripper(rt) }
			server := bridgehttp.Server{TracerProvider: rec.TracerProvider(), Timeline: rec.Timeline(), Propagators: propagation.TraceContext{}}
			client := bridgehttp.Client{TracerProvider: rec.TracerProvider(), Propagators: propagation.TraceContext{}}

			var called http.Header
			stock := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { called = r.Header }))
			defer stock.Close()
			transport := through(client.Transport(nil))
			if c.outside {
				transport = client.Transport(through(http.DefaultTransport))
			}
			var labels []string
			var datadogsTrace string
			handler := http.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				defer marks.Time(r.Context(), "render").End()
				span, ctx := tracer.StartSpanFromContext(r.Context(), "pay")
				defer span.Finish()
				datadogsTrace, labels = span.Context().TraceID(), goroutineLabels(t)
				call, err := http.NewRequestWithContext(ctx, http.MethodGet, stock.URL, nil)
				if err != nil {
					t.Error(err)
					return
				}
				answer, err := (&http.Client{Transport: transport}).Do(call)
				if err != nil {
					t.Error(err)
					return
				}
				answer.Body.Close()
			}))
			if c.outside {
				handler = server.Middleware(around(handler))
			} else {
				handler = around(server.Middleware(handler))
			}
			request := httptest.NewRequest(http.MethodGet, "/", nil)
			if c.caller {
				request.Header.Set("traceparent", "00-"+callersTrace+"-b7ad6b7169203331-01")
			}
			handler.ServeHTTP(httptest.NewRecorder(), request)
			tracer.Stop()

			if agent.Load() != 1 {
				t.Errorf("Datadog's agent got %d traces, want 1", agent.Load())
			}
			rec.Want(`
				GET (server)
				  render
				  GET (client)
			`)
			own := rec.Span("render").SpanContext.TraceID().String()
			if oneTrace := own == datadogsTrace; oneTrace != c.oneTrace {
				t.Errorf("perfline's trace is %s, Datadog's %s; one trace: %v, want %v", own, datadogsTrace, oneTrace, c.oneTrace)
			}
			if both := slices.Contains(labels, "span_id") && slices.Contains(labels, "span id"); !both {
				t.Errorf("the goroutine has the labels %q, want span_id of perfline and span id of Datadog", labels)
			}
			whose := "Datadog"
			for _, s := range rec.Spans() {
				if s.SpanKind == trace.SpanKindClient && strings.Contains(called.Get("traceparent"), s.SpanContext.SpanID().String()) {
					whose = "perfline"
				}
			}
			if called.Get("traceparent") == "" || called.Get("x-datadog-trace-id") == "" || whose != c.traceparent {
				t.Errorf("the call has the header %v: traceparent of %s, want of %s, and x-datadog-trace-id", called, whose, c.traceparent)
			}
		})
	}
}

// startDatadog starts the tracer, and counts the traces that its agent gets.
func startDatadog(t *testing.T) *atomic.Int64 {
	t.Helper()
	for _, v := range []string{"DD_INSTRUMENTATION_TELEMETRY_ENABLED", "DD_REMOTE_CONFIGURATION_ENABLED", "DD_TRACE_STATS_COMPUTATION_ENABLED"} {
		t.Setenv(v, "false")
	}
	traces := &atomic.Int64{}
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.ParseInt(r.Header.Get("X-Datadog-Trace-Count"), 10, 64) // other requests have none
		traces.Add(n)
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(agent.Close)
	if err := tracer.Start(tracer.WithAgentAddr(strings.TrimPrefix(agent.URL, "http://")), tracer.WithLogStartup(false)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tracer.Stop)
	return traces
}

// goroutineLabels returns the keys of the labels of this goroutine.
func goroutineLabels(t *testing.T) (keys []string) {
	t.Helper()
	var data bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&data, 0); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&data)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Sample {
		if slices.ContainsFunc(s.Location, func(l *profile.Location) bool {
			return slices.ContainsFunc(l.Line, func(l profile.Line) bool { return strings.HasSuffix(l.Function.Name, ".goroutineLabels") })
		}) {
			for key := range s.Label {
				keys = append(keys, key)
			}
		}
	}
	return keys
}
