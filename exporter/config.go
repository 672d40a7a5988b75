package exporter

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"

	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/internal/secret"
)

// The protocols of a [Config], as OTEL_EXPORTER_OTLP_PROTOCOL has them.
const (
	GRPC = otlp.GRPC
	HTTP = otlp.HTTP
)

const (
	defaultQueueBytes = 32 << 20 // the default of [Config].QueueBytes
	batchBytes        = 3 << 20  // maximum of a request: receivers refuse more than 4 MiB
)

// Config contains the destination of spans or log records, and the bounds of the queue. With the
// zero value, OpenTelemetry's variables decide. A field that is set overrides its variable. TLS,
// timeouts, compression, batch size and delay are configured by variables only.
type Config struct {
	// Endpoint is the backend's base URL, such as "http://localhost:4317". For HTTP, "/v1/traces"
	// or "/v1/logs" is appended to a URL without a path. If no variable sets an endpoint either,
	// the endpoint is OTLP's default: localhost with port 4317, or 4318 for HTTP.
	Endpoint string

	// Protocol is GRPC or HTTP. If neither Protocol nor a variable is set, port 4318 selects HTTP,
	// and other ports select GRPC.
	Protocol string

	// Headers are sent with every request, such as a tenant or a token.
	Headers map[string]string

	// Sender sends the requests, in place of the three fields above and their variables. Shutdown
	// closes a Sender that implements io.Closer. Messages name the Sender by its String method, or
	// else by its type.
	Sender Sender

	// QueueSize bounds the number of waiting items. 0 means OTEL_BSP_MAX_QUEUE_SIZE, for logs
	// OTEL_BLRP_MAX_QUEUE_SIZE, or else 8192: spans of one or two seconds of a busy service, while
	// its backend restarts.
	QueueSize int

	// QueueBytes bounds the memory of the waiting encoded items, in bytes. 0 means 32 MiB.
	QueueBytes int

	Logger *slog.Logger // nil means slog.Default()
}

// text describes c without the values of headers and the secrets of the endpoint: its user and
// query.
func (c Config) text() string {
	return fmt.Sprintf("{Endpoint:%s Protocol:%s Headers:%v}",
		secret.URL(c.Endpoint), c.Protocol, slices.Sorted(maps.Keys(c.Headers)))
}

// Format prints c for every verb, without the values of headers and the secrets of the endpoint. A
// struct that embeds a Config inherits Format, and should define its own.
func (c Config) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.text()) }

// MarshalText returns what Format prints, for encoding/json, log/slog and other encoders.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.text()), nil }

// check returns an error that names the first invalid bound. Package otlp checks the destination.
func (c Config) check() error {
	switch {
	case c.QueueSize < 0:
		return fmt.Errorf("exporter: QueueSize %d: must not be negative", c.QueueSize)
	case c.QueueSize > otlp.MaxQueueSize:
		return fmt.Errorf("exporter: QueueSize %d: must be %d or less", c.QueueSize,
			otlp.MaxQueueSize)
	case c.QueueBytes < 0:
		return fmt.Errorf("exporter: QueueBytes %d: must not be negative", c.QueueBytes)
	}
	return nil
}
