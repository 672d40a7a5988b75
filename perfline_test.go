package perfline_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/leaktest"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/routes"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/otlpprofiles"
	"github.com/perfline/perfline/profiling/pyroscope"
)

func TestMain(m *testing.M) {
	if os.Getenv(blurtVariable) != "" {
		if err := blurt(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	if how := os.Getenv(deathVariable); how != "" {
		if err := die(how); err != nil {
			fmt.Println(err)
		}
		return
	}
	// Parallel tests wait for other processes, which take little of the processors.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	leaktest.Main(m)
}

func start(t *testing.T, c perfline.Config) (*perfline.Pipeline, context.Context, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	c.Logger = slog.New(slog.NewTextHandler(ofAnyMachine{&log}, nil))
	if c.Timeline == nil {
		c.Timeline = observer.NewTimeline(observer.TimelineOptions{})
	}
	pl, err := perfline.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return pl, observer.NewContext(context.Background(), c.Timeline), &log
}

// An ofAnyMachine drops the lines that depend on the machine: a profile of the runtime takes longer on a busy one.
type ofAnyMachine struct{ io.Writer }

func (w ofAnyMachine) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("Stats.PutOff counts")) {
		return len(line), nil
	}
	return w.Writer.Write(line)
}

// gone is the address of a server that is not there. A port that a server had may be taken.
const gone = "http://127.0.0.1:1"

// patient returns a context whose deadline only a test that hangs reaches. Without a deadline, Shutdown gives up after 10 s.
func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func resourceOf(t *testing.T, pl *perfline.Pipeline) map[string]string {
	t.Helper()
	_, span := pl.TracerProvider().Tracer("t").Start(context.Background(), "s")
	attrs := map[string]string{}
	for _, kv := range span.(sdktrace.ReadOnlySpan).Resource().Attributes() {
		attrs[string(kv.Key)] = kv.Value.String()
	}
	return attrs
}

func TestWithoutEndpoint(t *testing.T) { overBoth(t, testWithoutEndpoint) }

func testWithoutEndpoint(t *testing.T, start starter) {
	t.Helper()
	pl, ctx, log := start(t, perfline.Config{Service: "shop"})
	h := bridgehttp.Server{Timeline: observer.FromContext(ctx)}.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		marks.Mark(r.Context(), "m")
		marks.Time(r.Context(), "work").End()
	}))
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	for range 2 {
		if err := pl.Shutdown(patient(t)); err != nil {
			t.Fatal(err)
		}
	}
	all := stored(pl).Requests()
	if len(all) != 1 {
		t.Fatalf("%d requests, want 1", len(all))
	}
	q := all[0].Request()
	if len(q.Spans) != 2 || len(q.Root.Events) != 1 {
		t.Errorf("the request is %+v", q)
	}
	if s := pl.Stats(); s.Delivery != (exporter.Stats{}) || s.Bridge.MarkEvents != 1 || s.Bridge.MeasureSpans != 1 {
		t.Errorf("stats %+v", s)
	}
	if r := stored(pl).Routes().Summaries(routes.SinceStart).Routes; len(r) != 1 || r[0].Class != local.Request || r[0].Count != 1 || r[0].Route != q.Root.Name || r[0].Max != q.Duration() {
		t.Errorf("the routes are %+v, want the request of %v", r, q.Duration())
	}
	if log.Len() > 0 {
		t.Errorf("logged %s", log)
	}
}

func TestResource(t *testing.T) {
	t.Setenv("OTEL_SERVICE_NAME", "from the variable")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "service.version=9,team=web")
	pl, _, _ := start(t, perfline.Config{})
	defer func() { _ = pl.Shutdown(t.Context()) }()
	got := resourceOf(t, pl)
	if got["service.name"] != "from the variable" || got["service.version"] != "9" || got["team"] != "web" {
		t.Errorf("by the variables: %v", got)
	}
	for _, key := range []string{"host.name", "process.pid", "telemetry.sdk.language", "service.instance.id", "process.runtime.version"} {
		if got[key] == "" {
			t.Errorf("%s is not detected: %v", key, got)
		}
	}
	if got["process.command_args"] != "" {
		t.Error("command-line arguments, which may hold secrets, are in the resource")
	}
	// An operator can rename the service.
	pl, _, _ = start(t, perfline.Config{Service: "from the field", Version: "1", Attributes: []attribute.KeyValue{attribute.String("team", "none"), attribute.String("zone", "b")}})
	defer func() { _ = pl.Shutdown(t.Context()) }()
	if got := resourceOf(t, pl); got["service.name"] != "from the variable" || got["service.version"] != "9" || got["team"] != "web" || got["zone"] != "b" {
		t.Errorf("with fields, too: %v", got)
	}
	t.Setenv("OTEL_SERVICE_NAME", "")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "")
	pl, _, _ = start(t, perfline.Config{Service: "from the field", Version: "1"})
	defer func() { _ = pl.Shutdown(t.Context()) }()
	if got := resourceOf(t, pl); got["service.name"] != "from the field" || got["service.version"] != "1" {
		t.Errorf("by the fields: %v", got)
	}
}

func TestSampler(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	pl, _, _ := start(t, perfline.Config{})
	defer func() { _ = pl.Shutdown(t.Context()) }()
	if _, s := pl.TracerProvider().Tracer("t").Start(context.Background(), "s"); s.IsRecording() {
		t.Error("OTEL_TRACES_SAMPLER is not honoured")
	}
	pl, _, _ = start(t, perfline.Config{Sampler: sdktrace.AlwaysSample()})
	defer func() { _ = pl.Shutdown(t.Context()) }()
	if _, s := pl.TracerProvider().Tracer("t").Start(context.Background(), "s"); !s.IsRecording() {
		t.Error("the field does not win")
	}
}

func TestGlobals(t *testing.T) { overBoth(t, testGlobals) }

func testGlobals(t *testing.T, start starter) {
	t.Helper()
	t.Setenv("OTEL_PROPAGATORS", "baggage")
	pl, _, _ := start(t, perfline.Config{})
	defer func() { _ = pl.Shutdown(t.Context()) }()
	_, span := otel.GetTracerProvider().Tracer("t").Start(t.Context(), "s")
	defer span.End()
	if span.TracerProvider() != pl.TracerProvider() {
		t.Error("spans of the global tracer provider are another's")
	}
	ctx := trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}}))
	header := propagation.HeaderCarrier{}
	otel.GetTextMapPropagator().Inject(ctx, header)
	if len(header) > 0 {
		t.Errorf("OTEL_PROPAGATORS is not honoured: %v", header)
	}
}

func TestDisabled(t *testing.T) {
	t.Setenv("OTEL_SDK_DISABLED", "TRUE")
	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator())
	pl, ctx, _ := start(t, perfline.Config{})
	marks.Mark(ctx, "m")
	if n := len(observer.FromContext(ctx).Entries()); n != 1 {
		t.Errorf("%d entries on the timeline, want 1", n)
	}
	if err := errors.Join(pl.Flush(t.Context()), pl.Shutdown(patient(t))); err != nil {
		t.Error(err)
	}
	if pl.TracerProvider() == nil {
		t.Error("no tracer provider")
	}
	// A service without spans of its own still passes its callers' traces on.
	if got := otel.GetTextMapPropagator().Fields(); !slices.Contains(got, "traceparent") {
		t.Errorf("propagators of %v", got)
	}
}

func TestShutdownTellsWhatWasLost(t *testing.T) { overBoth(t, testShutdownTellsWhatWasLost) }

func testShutdownTellsWhatWasLost(t *testing.T, start starter) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { shutdownTellsWhatWasLost(t, start) })
}

func shutdownTellsWhatWasLost(t *testing.T, start starter) {
	t.Helper()
	away := &receiver{answer: exporter.Answer{Err: errors.New("connection refused"), Retry: true}}
	pl, ctx, log := start(t, perfline.Config{Traces: exporter.Config{Sender: away}})
	ctx, span := pl.TracerProvider().Tracer("t").Start(ctx, "s")
	marks.Time(ctx, "work").End()
	span.End()
	marks.Mark(ctx, "too late")
	within, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	began := time.Now()
	err := pl.Shutdown(within)
	if took := time.Since(began); took != time.Second {
		t.Errorf("Shutdown took %v, want its second", took)
	}
	var lost *perfline.LostError
	if !errors.As(err, &lost) || lost.Spans != 2 || lost.Marks != 1 {
		t.Fatalf("got %v", err)
	}
	for _, s := range []string{"lost 2 spans, 1 mark", "2 spans in the queue, given up at the deadline", "1 mark made after its span's end"} {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%q does not say %q", err, s)
		}
	}
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("%d log lines, want 1: %s", n, log)
	}
}

func TestMetrics(t *testing.T) { overBoth(t, testMetrics) }

func testMetrics(t *testing.T, start starter) {
	t.Helper()
	const long = 30 * time.Minute // no profile is made meanwhile
	takes, _ := takesProfiles(t, http.StatusOK)
	for _, c := range []struct {
		name    string
		config  perfline.Config
		want    map[string]int64
		without string // what no metric begins with
	}{
		{"nothing to deliver to", perfline.Config{}, map[string]int64{
			"perfline.entries mark recorded": 1, "perfline.marks without_span": 1,
		}, "perfline.delivery.spans"},
		{"spans to deliver", perfline.Config{Traces: exporter.Config{Endpoint: gone}}, map[string]int64{
			"perfline.delivery.spans accepted": 1, "perfline.delivery.spans delivered": 0, "perfline.delivery.spans.pending": 1,
			"perfline.delivery.spans.retries": 0, "perfline.delivery.spans.unanswered": 0,
		}, "perfline.profiling"},
		{"profiles over OTLP to deliver", perfline.Config{ProfileExporter: otlpprofiles.New(otlpprofiles.Config{Sender: &profiles{}, Interval: long})}, map[string]int64{
			"perfline.delivery.otlp_profiles accepted": 0, "perfline.delivery.otlp_profiles.pending": 0, "perfline.delivery.otlp_profiles.retries": 0,
			"perfline.delivery.otlp_profiles.unanswered": 0, "perfline.profiling.failed": 0,
			"perfline.profiling.state started": 1, "perfline.profiling.state paused": 0, "perfline.profiling.state stopped": 0,
		}, "perfline.delivery.profiles"},
		{"profiles to deliver", perfline.Config{Profiles: pyroscope.Config{ServerAddress: takes, UploadInterval: long}}, map[string]int64{
			"perfline.delivery.profiles accepted": 0, "perfline.delivery.profiles.pending": 0, "perfline.delivery.profiles.retries": 0, "perfline.profiling.lost_samples": 0, "perfline.profiling.gaps": 0,
			"perfline.profiling.state started": 1, "perfline.profiling.state paused": 0, "perfline.profiling.state stopped": 0,
		}, "perfline.delivery.spans"},
	} {
		t.Run(c.name, func(t *testing.T) {
			reader := metric.NewManualReader()
			before := otel.GetMeterProvider()
			otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
			defer otel.SetMeterProvider(before)
			pl, ctx, _ := start(t, c.config)
			marks.Mark(ctx, "m")
			_, span := pl.TracerProvider().Tracer("t").Start(ctx, "s")
			span.End()
			got := collect(t, reader)
			for c.config.Traces.Endpoint != "" && got["perfline.delivery.spans accepted"] == 0 || // it is not handed over yet
				got["perfline.profiling.state started"] < c.want["perfline.profiling.state started"] { // on a busy machine, it may pause first
				got = collect(t, reader)
			}
			for name, want := range c.want {
				if n, ok := got[name]; !ok || n != want {
					t.Errorf("%s is %d, there: %t; want %d", name, n, ok, want)
				}
			}
			for name := range got {
				if strings.HasPrefix(name, c.without) {
					t.Errorf("there is %s", name)
				}
			}
			over, cancel := context.WithCancel(patient(t))
			defer cancel()
			if c.config.Traces.Endpoint != "" {
				cancel() // what could not be delivered is lost
			}
			_ = pl.Shutdown(over) // which waits for the profiler: the next one would find it in use
		})
	}
}

// collect returns the whole numbers by the metric's name and its attributes' values.
func collect(t *testing.T, r metric.Reader) map[string]int64 {
	t.Helper()
	var got metricdata.ResourceMetrics
	if err := r.Collect(t.Context(), &got); err != nil {
		t.Fatal(err)
	}
	values := map[string]int64{}
	for _, scope := range got.ScopeMetrics {
		for _, m := range scope.Metrics {
			sum, ok := m.Data.(metricdata.Sum[int64])
			if !ok {
				continue
			}
			for _, p := range sum.DataPoints {
				name := []string{m.Name}
				for _, a := range p.Attributes.ToSlice() {
					name = append(name, a.Value.AsString())
				}
				values[strings.Join(name, " ")] = p.Value
			}
		}
	}
	return values
}
