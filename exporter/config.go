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

// The values of [Config].Protocol. OTEL_EXPORTER_OTLP_PROTOCOL uses the same values.
const (
	GRPC = otlp.GRPC
	HTTP = otlp.HTTP
)

const (
	defaultQueueBytes = 32 << 20 // the default of [Config].QueueBytes
	batchBytes        = 3 << 20  // maximum of a request: receivers refuse more than 4 MiB
)

// Config configures a [Delivery] or a [LogDelivery]: the destination and the limits of the queue.
// For the zero value, OpenTelemetry's environment variables configure the delivery. A set field
// overrides the corresponding variable. Only variables configure TLS, timeouts, compression, batch
// size and delay.
type Config struct {
	// Endpoint is the backend's base URL, such as "http://localhost:4317". For HTTP, the delivery
	// appends "/v1/traces" or "/v1/logs" to a URL without a path. If Endpoint and the variables are
	// empty, the default of OTLP applies: localhost with port 4317, or port 4318 for HTTP.
	Endpoint string

	// Protocol is GRPC or HTTP. Without Protocol and a variable, port 4318 selects HTTP, and other
	// ports select GRPC.
	Protocol string

	// Headers contains headers for every request, such as a tenant or a token.
	Headers map[string]string

	// Sender sends the requests. A Sender replaces Endpoint, Protocol, Headers and the
	// corresponding variables. Shutdown closes a Sender that implements io.Closer. Log messages
	// contain the result of the Sender's String method, or else the Sender's type.
	Sender Sender

	// QueueSize limits the number of waiting items. 0 means OTEL_BSP_MAX_QUEUE_SIZE, or
	// OTEL_BLRP_MAX_QUEUE_SIZE for logs. Without the variable, the limit is 8192. A busy service
	// ends 8192 spans in one or two seconds. The backend can restart in this time without a loss.
	QueueSize int

	// QueueBytes limits the memory of the waiting encoded items, in bytes. 0 means 32 MiB.
	QueueBytes int

	Logger *slog.Logger // nil means slog.Default()
}

// text describes c without the values of headers and the secrets of the endpoint: its user and
// query.
func (c Config) text() string {
	return fmt.Sprintf("{Endpoint:%s Protocol:%s Headers:%v}",
		secret.URL(c.Endpoint), c.Protocol, slices.Sorted(maps.Keys(c.Headers)))
}

// Format prints the fields of c as text, for every formatting verb. The text contains no values of
// headers and no secrets of the endpoint. A struct that embeds a Config inherits Format, so define
// another Format method for such a struct.
func (c Config) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.text()) }

// MarshalText returns the text that [Config.Format] prints. encoding/json, log/slog and other
// encoders call MarshalText.
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
