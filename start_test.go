package perfline_test

import (
	public "github.com/perfline/perfline/requests"

	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/pyroscope"
	"github.com/perfline/perfline/profiling/sessions"
)

// A wrong field is an error that names it, as is a variable without which nothing can work. Nothing has changed then, and
// nothing runs: goleak looks.
func TestStartErrors(t *testing.T) {
	const otlp = "http://127.0.0.1:1"
	profiles, names := takesProfiles(t, http.StatusOK)
	for _, c := range []struct {
		name   string
		config perfline.Config
		env    env
		want   string
	}{
		{"service", perfline.Config{Service: "sh\xffop"}, nil, `perfline: field Service "sh\xffop": must be UTF-8`},
		{"version", perfline.Config{Version: "\xff"}, nil, `perfline: field Version "\xff": must be UTF-8`},
		{"attribute", perfline.Config{Attributes: []attribute.KeyValue{attribute.Int("ok", 1), attribute.String("k", "\xff")}}, nil, `perfline: field Attributes[1] "k": must have a key and a value, both of UTF-8`},
		{"attribute of a list", perfline.Config{Attributes: []attribute.KeyValue{attribute.StringSlice("k", []string{"a", "\xff"})}}, nil, `perfline: field Attributes[0] "k": must`},
		{"attribute of a list of lists", perfline.Config{Attributes: []attribute.KeyValue{{Key: "k", Value: attribute.SliceValue(attribute.MapValue(attribute.String("k", "\xff")))}}}, nil, `perfline: field Attributes[0] "k": must`},
		{"attribute's key", perfline.Config{Attributes: []attribute.KeyValue{attribute.String("\xff", "v")}}, nil, `perfline: field Attributes[0] "\xff": must`},
		{"attribute without a key", perfline.Config{Attributes: []attribute.KeyValue{{}}}, nil, `perfline: field Attributes[0] "": must`},
		{"endpoint", perfline.Config{Traces: exporter.Config{Endpoint: "localhost"}}, nil, `perfline: exporter: Endpoint "localhost": must be a URL`},
		{"protocol", perfline.Config{Traces: exporter.Config{Endpoint: otlp, Protocol: "udp"}}, nil, `perfline: exporter: Protocol "udp": must be grpc or http/protobuf`},
		{"header over gRPC", perfline.Config{Traces: exporter.Config{Endpoint: otlp, Headers: map[string]string{"k": canary + "\r\nx: y"}}}, nil, `perfline: exporter: Headers: "k" cannot be sent: names must be of letters`},
		{"header over HTTP", perfline.Config{Traces: exporter.Config{Endpoint: otlp, Protocol: "http/protobuf", Headers: map[string]string{"k": canary + "\r\nx: y"}}}, nil, `perfline: exporter: Headers: "k" cannot be sent: names must be of letters`},
		{"queue", perfline.Config{Traces: exporter.Config{QueueSize: -1}}, nil, "perfline: Traces.QueueSize -1: must not be negative"},
		{"queue that is too large", perfline.Config{Traces: exporter.Config{QueueSize: 1<<24 + 1}}, nil, "perfline: Traces.QueueSize 16777217: must be 16777216 or less"},
		{"recent", perfline.Config{Recent: public.Config{MaxSpans: -2}}, nil, "perfline: Recent.MaxSpans -2: must not be negative"},
		{"bytes of requests", perfline.Config{Recent: public.Config{MaxBytes: -1}}, nil, "perfline: Recent.MaxBytes -1: must not be negative"},
		{"sessions", perfline.Config{Sessions: sessions.Config{MaxEvents: -3}}, nil, "perfline: Sessions.MaxEvents -3: must not be negative"},
		{"share", perfline.Config{Keep: bridge.KeepPolicy{Share: 2}}, nil, "perfline: field Keep: KeepPolicy.Share 2: must be from 0 to 1"},
		{"measures", perfline.Config{Measures: bridge.MeasureConfig{Names: []string{"*.query"}}}, nil, `perfline: field Measures: MeasureConfig.Names[0] "*.query": must be a name in UTF-8, with * at its end at most`},
		{"profiles", perfline.Config{Traces: exporter.Config{Endpoint: otlp}, Profiles: pyroscope.Config{ServerAddress: profiles, TenantID: "a\nb"}}, nil, `perfline: pyroscope: TenantID "a\nb": must be UTF-8 without control characters`},
		{"profiles' scope", perfline.Config{Profiles: pyroscope.Config{ServerAddress: profiles, Spans: 7}}, nil, "Spans 7: must be"},
		{"disabled", perfline.Config{Service: "\xff"}, env{"OTEL_SDK_DISABLED": "true"}, `Service "\xff"`},

		{"two places for spans", perfline.Config{SpanExporter: closing{}, Traces: exporter.Config{Endpoint: otlp}}, nil, "perfline: field SpanExporter: must be nil when Traces has"},
		{"header with a line break", perfline.Config{}, env{"OTEL_EXPORTER_OTLP_ENDPOINT": otlp, "OTEL_EXPORTER_OTLP_HEADERS": "k=" + canary + "%0d%0ax:y"}, "perfline: exporter: OTEL_EXPORTER_OTLP_HEADERS (17 bytes): must be name=value"},
		{"a header of metrics with a line break", perfline.Config{}, env{"OTEL_METRICS_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_METRICS_HEADERS": "k=a%0ab"}, "perfline: exporter: OTEL_EXPORTER_OTLP_METRICS_HEADERS ("},
		{
			"the last one that is looked at", perfline.Config{}, env{"OTEL_METRICS_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": otlp, "PYROSCOPE_SERVER_ADDRESS": "localhost:4040"},
			`perfline: pyroscope: PYROSCOPE_SERVER_ADDRESS "localhost:4040": must be a URL`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			w := watchGlobals(t)
			c.config.Logger = w.logger()
			pl, err := perfline.Start(t.Context(), c.config)
			if err == nil {
				_ = pl.Shutdown(t.Context())
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), canary) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if w.log.Len() > 0 {
				t.Errorf("logged %s", &w.log)
			}
			w.unchanged(t)
		})
	}
	if n := len(names()); n > 0 {
		t.Errorf("%d profiles were pushed by pipelines that did not start", n)
	}
}

// Variables that are wrong and do no harm: spans and metrics arrive all the same, and each variable is one line.
func TestExportsInSpiteOfWrongVariables(t *testing.T) {
	wrong := env{
		"OTEL_SERVICE_NAME": "sh\xffop", "OTEL_TRACES_SAMPLER": "most",
		"OTEL_SPAN_EVENT_COUNT_LIMIT": "some", "OTEL_ATTRIBUTE_COUNT_LIMIT": "1e3",
		"OTEL_EXPORTER_OTLP_TIMEOUT": "10s", "OTEL_EXPORTER_OTLP_COMPRESSION": "zip", "OTEL_EXPORTER_OTLP_INSECURE": "yes",
		"OTEL_METRIC_EXPORT_INTERVAL": "1m", "OTEL_METRIC_EXPORT_TIMEOUT": "-1", "OTEL_GO_X_CARDINALITY_LIMIT": "all",
		"OTEL_METRICS_EXEMPLAR_FILTER": "some", "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": "past", "PERFLINE_PROFILING": "on",
		"OTEL_PROPAGATORS": "b3", "OTEL_TRACES_EXPORTER": "zipkin", "OTEL_LOGS_EXPORTER": "syslog", "OTEL_PROFILES_EXPORTER": "console",
	}
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		for name, attributes := range map[string]string{
			"a value that is not UTF-8": "team=" + canary + "\xff", "an escaped value that is not UTF-8": "team=" + canary + "%FF", "a key that is not UTF-8": "\xff" + canary + "=web",
			"no pair": "team=web," + canary, "an escape that is none": "team=%zz" + canary, "no key": "=" + canary,
		} {
			t.Run(name+" "+protocol, func(t *testing.T) {
				s := &sink{}
				vars := maps.Clone(wrong)
				vars["OTEL_RESOURCE_ATTRIBUTES"] = attributes
				for name, value := range vars {
					t.Setenv(name, value)
				}
				t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", strings.Replace(s.serve(t, takes, false), "user:"+canary+"@", "", 1))
				t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
				t.Setenv("OTEL_METRICS_EXPORTER", "otlp")
				w := watchGlobals(t)
				tl := observer.NewTimeline(observer.TimelineOptions{})
				pl, err := perfline.Start(t.Context(), perfline.Config{Service: "corner shop", Logger: w.logger(), Timeline: tl})
				if err != nil {
					t.Fatal(err)
				}
				ctx, span := pl.TracerProvider().Tracer("t").Start(observer.NewContext(t.Context(), tl), "s", trace.WithSpanKind(trace.SpanKindServer))
				marks.Mark(ctx, "m")
				marks.Time(ctx, "work").End()
				span.End()
				if err := pl.Flush(t.Context()); err != nil {
					t.Error(err)
				}
				if d := pl.Stats().Delivery; d.Delivered != 2 {
					t.Errorf("%+v, want 2 delivered", d)
				}
				if err := pl.Shutdown(patient(t)); err != nil {
					t.Error(err)
				}
				for _, s := range stored(pl).Requests() {
					if got := s.RootSpan().Group.Resource().String(); strings.Contains(got, canary) || strings.Contains(got, "team=") || !strings.Contains(got, "service.name=corner shop") {
						t.Errorf("the request's resource is %s", got)
					}
				}
				bodies := s.all()
				if !strings.Contains(bodies, "corner shop") || strings.Contains(bodies, canary) || strings.Contains(bodies, "team") {
					t.Errorf("sent are %q", bodies)
				}
				lines := w.lines()
				if strings.Contains(w.log.String(), canary) {
					t.Errorf("logged a secret: %q", lines)
				}
				for name := range vars {
					if n := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, "variable="+name+" ") }); n < 0 {
						t.Errorf("no line names %s", name)
					}
				}
				if len(lines) != len(vars) {
					t.Errorf("%d lines about %d variables:\n%s", len(lines), len(vars), &w.log)
				}
			})
		}
	}
}

// all is all that was sent, in one.
func (s *sink) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all strings.Builder
	for _, body := range s.bodies {
		all.Write(body)
	}
	return all.String()
}

// closing is what counts its shutdowns.
type closing struct {
	sdktrace.SpanExporter
	sdkmetric.Reader
	shut *atomic.Int32
}

func (c closing) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }

func (c closing) Shutdown(ctx context.Context) error {
	c.shut.Add(1)
	if c.Reader != nil {
		return c.Reader.Shutdown(ctx)
	}
	return nil
}

// The program may give exporters of its own. Shutdown shuts them down, and a Start that fails does not.
func TestGivenExporters(t *testing.T) { overBoth(t, testGivenExporters) }

func testGivenExporters(t *testing.T, start starter) {
	t.Helper()
	var shut atomic.Int32
	given := perfline.Config{SpanExporter: closing{shut: &shut}, Metrics: closing{Reader: sdkmetric.NewManualReader(), shut: &shut}}
	t.Setenv("OTEL_TRACES_EXPORTER", "otlp") // the fields win
	t.Setenv("OTEL_METRICS_EXPORTER", "otlp")
	watchGlobals(t)
	for _, fail := range []func(*perfline.Config){
		func(c *perfline.Config) { c.Service = "\xff" },
		func(c *perfline.Config) { c.Profiles.ServerAddress, c.Profiles.TenantID = "http://h", "a\nb" },
	} {
		failing := given
		fail(&failing)
		if _, err := perfline.Start(t.Context(), failing); err == nil || shut.Load() > 0 {
			t.Errorf("%v, %d were shut down by a Start that failed", err, shut.Load())
		}
	}
	pl, ctx, log := start(t, given)
	_, span := pl.TracerProvider().Tracer("t").Start(ctx, "s")
	span.End()
	if err := pl.Shutdown(patient(t)); err != nil || pl.Stats().Delivery.Delivered != 1 || len(linesOf(log.String())) > 0 {
		t.Errorf("%v, %+v, logged %s", err, pl.Stats().Delivery, log)
	}
	if n := shut.Load(); n != 2 {
		t.Errorf("%d were shut down, want both", n)
	}
}

// A wrong variable of all signals is one line, also where spans, log records and metrics read it.
func TestWarningOfAllSignals(t *testing.T) {
	const name = "OTEL_EXPORTER_OTLP_TIMEOUT"
	t.Setenv(name, "soon")
	for _, signal := range []string{"TRACES", "LOGS", "METRICS"} {
		t.Setenv("OTEL_"+signal+"_EXPORTER", "otlp")
	}
	w := watchGlobals(t)
	pl, err := perfline.Start(t.Context(), perfline.Config{
		Logger: w.logger(), Timeline: observer.NewTimeline(observer.TimelineOptions{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := w.lines()
	if len(lines) != 1 || !strings.Contains(lines[0], "variable="+name+" value=soon") {
		t.Errorf("logged %q, want a line about %s", lines, name)
	}
	_ = pl.Shutdown(canceled(t))
}

// Each wrong variable is said with its rule and what counts instead.
func TestWarnings(t *testing.T) {
	for _, c := range []struct {
		name, value string
		config      perfline.Config
		want        string
	}{
		{"OTEL_TRACES_SAMPLER", "most", perfline.Config{}, `value=most rule="must be always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off or parentbased_traceidratio" instead=parentbased_always_on`},
		{"OTEL_TRACES_SAMPLER", "most", perfline.Config{Sampler: sdktrace.AlwaysSample()}, "instead=Config.Sampler"},
		{"OTEL_SERVICE_NAME", "\xff", perfline.Config{Service: "shop"}, `value="\xff" rule="must be UTF-8" instead=shop`},
		{"OTEL_SERVICE_NAME", "\xff", perfline.Config{}, "instead=unknown_service:" + filepath.Base(os.Args[0])},
		{"OTEL_RESOURCE_ATTRIBUTES", canary, perfline.Config{}, `value="6 bytes" rule="must be key=value pairs of UTF-8, separated by commas, with %2C for a comma and %25 for %" instead=none`},
		{"OTEL_SPAN_LINK_COUNT_LIMIT", strings.Repeat("9", 1000), perfline.Config{}, `value=` + strings.Repeat("9", 97) + `… rule="must be a whole number, 0 or more" instead=128`},
		{"OTEL_SPAN_LINK_COUNT_LIMIT", "-1", perfline.Config{}, `value=-1 rule="must be a whole number, 0 or more" instead=128`},
		{"OTEL_PROPAGATORS", "TraceContext,b3", perfline.Config{}, `value=b3 rule="must be tracecontext, baggage or none; traces break at services that know only another format: set Config.Propagator for them" instead=tracecontext`},
		{"OTEL_TRACES_EXPORTER", "Zipkin", perfline.Config{}, `value=Zipkin rule="must be otlp, console or none; set Config.SpanExporter for another exporter" instead="otlp with an endpoint, else none"`},
		{"OTEL_TRACES_EXPORTER", "none,prometheus", perfline.Config{}, `value=prometheus rule="must be otlp, console or none; set Config.SpanExporter for another exporter" instead=none`},
		{"OTEL_TRACES_EXPORTER", "console,otlp", perfline.Config{}, `reason="spans go to one place: only console counts"`},
		{"OTEL_METRICS_EXPORTER", "prometheus", perfline.Config{}, `value=prometheus rule="must be otlp or none; set Config.Metrics for another reader, as Prometheus's" instead=none`},
		{"OTEL_METRICS_EXPORTER", "console", perfline.Config{}, `value=console rule="must be otlp or none`},
		{"OTEL_LOGS_EXPORTER", "console", perfline.Config{}, `value=console rule="must be otlp or none"`},
		{"OTEL_CONFIG_FILE", "/etc/otel.yaml", perfline.Config{}, `reason="perfline does not read configuration files: the other variables and Config count"`},
		{"PERFLINE_PROFILING", "of", perfline.Config{}, `value=of rule="must be off or remote" instead=off`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(c.name, c.value)
			w := watchGlobals(t)
			c.config.Logger, c.config.Timeline = w.logger(), observer.NewTimeline(observer.TimelineOptions{})
			pl, err := perfline.Start(t.Context(), c.config)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = pl.Shutdown(t.Context()) }()
			if lines := w.lines(); len(lines) != 1 || !strings.Contains(lines[0], "level=WARN") || !strings.Contains(lines[0], "variable="+c.name+" ") || !strings.Contains(lines[0], c.want) {
				t.Errorf("logged %q, want one line with %s", lines, c.want)
			}
		})
	}
}

// OpenTelemetry's own complaints come through the same log, but for those about variables.
func TestOpenTelemetryLogsToTheLogger(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "most")
	w := watchGlobals(t)
	pl, err := perfline.Start(t.Context(), perfline.Config{Logger: w.logger(), Timeline: observer.NewTimeline(observer.TimelineOptions{})})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pl.Shutdown(t.Context()) }()
	w.log.Reset()
	sdktrace.NewTracerProvider() // which reads the variable again
	if w.log.Len() > 0 {
		t.Errorf("logged %s", &w.log)
	}
	otel.Handle(os.ErrDeadlineExceeded)
	if lines := w.lines(); len(lines) != 1 || !strings.Contains(lines[0], "OpenTelemetry reports") || !strings.Contains(lines[0], "i/o timeout") {
		t.Errorf("logged %q", lines)
	}
}

// The samplers decide as the SDK's do.
func TestSamplers(t *testing.T) {
	remote := func(flags trace.TraceFlags) context.Context {
		return trace.ContextWithRemoteSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{0xff}, SpanID: trace.SpanID{1}, TraceFlags: flags, Remote: true,
		}))
	}
	for _, name := range []string{"", "always_on", " ALWAYS_OFF ", "traceidratio", "parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio"} {
		for _, arg := range []string{"", "0", "1", "0.5"} {
			t.Run(name+" "+arg, func(t *testing.T) {
				t.Setenv("OTEL_TRACES_SAMPLER", name)
				t.Setenv("OTEL_TRACES_SAMPLER_ARG", arg)
				pl, _, log := start(t, perfline.Config{})
				defer func() { _ = pl.Shutdown(t.Context()) }()
				sdk := sdktrace.NewTracerProvider()
				for what, ctx := range map[string]context.Context{"no parent": context.Background(), "sampled": remote(trace.FlagsSampled), "not sampled": remote(0)} {
					if what == "no parent" && arg == "0.5" {
						continue // by the trace's id, which each provider makes
					}
					_, got := pl.TracerProvider().Tracer("t").Start(ctx, "s")
					_, want := sdk.Tracer("t").Start(ctx, "s")
					if got.SpanContext().IsSampled() != want.SpanContext().IsSampled() {
						t.Errorf("%s: sampled is %v, the SDK's %v", what, got.SpanContext().IsSampled(), want.SpanContext().IsSampled())
					}
				}
				if log.Len() > 0 {
					t.Errorf("logged %s", log)
				}
			})
		}
	}
}

// The limits are the SDK's.
func TestSpanLimits(t *testing.T) {
	for name, vars := range map[string]env{
		"defaults": {},
		"all":      {"OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT": "1", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "2", "OTEL_SPAN_EVENT_COUNT_LIMIT": "3", "OTEL_SPAN_LINK_COUNT_LIMIT": "4", "OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT": "5", "OTEL_LINK_ATTRIBUTE_COUNT_LIMIT": "6"},
		"general":  {"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "7", "OTEL_ATTRIBUTE_COUNT_LIMIT": "8"},
		"both":     {"OTEL_ATTRIBUTE_COUNT_LIMIT": "8", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "150", "OTEL_SPAN_EVENT_COUNT_LIMIT": "0"},
	} {
		t.Run(name, func(t *testing.T) {
			for name, value := range vars {
				t.Setenv(name, value)
			}
			pl, ctx, _ := start(t, perfline.Config{})
			defer func() { _ = pl.Shutdown(t.Context()) }()
			fill := func(tp trace.TracerProvider) sdktrace.ReadOnlySpan {
				var attrs []attribute.KeyValue
				for i := range 200 {
					attrs = append(attrs, attribute.String(strings.Repeat("k", i+1), strings.Repeat("v", 300)))
				}
				_, span := tp.Tracer("t").Start(ctx, "s")
				span.SetAttributes(attrs...)
				for range 200 {
					span.AddEvent("e", trace.WithAttributes(attrs...))
					span.AddLink(trace.Link{SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}}), Attributes: attrs})
				}
				span.SetStatus(codes.Ok, "")
				return span.(sdktrace.ReadOnlySpan)
			}
			shape := func(s sdktrace.ReadOnlySpan) []int {
				counts := []int{len(s.Attributes()), len(s.Events()), len(s.Links())}
				for _, a := range s.Attributes() {
					counts = append(counts, len(a.Value.AsString()))
				}
				for _, e := range s.Events() {
					counts = append(counts, len(e.Attributes))
				}
				for _, l := range s.Links() {
					counts = append(counts, len(l.Attributes))
				}
				return counts
			}
			got, want := shape(fill(pl.TracerProvider())), shape(fill(sdktrace.NewTracerProvider()))
			if !slices.Equal(got, want) {
				t.Errorf("%v, the SDK's have %v", got[:3], want[:3])
			}
		})
	}
}

// Marks are events, and obey their limit.
func TestLimitOfMarks(t *testing.T) { overBoth(t, testLimitOfMarks) }

func testLimitOfMarks(t *testing.T, start starter) {
	t.Helper()
	t.Setenv("OTEL_SPAN_EVENT_COUNT_LIMIT", "2")
	pl, ctx, _ := start(t, perfline.Config{Keep: bridge.KeepPolicy{Slow: -1}}) // or one that stands still for a second counts as slow
	ctx, span := pl.TracerProvider().Tracer("t").Start(ctx, "s", trace.WithSpanKind(trace.SpanKindServer))
	for range 5 {
		marks.Mark(ctx, "m")
	}
	span.End()
	_ = pl.Shutdown(t.Context())
	if root := stored(pl).Requests()[0].RootSpan(); len(root.Events) != 2 || root.DroppedEvents != 3 {
		t.Errorf("the span has %d events and dropped %d, want 2 and 3", len(root.Events), root.DroppedEvents)
	}
	want := bridge.Stats{MarkEvents: 2, MarksOverLimit: 3, OtherSpans: 1}
	if _, ok := pl.TracerProvider().(*sdktrace.TracerProvider); ok {
		want = bridge.Stats{MarkEvents: 5} // the SDK's spans do not say which events they drop
	}
	if got := pl.Stats().Bridge; got != want {
		t.Errorf("of five marks, the bridge counts %+v, want %+v", got, want)
	}
}

// A sampler that cannot say what it is has its type in the error.
func TestSamplerWithoutDescription(t *testing.T) {
	c := perfline.Config{TracerProvider: sdktrace.NewTracerProvider(), Sampler: silentSampler{}}
	if _, err := perfline.Start(t.Context(), c); err == nil || !strings.Contains(err.Error(), "field Sampler perfline_test.silentSampler: must be nil") {
		t.Errorf("got %v", err)
	}
}

type silentSampler struct{ sdktrace.Sampler }

func (silentSampler) Description() string { panic("user code") }

// A reader of metrics that panics costs metrics, and nothing else.
func TestMetricsThatPanic(t *testing.T) {
	before := otel.GetMeterProvider()
	t.Cleanup(func() { otel.SetMeterProvider(before) })
	sent := &collected{}
	pl, ctx, log := start(t, perfline.Config{Metrics: sdkmetric.NewPeriodicReader(panickingExporter{}, sdkmetric.WithInterval(time.Hour)), Traces: exporter.Config{Sender: sent}})
	_, span := pl.TracerProvider().Tracer("t").Start(ctx, "span")
	span.End()
	err := pl.Shutdown(patient(t))
	if got := sent.text(); got != "span" {
		t.Errorf("sent %q", got)
	}
	if got := log.String(); !strings.Contains(got, "code of Config.Metrics or of the global meter provider panicked") || !strings.Contains(got, "panic=\"user code\"") {
		t.Errorf("logged %s", got)
	}
	if err == nil || !strings.Contains(err.Error(), "the delivery of metrics panicked: user code") {
		t.Errorf("Shutdown returns %v", err)
	}
}

type panickingExporter struct{ sdkmetric.Exporter }

func (panickingExporter) Temporality(k sdkmetric.InstrumentKind) metricdata.Temporality {
	return sdkmetric.DefaultTemporalitySelector(k)
}
func (panickingExporter) Aggregation(sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	panic("user code")
}
func (panickingExporter) Export(context.Context, *metricdata.ResourceMetrics) error {
	panic("user code")
}
func (panickingExporter) Shutdown(context.Context) error { panic("user code") }

// The error of Shutdown names the part that hangs, and says what was lost.
func TestShutdownNamesWhatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := otel.GetMeterProvider()
		defer otel.SetMeterProvider(before)
		stop := make(chan struct{})
		defer close(stop)
		pl, err := perfline.Start(t.Context(), perfline.Config{
			Logger: slog.New(slog.DiscardHandler), Metrics: hangingReader{sdkmetric.NewManualReader(), stop}, Traces: exporter.Config{Sender: hangingSender{stop}},
		})
		if err != nil {
			t.Fatal(err)
		}
		_, span := pl.TracerProvider().Tracer("t").Start(t.Context(), "span")
		span.End()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err = pl.Shutdown(ctx)
		var lost *perfline.LostError
		if !errors.As(err, &lost) || !strings.Contains(err.Error(), "the delivery of metrics does not return") {
			t.Errorf("the error is %v", err)
		}
	})
}

type hangingReader struct {
	*sdkmetric.ManualReader
	stop chan struct{}
}

func (r hangingReader) Shutdown(context.Context) error { <-r.stop; return nil }

type hangingSender struct{ stop chan struct{} }

func (s hangingSender) Send(context.Context, []byte) exporter.Answer {
	<-s.stop
	return exporter.Answer{}
}

// A provider that the program set before Start is one log line, unless Start uses it.
func TestProviderBeforeStart(t *testing.T) {
	before := otel.GetTracerProvider()
	t.Cleanup(func() { otel.SetTracerProvider(before) })
	sdk := sdktrace.NewTracerProvider()
	t.Cleanup(func() { _ = sdk.Shutdown(context.Background()) })
	for _, c := range []struct {
		name   string
		set    trace.TracerProvider
		config perfline.Config
		want   string
	}{
		{"no-op", noop.NewTracerProvider(), perfline.Config{}, "provider=noop.TracerProvider"},
		{"the SDK's", sdk, perfline.Config{}, "provider=*trace.TracerProvider"},
		{"the one of Start", sdk, perfline.Config{TracerProvider: sdk}, ""},
		{"perfline's", bridge.NewTracerProvider(bridge.TracerProviderConfig{}), perfline.Config{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			otel.SetTracerProvider(c.set)
			_, _, log := start(t, c.config)
			if got := log.String(); strings.Count(got, earlierProvider) != min(1, len(c.want)) || !strings.Contains(got, c.want) {
				t.Errorf("logged %q, want one line with %q", got, c.want)
			}
		})
	}
}

// A wrong sampler and its wrong argument are two lines, so that a reader corrects both.
func TestWrongSamplerAndArgument(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "ratio")
	t.Setenv("OTEL_TRACES_SAMPLER_ARG", "ten percent")
	_, _, log := start(t, perfline.Config{})
	for _, want := range []string{"variable=OTEL_TRACES_SAMPLER value=ratio", `variable=OTEL_TRACES_SAMPLER_ARG value="ten percent"`} {
		if strings.Count(log.String(), want) != 1 {
			t.Errorf("logged %s, want a line with %s", log, want)
		}
	}
}
