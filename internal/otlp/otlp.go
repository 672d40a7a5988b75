// Package otlp sends requests of OTLP, encoded already, to one receiver. It has the settings of a
// signal from OpenTelemetry's variables, and senders over gRPC and HTTP:
//
//	settings, err := otlp.Resolve(vars, otlp.Config{}, otlp.Traces)
//	sender, err := settings.Sender()
//	answer := sender.Send(ctx, body) // body: an ExportTraceServiceRequest
//
// A sender makes one attempt per call. The queue in front of it retries, with the delay that the
// answer asks for. Errors and messages of receivers are bounded, printable and without the secrets
// of the settings.
//
// # Limitations
//
// Requests are protobuf. JSON is read where a receiver answers with it, and never sent.
package otlp

import (
	"cmp"
	"context"
	"net"
	"strings"
	"time"

	"github.com/perfline/perfline/internal/modules"
)

// The protocols.
const (
	GRPC = "grpc"
	HTTP = "http/protobuf"
)

// Config has the settings that a program gives. They win over the variables.
type Config struct {
	Endpoint string // base URL; for HTTP, the signal's path is added unless it has one
	// GRPC or HTTP; empty: as the variables say, else HTTP for port 4318 and GRPC for others
	Protocol string
	Headers  map[string]string // of every request; nil: as the variables say
	Dial     Dial              // makes the connections; nil: by TCP
}

// A Dial makes a connection, as the DialContext of a [net.Dialer] does.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// A Signal is a kind of data that OTLP carries.
type Signal struct {
	Variable string // in the names of OpenTelemetry's variables, as TRACES
	Path     string // of requests over HTTP
	Method   string // of gRPC
}

// The signals.
var (
	Traces = Signal{"TRACES", "/v1/traces",
		"/opentelemetry.proto.collector.trace.v1.TraceService/Export"}
	Metrics = Signal{"METRICS", "/v1/metrics",
		"/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"}
	Logs = Signal{"LOGS", "/v1/logs", "/opentelemetry.proto.collector.logs.v1.LogsService/Export"}

	// Profiles is in development: the names may change.
	Profiles = Signal{"PROFILES", "/v1development/profiles",
		"/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"}
)

// UnknownPause is how long a receiver that does not know a signal gets no more of it. Many backends
// of traces take nothing else. Traces have no such pause: a gateway that answers 404 while it is
// replaced must not stop them.
const UnknownPause = 10 * time.Minute

// userAgent returns the name and the version of the exporter, as OTLP's specification asks for.
func userAgent() string {
	version := cmp.Or(modules.Version("github.com/perfline/perfline"), "devel")
	return "perfline-OTLP-Exporter-Go/" + strings.TrimPrefix(version, "v")
}

// userAgent returns the header User-Agent: that of the program, if it has one, before perfline's
// own.
func (s *Settings) userAgent() string {
	for name, value := range s.Headers {
		if strings.EqualFold(name, "User-Agent") && value != "" {
			return value + " " + userAgent()
		}
	}
	return userAgent()
}
