// Package scope defines the instrumentation scope of perfline's own spans and metrics.
package scope

import (
	"sync"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/modules"
)

// Name is the name of the scope.
const Name = "github.com/perfline/perfline"

// Scope returns the instrumentation scope of perfline. The version is the version of this module in
// the program. The version is empty if the build information contains no version, for example if a
// folder replaces the module.
func Scope() instrumentation.Scope {
	return instrumentation.Scope{Name: Name, Version: version(), SchemaURL: semconv.SchemaURL}
}

// Tracer returns the tracer of p for perfline's scope.
func Tracer(p trace.TracerProvider) trace.Tracer {
	s := Scope()
	return p.Tracer(s.Name, trace.WithInstrumentationVersion(s.Version),
		trace.WithSchemaURL(s.SchemaURL))
}

// Meter returns the meter of p for perfline's scope.
func Meter(p metric.MeterProvider) metric.Meter {
	s := Scope()
	return p.Meter(s.Name, metric.WithInstrumentationVersion(s.Version),
		metric.WithSchemaURL(s.SchemaURL))
}

var version = sync.OnceValue(func() string { return modules.Version(Name) })
