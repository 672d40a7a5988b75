package otlpprofiles

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/secret"
	"github.com/perfline/perfline/profiling"
)

// Config configures an exporter of [New]. A set field overrides the corresponding environment
// variable. With the zero value, the variables of OpenTelemetry configure the exporter. Only
// variables configure TLS, timeouts and compression.
type Config struct {
	// Endpoint is the base URL of the receiver, such as "http://localhost:4317". For HTTP, the
	// exporter adds "/v1development/profiles" to a URL without a path. Without the field and the
	// variable, the endpoint is port 4317 of localhost, or port 4318 for HTTP.
	Endpoint string

	// Protocol is "grpc" or "http/protobuf". Without the field and the variable, the exporter uses
	// HTTP for port 4318 and gRPC for other ports. 4318 is the registered port of OTLP over
	// HTTP.
	Protocol string

	// Headers are sent with every request, for example a tenant or a token.
	Headers map[string]string

	// Sender sends the requests. A Sender replaces the three fields above and the corresponding
	// variables. Each body is one ExportProfilesServiceRequest. Shutdown closes a Sender that
	// implements io.Closer. Log messages contain the result of the Sender's String method, or else
	// the Sender's type.
	Sender exporter.Sender

	// Interval is the length of a profile, from a second to 30 minutes. 0 means 15 s. Exporters
	// that perfline.Start starts together use the shortest Interval, the shortest LeakInterval and
	// the largest Spans of all exporters.
	Interval time.Duration

	// LeakInterval is the time between profiles of leaked goroutines, from a second to 24 hours. 0
	// means the value of PERFLINE_LEAK_INTERVAL, or never without this variable. A negative value
	// means never. Each profile costs a garbage collection, and can end some programs. Read the
	// documentation of package pyroscope first.
	LeakInterval time.Duration

	// Spans selects the spans that CPU samples link to. With the zero value,
	// [profiling.LocalRoots], all samples of a request link to the server span.
	Spans profiling.Selection

	// QueueBytes limits the size of the pending profiles, in bytes of requests. 0 means 16 MiB,
	// enough for some minutes of a busy service.
	QueueBytes int

	Logger *slog.Logger // nil means the logger of Start
}

// text leaves out frequent secrets: the values of headers, and the endpoint's user and query.
func (c Config) text() string {
	return fmt.Sprintf("{Endpoint:%s Protocol:%s Headers:%v Interval:%v LeakInterval:%v Spans:%d QueueBytes:%d}",
		secret.URL(c.Endpoint), c.Protocol, slices.Sorted(maps.Keys(c.Headers)), c.Interval,
		c.LeakInterval, c.Spans, c.QueueBytes)
}

// Format prints the fields of c without secrets, for every formatting verb. A struct that embeds a
// Config inherits Format. To print other fields of such a struct, define another Format method.
func (c Config) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.text()) }

// MarshalText returns the text that Format prints. encoding/json and log/slog call MarshalText.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.text()), nil }
