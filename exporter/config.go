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

// defaultQueueBytes bounds the queue unless a [Config] has another bound.
const defaultQueueBytes = 32 << 20

// batchBytes is the size at which a request is cut. Receivers refuse more than 4 MiB.
const batchBytes = 3 << 20

// Config has the destination of spans or log records, and the bounds of the queue. With the zero
// value, OpenTelemetry's variables decide. A field that is set wins over its variable. TLS,
// timeouts, compression, batch size and delay have variables only.
type Config struct {
	// Endpoint is the backend's base URL, as "http://localhost:4317". For HTTP, "/v1/traces" or
	// "/v1/logs" is added unless it has a path. If no variable has one either, it is the default of
	// OTLP: port 4317 of localhost, or 4318 for HTTP.
	Endpoint string

	// Protocol is GRPC or HTTP. If neither Protocol nor a variable is set, it is HTTP for port
	// 4318, OTLP's registered port for HTTP, and GRPC for other ports.
	Protocol string

	// Headers are sent with every request, for a tenant or a token.
	Headers map[string]string

	// Sender sends the requests, in place of the three fields above and their variables. Shutdown
	// closes it if it is an io.Closer. In messages, its name is what its String returns, or its
	// type.
	Sender Sender

	// QueueSize bounds the items that may wait. 0 means OTEL_BSP_MAX_QUEUE_SIZE, for logs
	// OTEL_BLRP_MAX_QUEUE_SIZE, or else 8192: as spans, these are a second or two of a busy
	// service, in which its backend may restart.
	QueueSize int

	// QueueBytes bounds the bytes that encoded items may take while they wait. 0 means 32 MiB.
	QueueBytes int

	Logger *slog.Logger // nil means slog.Default()
}

// text describes c without what is often secret: the values of headers, and what is before the
// endpoint's host or in its query.
func (c Config) text() string {
	return fmt.Sprintf("{Endpoint:%s Protocol:%s Headers:%v}",
		secret.URL(c.Endpoint), c.Protocol, slices.Sorted(maps.Keys(c.Headers)))
}

// Format prints c for every verb, without the values of headers and what the endpoint has of
// secrets. A struct that embeds a Config inherits Format, and needs one of its own.
func (c Config) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.text()) }

// MarshalText returns what Format prints, for encoding/json, log/slog and other encoders.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.text()), nil }

// check returns an error that names the first wrong field. Package otlp checks where spans go.
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
