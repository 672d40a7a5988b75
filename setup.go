package perfline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/blackbox"
	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/internal/permission"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/scope"
)

const (
	configFile         = "OTEL_CONFIG_FILE"
	serviceName        = "OTEL_SERVICE_NAME"
	resourceAttributes = "OTEL_RESOURCE_ATTRIBUTES"
	cardinalityLimit   = "OTEL_GO_X_CARDINALITY_LIMIT"
	knownMethods       = "OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS"
)

// check returns an error that names the first wrong field. Other packages check the fields of their
// own Configs.
func (c Config) check() error {
	if !utf8.ValidString(c.Service) {
		return fmt.Errorf("field Service %q: must be UTF-8", c.Service)
	}
	if !utf8.ValidString(c.Version) {
		return fmt.Errorf("field Version %q: must be UTF-8", c.Version)
	}
	for i, kv := range c.Attributes {
		if !sendable(kv) {
			return fmt.Errorf("field Attributes[%d] %q: must have a key and a value, both of UTF-8",
				i, kv.Key)
		}
	}
	const unbounded = math.MaxInt
	for _, f := range []struct {
		name        string
		value, most int
	}{
		{"Traces.QueueSize", c.Traces.QueueSize, otlp.MaxQueueSize},
		{"Traces.QueueBytes", c.Traces.QueueBytes, unbounded},
		{"Recent.MaxSpans", c.Recent.MaxSpans, unbounded},
		{"Recent.MaxBytes", c.Recent.MaxBytes, unbounded},
		{"Logs.QueueSize", c.Logs.QueueSize, otlp.MaxQueueSize},
		{"Logs.QueueBytes", c.Logs.QueueBytes, unbounded},
		{"Sessions.MaxSamples", c.Sessions.MaxSamples, unbounded},
		{"Sessions.MaxEvents", c.Sessions.MaxEvents, unbounded},
		{"Sessions.MaxLength", int(c.Sessions.MaxLength), unbounded},
		{"Sessions.MaxSessions", c.Sessions.MaxSessions, unbounded},
	} {
		switch {
		case f.value < 0:
			return fmt.Errorf("%s %d: must not be negative", f.name, f.value)
		case f.value > f.most:
			return fmt.Errorf("%s %d: must be %d or less", f.name, f.value, f.most)
		}
	}
	if err := blackbox.Unsupported(); err != nil && c.BlackBox != "" {
		return fmt.Errorf("field BlackBox %q: must be empty: %w", c.BlackBox, err)
	}
	if err := c.Keep.Check(); err != nil {
		return fmt.Errorf("field Keep: %w", err)
	}
	if err := c.Measures.Check(); err != nil {
		return fmt.Errorf("field Measures: %w", err)
	}
	if c.Waits != nil && c.Keep.Off {
		return errors.New("field Waits: must be nil when Keep is off: nothing finds slow requests then")
	}
	if c.TracerProvider != nil && c.Sampler != nil {
		name := fmt.Sprintf("%T", c.Sampler)
		record.Protect(func() { name = record.Name(c.Sampler.Description()) })
		return fmt.Errorf("field Sampler %s: must be nil when TracerProvider is set, because that provider has a sampler already", name)
	}
	if c.TracerProvider != nil {
		if _, shutDown := c.TracerProvider.Tracer(scope.Name).(noop.Tracer); shutDown {
			return errors.New("field TracerProvider: must not be shut down: it would make no spans")
		}
	}
	if c.SpanExporter != nil && (c.Traces.Sender != nil || c.Traces.Endpoint != "") {
		return errors.New("field SpanExporter: must be nil when Traces has an Endpoint or a Sender: spans go to one place")
	}
	if c.Marks > bridge.SpanEventsAndLogRecords {
		return fmt.Errorf("field Marks %v: must be SpanEvents, LogRecords or SpanEventsAndLogRecords", c.Marks)
	}
	return nil
}

// sendable reports whether an attribute has a key and a value, with UTF-8 texts only. Any other
// attribute of a resource makes every export fail.
func sendable(kv attribute.KeyValue) bool {
	if !kv.Valid() || !utf8.ValidString(string(kv.Key)) {
		return false
	}
	switch kv.Value.Type() {
	case attribute.STRING:
		return utf8.ValidString(kv.Value.AsString())
	case attribute.STRINGSLICE:
		for _, s := range kv.Value.AsStringSlice() {
			if !utf8.ValidString(s) {
				return false
			}
		}
	case attribute.SLICE:
		for _, v := range kv.Value.AsSlice() {
			if !sendable(attribute.KeyValue{Key: kv.Key, Value: v}) {
				return false
			}
		}
	case attribute.MAP:
		for _, member := range kv.Value.AsMap() {
			if !sendable(member) {
				return false
			}
		}
	default:
	}
	return true
}

// newResource describes the service: by OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES, then by c,
// then by detection. newResource leaves out command-line arguments, which may hold secrets.
func newResource(ctx context.Context, c Config, vars *environ.Reader) *resource.Resource {
	var attrs []attribute.KeyValue
	info, ok := debug.ReadBuildInfo()
	if ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		attrs = append(attrs, semconv.ServiceVersion(info.Main.Version))
	}
	attrs = append(attrs, c.Attributes...)
	if c.Service != "" {
		attrs = append(attrs, semconv.ServiceName(c.Service))
	}
	if c.Version != "" {
		attrs = append(attrs, semconv.ServiceVersion(c.Version))
	}
	pairs, ok := environ.Pairs(environ.Get(resourceAttributes))
	if !ok {
		vars.Warn(resourceAttributes, environ.Default(resourceAttributes))
	}
	for key, value := range pairs {
		attrs = append(attrs, attribute.String(key, value))
	}
	name, valid := environ.Text(environ.Get(serviceName))
	if name != "" && valid {
		attrs = append(attrs, semconv.ServiceName(name))
	}
	res, err := resource.New(ctx, // later options win
		resource.WithTelemetrySDK(), resource.WithHost(), resource.WithOSType(),
		resource.WithProcessPID(), resource.WithProcessExecutableName(),
		resource.WithProcessRuntimeName(), resource.WithProcessRuntimeVersion(),
		resource.WithContainer(),
		resource.WithService(), // service.instance.id and a default service.name
		resource.WithAttributes(attrs...))
	if err != nil {
		c.Logger.Warn("perfline: part of the resource could not be detected; spans lack those attributes", "error", err)
	}
	if !valid {
		instead, _ := res.Set().Value(semconv.ServiceNameKey)
		vars.Warn(serviceName, instead.AsString())
	}
	return res
}

func readPropagator(vars *environ.Reader) propagation.TextMapPropagator {
	const variable = "OTEL_PROPAGATORS"
	names := environ.List(vars, variable, environ.Default(variable))
	if len(names) == 0 {
		names = strings.Split(environ.Default(variable), ",")
	}
	var all []propagation.TextMapPropagator
	for _, name := range names {
		switch name {
		case "tracecontext":
			all = append(all, propagation.TraceContext{})
		case "baggage":
			all = append(all, propagation.Baggage{})
		}
	}
	return propagation.NewCompositeTextMapPropagator(all...)
}

// readMarkForm returns the configured form of marks. PERFLINE_MARKS replaces the zero value.
func readMarkForm(vars *environ.Reader, configured bridge.MarkForm) bridge.MarkForm {
	const variable = "PERFLINE_MARKS"
	name := environ.Read(vars, environ.Default(variable), environ.Choice(variable), variable)
	for _, form := range []bridge.MarkForm{bridge.LogRecords, bridge.SpanEventsAndLogRecords} {
		if configured == bridge.SpanEvents && form.String() == name {
			return form
		}
	}
	return configured
}

// checkVariables logs wrong variables of packages that read them without a word and use the
// defaults.
func checkVariables(vars *environ.Reader) {
	environ.Read(vars, environ.Default(knownMethods), func(value string) (string, bool) {
		_, ok := environ.Methods(value)
		return value, ok
	}, knownMethods)
	for _, name := range []string{"OTEL_GO_X_OBSERVABILITY", "OTEL_GO_X_SELF_OBSERVABILITY",
		"OTEL_GO_X_RESOURCE"} {
		environ.Read(vars, false, environ.Bool, name)
	}
	environ.Read(vars, "off", environ.Choice(permission.Variable), permission.Variable)
}

// checkMetricVariables does the same for OpenTelemetry's meter provider and its instrumentation of
// the runtime.
func checkMetricVariables(vars *environ.Reader) {
	const filter = "OTEL_METRICS_EXEMPLAR_FILTER"
	environ.Read(vars, environ.Default(filter), environ.Choice(filter), filter)
	environ.Read(vars, environ.Default(cardinalityLimit), func(value string) (string, bool) {
		_, err := strconv.Atoi(value)
		return value, err == nil
	}, cardinalityLimit)
	environ.Read(vars, false, environ.Bool, "OTEL_GO_X_PER_SERIES_START_TIMESTAMPS")
	environ.Read(vars, false, func(value string) (is, ok bool) {
		is, err := strconv.ParseBool(value)
		return is, err == nil
	}, "OTEL_GO_X_DEPRECATED_RUNTIME_METRICS")
}
