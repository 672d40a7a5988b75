// Package spanconfig reads the environment variables of OpenTelemetry's providers: the sampler, and
// the limits of spans and log records.
package spanconfig

import (
	"math"
	"strings"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/internal/environ"
)

// Names of variables.
const (
	Sampler    = "OTEL_TRACES_SAMPLER"
	SamplerArg = "OTEL_TRACES_SAMPLER_ARG"
)

// ReadSampler returns the sampler that OTEL_TRACES_SAMPLER selects. If the parameter configured is
// not nil, ReadSampler returns this sampler. ReadSampler logs a wrong variable in both cases.
func ReadSampler(vars *environ.Reader, configured sdktrace.Sampler) sdktrace.Sampler {
	otherwise := environ.Default(Sampler)
	if configured != nil {
		otherwise = "Config.Sampler"
	}
	name := environ.Read(vars, otherwise, environ.Choice(Sampler), Sampler)
	if configured != nil {
		return configured
	}
	if _, ok := environ.Choice(Sampler)(environ.Get(Sampler)); !ok && environ.Get(Sampler) != "" {
		environ.Read(vars, 1, environ.Ratio, SamplerArg) // both may be wrong
	}
	name, parentBased := strings.CutPrefix(name, "parentbased_")
	var s sdktrace.Sampler
	switch name {
	case "always_off":
		s = sdktrace.NeverSample()
	case "traceidratio":
		s = sdktrace.TraceIDRatioBased(environ.Read(vars, 1, environ.Ratio, SamplerArg))
	default:
		s = sdktrace.AlwaysSample()
	}
	if parentBased {
		s = sdktrace.ParentBased(s)
	}
	return s
}

var readLimit = environ.Integer(0, math.MaxInt)

// ReadLimits reads the limits of spans from environment variables.
func ReadLimits(vars *environ.Reader) sdktrace.SpanLimits {
	limit := func(otherwise int, names ...string) int {
		return environ.Read(vars, otherwise, readLimit, names...)
	}
	return sdktrace.SpanLimits{
		AttributeValueLengthLimit: limit(sdktrace.DefaultAttributeValueLengthLimit,
			"OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT"),
		AttributeValueDepthLimit: sdktrace.DefaultAttributeValueDepthLimit,
		AttributeCountLimit: limit(sdktrace.DefaultAttributeCountLimit,
			"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "OTEL_ATTRIBUTE_COUNT_LIMIT"),
		EventCountLimit: limit(sdktrace.DefaultEventCountLimit, "OTEL_SPAN_EVENT_COUNT_LIMIT"),
		LinkCountLimit:  limit(sdktrace.DefaultLinkCountLimit, "OTEL_SPAN_LINK_COUNT_LIMIT"),
		AttributePerEventCountLimit: limit(sdktrace.DefaultAttributePerEventCountLimit,
			"OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT"),
		AttributePerLinkCountLimit: limit(sdktrace.DefaultAttributePerLinkCountLimit,
			"OTEL_LINK_ATTRIBUTE_COUNT_LIMIT"),
	}
}

// LogLimits contains the limits of a log record. A negative number means no limit.
type LogLimits struct{ AttributeCount, AttributeValueLength int }

// Names of the limits of log records.
const (
	LogAttributeCount       = "OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT"
	LogAttributeValueLength = "OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT"
)

// ReadLogLimits reads the limits of log records from environment variables.
func ReadLogLimits(vars *environ.Reader) LogLimits {
	return LogLimits{
		AttributeCount: environ.Read(vars, sdktrace.DefaultAttributeCountLimit, readLimit,
			LogAttributeCount, "OTEL_ATTRIBUTE_COUNT_LIMIT"),
		AttributeValueLength: environ.Read(vars, sdktrace.DefaultAttributeValueLengthLimit,
			readLimit, LogAttributeValueLength, "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT"),
	}
}
