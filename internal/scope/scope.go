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

// Scope returns the scope with the version of this module in the program. The version is empty if
// the build information lacks the version, as in a program that replaces the module with a folder.
func Scope() instrumentation.Scope {
	return instrumentation.Scope{Name: Name, Version: version(), SchemaURL: semconv.SchemaURL}
}

// Tracer returns the scope's tracer.
func Tracer(p trace.TracerProvider) trace.Tracer {
	s := Scope()
	return p.Tracer(s.Name, trace.WithInstrumentationVersion(s.Version),
		trace.WithSchemaURL(s.SchemaURL))
}

// Meter returns the scope's meter.
func Meter(p metric.MeterProvider) metric.Meter {
	s := Scope()
	return p.Meter(s.Name, metric.WithInstrumentationVersion(s.Version),
		metric.WithSchemaURL(s.SchemaURL))
}

var version = sync.OnceValue(func() string { return modules.Version(Name) })
