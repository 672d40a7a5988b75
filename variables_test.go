package perfline_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/otlpprofiles"
)

type env = map[string]string

// wrongValues are the values that each variable is given, in the order of a variable's cells. An empty value comes
// before them: it means unset, whatever the variable.
var wrongValues = []struct{ name, value string }{
	{"negative", "-1"},
	{"zero", "0"},
	{"huge", "99999999999999999999"},
	{"not a number", "many"},
	{"not UTF-8", "\xff\xfe"},
}

// The effects of a value.
const (
	taken = 'o' // ok: Start succeeds and logs nothing
	warns = 'w' // Start succeeds and logs one line with the variable's name
	fails = 'e' // the error of Start has the variable's name, and nothing has changed
)

// A cellsOf says what becomes of a variable's values.
type cellsOf struct {
	cells string // a letter for each of wrongValues
	with  env    // other variables that must be set for this one to count
	unset string // letters for an empty value and for a space; empty means that both are taken
}

// variables are all that perfline.Start honours.
func variables(pyroscope string) map[string]cellsOf {
	const (
		allWarn = "wwwww"
		allFail = "eeeee"
		limit   = "wowww"
		goLimit = "oowww" // a negative limit is none
		text    = "oooow"
	)
	all := map[string]cellsOf{
		"OTEL_SDK_DISABLED":        {cells: allWarn},
		"OTEL_SERVICE_NAME":        {cells: text},
		"OTEL_RESOURCE_ATTRIBUTES": {cells: allWarn},
		"OTEL_PROPAGATORS":         {cells: allWarn},
		"OTEL_CONFIG_FILE":         {cells: allWarn},
		"OTEL_TRACES_SAMPLER":      {cells: allWarn},
		"OTEL_TRACES_SAMPLER_ARG":  {cells: "wowww", with: env{"OTEL_TRACES_SAMPLER": "traceidratio"}},
		"OTEL_TRACES_EXPORTER":     {cells: allWarn},
		"OTEL_METRICS_EXPORTER":    {cells: allWarn},
		"OTEL_LOGS_EXPORTER":       {cells: allWarn},
		"PERFLINE_MARKS":           {cells: allWarn},
		"OTEL_PROFILES_EXPORTER":   {cells: allWarn},

		"OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS": {cells: text},
		"OTEL_GO_X_OBSERVABILITY":                 {cells: allWarn},
		"OTEL_GO_X_SELF_OBSERVABILITY":            {cells: allWarn},
		"OTEL_GO_X_RESOURCE":                      {cells: allWarn},

		"PERFLINE_BLACKBOX_DIR":    {cells: allWarn},
		"PERFLINE_PROFILING":       {cells: allWarn},
		"PYROSCOPE_SERVER_ADDRESS": {cells: allFail},
	}
	for _, name := range []string{
		"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_SPAN_EVENT_COUNT_LIMIT", "OTEL_SPAN_LINK_COUNT_LIMIT",
		"OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", "OTEL_LINK_ATTRIBUTE_COUNT_LIMIT",
	} {
		all[name] = cellsOf{cells: limit}
	}
	traces, metrics := env{"OTEL_TRACES_EXPORTER": "otlp"}, env{"OTEL_METRICS_EXPORTER": "otlp"}
	logs := env{"OTEL_LOGS_EXPORTER": "otlp"}
	for _, name := range []string{
		"OTEL_ATTRIBUTE_COUNT_LIMIT", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT",
		"OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT", "OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT",
	} {
		all[name] = cellsOf{cells: limit, with: logs} // with logs, two parts read them
	}
	both := maps.Clone(traces)
	maps.Copy(both, metrics)
	for what, cells := range map[string]string{
		"ENDPOINT": allFail, "PROTOCOL": allWarn, "HEADERS": allFail,
		"CERTIFICATE": allFail, "CLIENT_CERTIFICATE": allFail, "CLIENT_KEY": allFail,
		"INSECURE": allWarn, "COMPRESSION": allWarn, "TIMEOUT": "wowww",
	} {
		for signal, with := range map[string]env{"": both, "TRACES_": traces, "METRICS_": metrics, "LOGS_": logs, "PROFILES_": nil} {
			all["OTEL_EXPORTER_OTLP_"+signal+what] = cellsOf{cells: cells, with: with}
		}
	}
	for name, cells := range map[string]string{
		"OTEL_BSP_MAX_QUEUE_SIZE": allWarn, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": allWarn, // a chan of a huge size would panic
		"OTEL_BSP_SCHEDULE_DELAY": "wowww", "OTEL_BSP_EXPORT_TIMEOUT": "wowww",
	} {
		all[name] = cellsOf{cells: cells, with: traces}
	}
	for name, cells := range map[string]string{
		"OTEL_BLRP_MAX_QUEUE_SIZE": allWarn, "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE": allWarn,
		"OTEL_BLRP_SCHEDULE_DELAY": "wowww", "OTEL_BLRP_EXPORT_TIMEOUT": "wowww",
	} {
		all[name] = cellsOf{cells: cells, with: logs}
	}
	for name, cells := range map[string]string{
		"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE":        allWarn,
		"OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION": allWarn,
		"OTEL_METRIC_EXPORT_INTERVAL":                              allWarn,
		"OTEL_METRIC_EXPORT_TIMEOUT":                               "wowww",
		"OTEL_METRICS_EXEMPLAR_FILTER":                             allWarn,
		"OTEL_GO_X_CARDINALITY_LIMIT":                              goLimit,
		"OTEL_GO_X_PER_SERIES_START_TIMESTAMPS":                    allWarn,
		"OTEL_GO_X_DEPRECATED_RUNTIME_METRICS":                     "wowww", // 0 is false
	} {
		all[name] = cellsOf{cells: cells, with: metrics}
	}
	for name, cells := range map[string]string{
		"PYROSCOPE_APPLICATION_NAME": text, "PYROSCOPE_LABELS": allWarn, "PYROSCOPE_UPLOAD_INTERVAL": allWarn,
		"PERFLINE_LEAK_INTERVAL": allWarn, "PYROSCOPE_TENANT_ID": "ooooe", "PYROSCOPE_HTTP_HEADERS": allFail,
	} {
		all[name] = cellsOf{cells: cells, with: env{"PYROSCOPE_SERVER_ADDRESS": pyroscope}}
	}
	all["PYROSCOPE_BASIC_AUTH_USER"] = cellsOf{"ooooe", env{"PYROSCOPE_SERVER_ADDRESS": pyroscope, "PYROSCOPE_BASIC_AUTH_PASSWORD": "p"}, "ee"}
	all["PYROSCOPE_BASIC_AUTH_PASSWORD"] = cellsOf{"ooooe", env{"PYROSCOPE_SERVER_ADDRESS": pyroscope, "PYROSCOPE_BASIC_AUTH_USER": "u"}, "eo"}
	return all
}

// TestVariables starts perfline with each value that is an error. Variables for which a value is no error get the value
// together.
func TestVariables(t *testing.T) {
	pyroscope, _ := takesProfiles(t, http.StatusOK)
	all := variables(pyroscope)
	for i, try := range append([]struct{ name, value string }{{"empty", ""}, {"a space", " "}}, wrongValues...) {
		t.Run(try.name, func(t *testing.T) {
			var others []string
			for _, name := range slices.Sorted(maps.Keys(all)) {
				if all[name].effect(i) != fails {
					others = append(others, name)
					continue
				}
				t.Run(name, func(t *testing.T) { wrongVariable(t, name, try.value, all[name].with) })
			}
			for len(others) > 0 {
				together := map[string]byte{}
				with := env{}
				for _, name := range others {
					if others := slices.Collect(maps.Keys(together)); !slices.ContainsFunc(others, func(other string) bool { return inTheWay(all, name, other) }) {
						together[name] = all[name].effect(i)
						maps.Copy(with, all[name].with)
					}
				}
				others = slices.DeleteFunc(others, func(name string) bool { return together[name] != 0 })
				t.Run(fmt.Sprint(len(together), " together"), func(t *testing.T) { variablesTogether(t, together, try.value, with) })
			}
		})
	}
}

// effect is what becomes of the i-th value: an empty one, a space, and then wrongValues.
func (c cellsOf) effect(i int) byte { return (cmp.Or(c.unset, "oo") + c.cells)[i] }

// narrower is the part of a name that makes a variable hide the one without the part.
var narrower = regexp.MustCompile("_(TRACES|METRICS|LOGS|PROFILES|SPAN|EVENT|LINK|LOGRECORD)_")

// inTheWay says whether two variables cannot be tried together, since one of them is not read then, or has to
// have another value for the other.
func inTheWay(all map[string]cellsOf, a, b string) bool {
	hides := func(a, b string) bool {
		_, sets := all[a].with[b]
		return sets || a != b && narrower.ReplaceAllString(a, "_") == b || a == "OTEL_GO_X_OBSERVABILITY" && b == "OTEL_GO_X_SELF_OBSERVABILITY"
	}
	return hides(a, b) || hides(b, a)
}

// wrongVariable starts perfline with a value that is an error.
func wrongVariable(t *testing.T, name, value string, with env) {
	for other, value := range with {
		t.Setenv(other, value)
	}
	t.Setenv(name, value)
	w := watchGlobals(t)
	pl, err := startWatched(t, w)
	if err == nil {
		_ = pl.Shutdown(canceled(t))
		t.Fatal("Start returned no error")
	}
	if !strings.Contains(err.Error(), name) {
		t.Errorf("error %q does not name the variable", err)
	}
	w.unchanged(t)
}

// variablesTogether starts perfline with the same value for several variables.
func variablesTogether(t *testing.T, effects map[string]byte, value string, with env) {
	t.Chdir(t.TempDir()) // most values are names of directories
	for other, value := range with {
		t.Setenv(other, value)
	}
	for name := range effects {
		t.Setenv(name, value)
	}
	w := watchGlobals(t)
	pl, err := startWatched(t, w)
	if err != nil {
		t.Fatalf("Start with %q: %v", slices.Sorted(maps.Keys(effects)), err)
	}
	defer func() { _ = pl.Shutdown(canceled(t)) }()
	// On a busy machine the profiler of the case before is still being stopped: Shutdown did not wait for it.
	lines := slices.DeleteFunc(w.lines(), func(line string) bool { return strings.Contains(line, `msg="profiling: `) })
	for name, effect := range effects {
		if effect != warns {
			continue
		}
		of := func(line string) bool {
			return strings.Contains(line, "variable="+name+" ") && strings.Contains(line, "level=WARN")
		}
		if at := slices.IndexFunc(lines, of); at >= 0 {
			lines = slices.Delete(lines, at, at+1)
		} else {
			t.Errorf("no warning has variable=%s", name)
		}
	}
	if len(lines) > 0 {
		t.Errorf("also logged %q", lines)
	}
}

func startWatched(t *testing.T, w *globalWatch) (*perfline.Pipeline, error) {
	return perfline.Start(t.Context(), perfline.Config{
		Logger: w.logger(), Timeline: observer.NewTimeline(observer.TimelineOptions{}),
		ProfileExporter: otlpprofiles.New(otlpprofiles.Config{}),
	})
}

// canceled is a context for a Shutdown that waits for nothing.
func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// TestVariables tries all variables that are listed, and a variable is listed as an error if a wrong value was one.
func TestVariablesAreTried(t *testing.T) {
	tried := variables("")
	listed := map[string]bool{}
	for _, v := range environ.Variables() {
		for _, name := range v.Names() {
			listed[name] = true
			cells := tried[name].cells
			if len(cells) != len(wrongValues) {
				t.Errorf("TestVariables tries %s with %d values, want %d", name, len(cells), len(wrongValues))
			}
			if fatal := strings.Contains(cells, string(fails)); fatal != v.Fatal || strings.Contains(cells, string(warns)) == v.Fatal {
				t.Errorf("%s: listed as an error is %v, its cells are %s", name, v.Fatal, cells)
			}
		}
		if v.Sets == "" || v.Default == "" || !strings.HasPrefix(v.Rule(), "must ") {
			t.Errorf("%s lacks words: %+v", v.Name, v)
		}
	}
	for name := range tried {
		if !listed[name] {
			t.Errorf("TestVariables tries %s, which is not listed", name)
		}
	}
}

// A logBuffer is a buffer for several goroutines: the profiler logs on one of its own.
type logBuffer struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (b *logBuffer) Len() int { return len(b.String()) }

func (b *logBuffer) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text.Reset()
}

// A globalWatch holds what OpenTelemetry's globals were before Start, and all that is logged.
type globalWatch struct {
	log        logBuffer
	tracers    *sdktrace.TracerProvider
	meters     *sdkmetric.MeterProvider
	propagator propagation.TextMapPropagator
}

func watchGlobals(t *testing.T) *globalWatch {
	t.Helper()
	w := &globalWatch{tracers: sdktrace.NewTracerProvider(), meters: sdkmetric.NewMeterProvider(), propagator: propagation.Baggage{}}
	slogDefault := slog.Default()
	slog.SetDefault(w.logger())
	t.Cleanup(func() { slog.SetDefault(slogDefault) })
	before := otel.GetTracerProvider()
	t.Cleanup(func() { otel.SetTracerProvider(before) })
	otel.SetTracerProvider(w.tracers)
	otel.SetMeterProvider(w.meters)
	otel.SetTextMapPropagator(w.propagator)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { _, _ = io.WriteString(&w.log, "otel.Handle: "+err.Error()+"\n") }))
	otel.SetLogger(funcr.New(func(_, args string) { _, _ = io.WriteString(&w.log, "otel's logger: "+args+"\n") }, funcr.Options{}))
	w.log.Reset() // the providers above read variables, too
	return w
}

func (w *globalWatch) logger() *slog.Logger { return slog.New(slog.NewTextHandler(&w.log, nil)) }

func (w *globalWatch) lines() []string { return linesOf(w.log.String()) }

// linesOf returns the lines of a log, but for the one about the provider that watchGlobals has set.
func linesOf(log string) []string {
	return slices.DeleteFunc(slices.Collect(strings.Lines(log)), func(line string) bool { return strings.Contains(line, earlierProvider) })
}

const earlierProvider = "the program set a tracer provider before perfline.Start"

// unchanged fails t unless the globals are what they were.
func (w *globalWatch) unchanged(t *testing.T) {
	t.Helper()
	if got := otel.GetTracerProvider(); got != w.tracers {
		t.Errorf("the tracer provider is %v", got)
	}
	if got := otel.GetMeterProvider(); got != w.meters {
		t.Errorf("the meter provider is %v", got)
	}
	if got := otel.GetTextMapPropagator(); got != w.propagator {
		t.Errorf("the propagator is %v", got)
	}
	w.log.Reset()
	otel.Handle(errors.New("probe"))
	if got := w.log.String(); got != "otel.Handle: probe\n" {
		t.Errorf("the error handler is another: it wrote %q", got)
	}
	w.log.Reset()
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "probe")
	_ = sdkmetric.NewPeriodicReader(noMetrics{}).Shutdown(t.Context())
	if got := w.log.String(); !strings.HasPrefix(got, "otel's logger: ") {
		t.Errorf("the logger is another: it wrote %q", got)
	}
}

// noMetrics is an exporter that can be shut down and nothing else.
type noMetrics struct{ sdkmetric.Exporter }

func (noMetrics) Shutdown(context.Context) error { return nil }
