package viewers

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// The Firefox Profiler shows a request with its lanes, its states and its samples.
func TestRequestInFirefox(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	threads, err := shownThreads(ctx, t, golden(t, "request.firefox.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, th := range threads {
		fmt.Fprintf(&got, "%s %s/%d %q\n", th.Name, th.PID, th.TID, th.Functions)
		for _, m := range th.Markers {
			fmt.Fprintf(&got, "\t%s %s %q %g+%g\n", m.Category, m.Type, m.Name, m.Start, m.Duration)
		}
	}
	want := `GET /products/{id} 1/1 ["main.main 10" "main.render 20"]
	Waiting Cause "of 70 ms, the execution trace covers 25 ms; 25 ms: waited for a mutex that POST /index held in (*Index).rebuild" 0+70
	Request Request "GET /products/{id}" 0+70
	Mark Mark "cache.miss" 2+0
	Call Call "query" 5+35
	Measure Measure "render" 55+10
GET /products/{id} · 2 1/2 ["runtime.gopark 10"]
	Call Call "query" 20+30
	Measure Measure "encode" 60+20
goroutine 7 (*conn).serve 1/3 []
	Other State "gap" 0+20
	Go State "running" 20+15
	Waiting State "mutex" 35+25
	Runnable State "runnable" 60+5
	Go State "running" 65+5
goroutine 8 main.prefetch 1/4 []
	Waiting State "network" 22+28
`
	if got.String() != want {
		t.Errorf("the Firefox Profiler shows\n%s\nwant\n%s", got.String(), want)
	}
}

// Speedscope opens a request, and shows the first of its profiles.
func TestRequestInSpeedscope(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	file := golden(t, "request.speedscope.json")
	checkSchema(ctx, t, file)
	text, err := speedscope(ctx, t, file)
	if want := "samples of CPU time (1/3)"; err != nil || !strings.Contains(text, want) {
		t.Errorf("speedscope shows\n%s%v\nwant %q", text, err, want)
	}
}

// The code by which a Collector reads OTLP in JSON reads the spans of a request.
func TestRequestInCollector(t *testing.T) {
	file := golden(t, "request.otlp.json")
	traces, err := new(ptrace.JSONUnmarshaler).UnmarshalTraces(file)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, r := range traces.ResourceSpans().All() {
		service, _ := r.Resource().Attributes().Get("service.name")
		for _, sc := range r.ScopeSpans().All() {
			for _, s := range sc.Spans().All() {
				fmt.Fprintf(&got, "%s %s %s %s<%s %s %v %s %d events %v\n", service.Str(), sc.Scope().Name(), s.TraceID(), s.SpanID(), s.ParentSpanID(),
					s.Name(), s.EndTimestamp().AsTime().Sub(s.StartTimestamp().AsTime()), s.Kind(), s.Events().Len(), s.Status().Code())
			}
		}
	}
	const id = "shop database 000000000000000000000000000000ab "
	want := id + "0000000000000001< GET /products/{id} 70ms Server 1 events Unset\n" +
		id + "0000000000000002<0000000000000001 query 35ms Client 0 events Unset\n" +
		id + "0000000000000003<0000000000000001 query 30ms Client 0 events Error\n" +
		id + "0000000000000004<0000000000000001 render 10ms Unspecified 0 events Unset\n" +
		id + "0000000000000005<0000000000000004 encode 20ms Unspecified 0 events Unset\n"
	if got.String() != want {
		t.Errorf("a Collector reads\n%s\nwant\n%s", got.String(), want)
	}
	if _, err := new(ptrace.JSONUnmarshaler).UnmarshalTraces(bytes.Replace(file, []byte(`"traceId":"00`), []byte(`"traceId":"zz`), 1)); err == nil {
		t.Error("a Collector reads a file with a malformed id")
	}
}
