// Package otlp sends encoded requests of OTLP to one receiver. Package otlp reads the settings of a
// signal from OpenTelemetry's variables, and provides senders over gRPC and HTTP:
//
//	settings, err := otlp.Resolve(vars, otlp.Config{}, otlp.Traces)
//	sender, err := settings.Sender()
//	answer := sender.Send(ctx, body) // body: an ExportTraceServiceRequest
//
// A sender makes one attempt per call. The queue retries after the delay in the answer. Errors and
// messages of receivers are bounded, printable and free of the settings' secrets.
//
// # Limitations
//
// Requests are protobuf. A sender parses JSON answers, but does not send JSON.
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

// Config contains the settings that the program sets in code. The fields override the signal's
// variables.
type Config struct {
	Endpoint string            // base URL; for HTTP, the default path is the signal's path
	Protocol string            // GRPC or HTTP; empty: a variable, HTTP for port 4318, or GRPC
	Headers  map[string]string // of every request; nil: from the variables
	Dial     Dial              // opens connections; nil: TCP
}

// A Dial opens a connection, like the method DialContext of [net.Dialer].
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// A Signal is a kind of data that OTLP transports.
type Signal struct {
	Variable string // part of the names of variables, such as TRACES
	Path     string // URL path of requests over HTTP
	Method   string // full name of the gRPC method
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

// UnknownPause is the pause of a signal that the receiver does not support. Many backends support
// only traces. Traces never pause, because a gateway may answer 404 while an operator replaces the
// gateway.
const UnknownPause = 10 * time.Minute

// userAgent returns the name and the version of the exporter, by OTLP's specification.
func userAgent() string {
	version := cmp.Or(modules.Version("github.com/perfline/perfline"), "devel")
	return "perfline-OTLP-Exporter-Go/" + strings.TrimPrefix(version, "v")
}

// userAgent returns the header User-Agent: the program's own header, if set, before perfline's.
func (s *Settings) userAgent() string {
	for name, value := range s.Headers {
		if strings.EqualFold(name, "User-Agent") && value != "" {
			return value + " " + userAgent()
		}
	}
	return userAgent()
}
