package perfline

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/perfline/perfline/bridge"
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

// check returns an error that names the first wrong field. Other packages check the fields that are
// theirs.
func (c Config) check() error {
	for _, f := range []struct{ name, value string }{{"Service", c.Service},
		{"Version", c.Version}} {
		if !utf8.ValidString(f.value) {
			return fmt.Errorf("%s %q: must be UTF-8", f.name, f.value)
		}
	}
	for i, kv := range c.Attributes {
		if !sendable(kv) {
			return fmt.Errorf("field Attributes[%d] %q: must have a key and a value, both of UTF-8",
				i, kv.Key)
		}
	}
	for _, f := range []struct {
		name  string
		value int
	}{
		{"Traces.QueueSize", c.Traces.QueueSize}, {"Traces.QueueBytes", c.Traces.QueueBytes},
		{"Recent.MaxSpans", c.Recent.MaxSpans}, {"Recent.MaxBytes", c.Recent.MaxBytes},
		{"Logs.QueueSize", c.Logs.QueueSize}, {"Logs.QueueBytes", c.Logs.QueueBytes},
		{"Sessions.MaxSamples", c.Sessions.MaxSamples},
		{"Sessions.MaxEvents", c.Sessions.MaxEvents},
		{"Sessions.MaxLength", int(c.Sessions.MaxLength)},
		{"Sessions.MaxSessions", c.Sessions.MaxSessions},
	} {
		if f.value < 0 {
			return fmt.Errorf("%s %d: must not be negative", f.name, f.value)
		}
	}
	if err := c.Keep.Check(); err != nil {
		return fmt.Errorf("field Keep: %w", err)
	}
	if err := c.Measures.Check(); err != nil {
		return fmt.Errorf("field Measures: %w", err)
	}
	if c.Waits != nil && (c.Keep.Off || c.TracerProvider != nil) {
		return errors.New("field Waits: must be nil when Keep is off, or when TracerProvider is set: nothing finds slow requests then")
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
	for _, f := range []struct {
		name string
		size int
	}{{"Traces", c.Traces.QueueSize}, {"Logs", c.Logs.QueueSize}} {
		if f.size > otlp.MaxQueueSize {
			return fmt.Errorf("%s.QueueSize %d: must be %d or less", f.name, f.size,
				otlp.MaxQueueSize)
		}
	}
	if c.Marks > bridge.SpanEventsAndLogRecords {
		return fmt.Errorf("field Marks %v: must be SpanEvents, LogRecords or SpanEventsAndLogRecords", c.Marks)
	}
	return nil
}

// sendable reports whether an attribute has a key and a value without text that is not UTF-8. A
// resource with another one makes every export fail.
func sendable(kv attribute.KeyValue) bool {
	if !kv.Valid() || !utf8.ValidString(string(kv.Key)) {
		return false
	}
	texts := []string{kv.Value.AsString()} // empty unless it is one
	switch kv.Value.Type() {
	case attribute.STRINGSLICE:
		texts = kv.Value.AsStringSlice()
	case attribute.SLICE:
		return !slices.ContainsFunc(kv.Value.AsSlice(),
			func(v attribute.Value) bool {
				return !sendable(
					attribute.KeyValue{Key: kv.Key, Value: v})
			})
	case attribute.MAP:
		return !slices.ContainsFunc(kv.Value.AsMap(),
			func(kv attribute.KeyValue) bool { return !sendable(kv) })
	default:
	}
	return !slices.ContainsFunc(texts, func(s string) bool { return !utf8.ValidString(s) })
}

// newResource describes the service: by OTEL_SERVICE_NAME and
// OTEL_RESOURCE_ATTRIBUTES, then c, then by what can be detected. Command-line arguments
// are left out, because they may hold secrets.
func newResource(ctx context.Context, c Config, vars *environ.Reader) *resource.Resource {
	var attrs []attribute.KeyValue
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" &&
		info.Main.Version != "(devel)" {
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
	res, err := resource.New(ctx, // later ones win
		resource.WithTelemetrySDK(),
		resource.WithHost(),
		resource.WithOSType(),
		resource.WithProcessPID(),
		resource.WithProcessExecutableName(),
		resource.WithProcessRuntimeName(),
		resource.WithProcessRuntimeVersion(),
		resource.WithContainer(),
		resource.WithService(), // service.instance.id, and a name for a service without one
		resource.WithAttributes(attrs...),
	)
	if err != nil {
		c.Logger.Warn("perfline: part of the resource could not be detected; spans lack those attributes", "error", err)
	}
	if !valid {
		instead, _ := res.Set().Value(semconv.ServiceNameKey)
		vars.Warn(serviceName, instead.AsString())
	}
	return res
}

// readPropagator returns the propagator that OTEL_PROPAGATORS names.
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

// readMarkForm returns the form of marks: the program's, unless that is the zero value, or the
// variable's.
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

// checkOthers logs wrong variables that other packages read. These packages use the defaults then.
func checkOthers(vars *environ.Reader) {
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

// checkMetrics logs wrong variables that OpenTelemetry's meter provider and its instrumentation of
// the runtime read. They use the defaults then.
func checkMetrics(vars *environ.Reader) {
	const filter = "OTEL_METRICS_EXEMPLAR_FILTER"
	environ.Read(vars, environ.Default(filter), environ.Choice(filter), filter)
	environ.Read(vars, environ.Default(cardinalityLimit), func(value string) (string, bool) {
		_, ok := environ.Whole(value)
		return value, ok
	}, cardinalityLimit)
	environ.Read(vars, false, environ.Bool, "OTEL_GO_X_PER_SERIES_START_TIMESTAMPS")
	environ.Read(vars, false, func(value string) (is, ok bool) {
		is, err := strconv.ParseBool(value)
		return is, err == nil
	}, "OTEL_GO_X_DEPRECATED_RUNTIME_METRICS")
}
