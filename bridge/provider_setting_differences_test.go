package bridge_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
)

// settingDifferences are differences of variables, logs and metrics.
var settingDifferences = []providerDifference{
	{
		what: "`OTEL_RESOURCE_ATTRIBUTES`, when the configuration has a resource", sdk: "is merged into it", perfline: "is ignored",
		why: "The field is the resource. Without it, `resource.Default()` has the variable's attributes. `perfline.Start` merges them.",
		observe: func(t *testing.T, start newProvider) string {
			t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "from=variable")
			_, s := start(t, providerConfig{resource: resource.NewSchemaless(attribute.String("service.name", "shop"))}).Tracer("test").Start(t.Context(), "span")
			return either(s.(sdktrace.ReadOnlySpan).Resource().Len() == 2, "is merged into it", "is ignored")
		},
	},
	{
		what: "`OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=\" 7 \"` (a number with spaces, in each variable of a limit)", sdk: "is wrong", perfline: "is 7",
		why:     "OpenTelemetry's variables for text ignore spaces as well.",
		observe: func(t *testing.T, start newProvider) string { return attributeLimit(t, start, " 7 ", "") },
	},
	{
		what: "`OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=x` with `OTEL_ATTRIBUTE_COUNT_LIMIT=7` (and the two for the length of values)", sdk: "is wrong", perfline: "is 7",
		why:     "A wrong variable counts as unset. So the general one applies.",
		observe: func(t *testing.T, start newProvider) string { return attributeLimit(t, start, "x", "7") },
	},
	{
		what: "`OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=-1` (a negative number, in each variable of a limit)", sdk: "is no limit", perfline: "is wrong",
		why: "The specification: implementations should not give negative values a meaning of their own.",
		observe: func(t *testing.T, start newProvider) string {
			return either(attributesOf200(t, start, "-1", "") == 200, "is no limit", "is wrong")
		},
	},
	{
		what: "A wrong `OTEL_TRACES_SAMPLER` is reported to", sdk: "`otel.Handle`", perfline: "`slog.Default()`",
		why: "perfline reports all wrong variables there, with their values and rules.",
		observe: func(t *testing.T, start newProvider) string {
			handled := handledErrors()
			var b bytes.Buffer
			before := slog.Default()
			slog.SetDefault(slog.New(slog.NewTextHandler(&b, nil)))
			defer slog.SetDefault(before)
			t.Setenv("OTEL_TRACES_SAMPLER", "wrong")
			start(t, providerConfig{})
			switch log := b.String(); {
			case len(handled()) == 1 && log == "":
				return "`otel.Handle`"
			case len(handled()) == 0 && strings.Contains(log, "variable=OTEL_TRACES_SAMPLER"):
				return "`slog.Default()`"
			default:
				return fmt.Sprint(handled(), log)
			}
		},
	},
	{
		what: "Log lines through `otel.SetLogger`", sdk: "TracerProvider created; Tracer created; limit reached: dropping trace Span attributes; limit reached: dropping trace trace.Event", perfline: "none",
		why: "The counts in the spans tell of limits. The lines appear at levels 1 and 4 only.",
		observe: func(t *testing.T, start newProvider) string {
			var lines []string
			otel.SetLogger(funcr.New(func(_, args string) {
				_, line, _ := strings.Cut(args, `"msg"="`)
				line, _, _ = strings.Cut(line, `"`)
				lines = append(lines, line)
			}, funcr.Options{Verbosity: 8}))
			defer otel.SetLogger(logr.Discard())
			_, s := start(t, providerConfig{limits: &sdktrace.SpanLimits{}}).Tracer("test").Start(t.Context(), "span", trace.WithAttributes(pairs("a=1")...))
			s.AddEvent("event")
			s.End()
			return either(len(lines) == 0, "none", strings.Join(lines, "; "))
		},
	},
	{
		what: "Metrics of the provider, with `OTEL_GO_X_OBSERVABILITY=true`", sdk: "otel.sdk.span.live, otel.sdk.span.started", perfline: "none",
		why: "They are experimental. perfline has metrics of its own, which need no variable.",
		observe: func(t *testing.T, start newProvider) string {
			t.Setenv("OTEL_GO_X_OBSERVABILITY", "true")
			reader := metric.NewManualReader()
			otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
			defer otel.SetMeterProvider(noop.NewMeterProvider())
			_, s := start(t, providerConfig{}).Tracer("test").Start(t.Context(), "span")
			s.End()
			var data metricdata.ResourceMetrics
			if err := reader.Collect(t.Context(), &data); err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, scope := range data.ScopeMetrics {
				for _, m := range scope.Metrics {
					names = append(names, m.Name)
				}
			}
			slices.Sort(names)
			return either(len(names) == 0, "none", strings.Join(names, ", "))
		},
	},
}

// attributeLimit says whether the limit of attributes is 7 with the values of two variables.
func attributeLimit(t *testing.T, start newProvider, span, general string) string {
	t.Helper()
	return either(attributesOf200(t, start, span, general) == 7, "is 7", "is wrong")
}

// attributesOf200 returns how many of 200 attributes a span has with two variables.
func attributesOf200(t *testing.T, start newProvider, span, general string) int {
	t.Helper()
	before := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	defer slog.SetDefault(before)
	t.Setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", span)
	t.Setenv("OTEL_ATTRIBUTE_COUNT_LIMIT", general)
	_, s := start(t, providerConfig{}).Tracer("test").Start(t.Context(), "span")
	for i := range 200 {
		s.SetAttributes(attribute.Int(fmt.Sprint("k", i), i))
	}
	return len(s.(sdktrace.ReadOnlySpan).Attributes())
}

// A request keeps the bytes that perfline's provider exports: the spans of one scope.
type request struct {
	exportedSpans
	bytes []byte
}

func (r *request) Accept(all []bridge.Spans) {
	for _, spans := range all {
		r.bytes = append(r.bytes, spans.Bytes...)
	}
}
