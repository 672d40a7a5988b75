package exporter

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/secret"
)

// The OTLP protocols.
const (
	GRPC = "grpc"
	HTTP = "http/protobuf"
)

// Config says where spans go. The zero value leaves it to the variables of
// OpenTelemetry; a field that is set wins over them. What has no field (TLS,
// timeout, compression …) is read from the variables in any case.
type Config struct {
	// Endpoint is the backend's base URL, as "http://localhost:4317". For HTTP,
	// "/v1/traces" is added unless it has a path.
	Endpoint string

	// Protocol is GRPC or HTTP. When neither it nor a variable says which, it is
	// HTTP for port 4318, OTLP's registered one for HTTP, and else GRPC.
	Protocol string

	// Headers are sent with every request, for a tenant or a token.
	Headers map[string]string

	Logger *slog.Logger // gets a line for each wrong variable; nil means slog.Default()
}

// String leaves out what is often secret: the values of headers, and what is before the
// endpoint's host or in its query.
func (c Config) String() string {
	return fmt.Sprintf("{Endpoint:%s Protocol:%s Headers:%v}", secret.URL(c.Endpoint), c.Protocol, slices.Sorted(maps.Keys(c.Headers)))
}

// Format prints String, whatever the verb. What embeds a Config is printed as that, too, and
// needs a Format of its own.
func (c Config) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// MarshalText is String for encoding/json, log/slog and others that go by it.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// A Target is an exporter and the name of where it sends to, for messages.
type Target struct {
	sdktrace.SpanExporter
	Name string

	answers
}

// New makes the exporter of spans that c and the variables ask for, as [Resolve] says; nil when
// they ask for none. It does not connect.
func New(ctx context.Context, c Config) (*Target, error) {
	o := &Outputs{}
	if err := o.resolveTraces(ctx, environ.NewReader(c.Logger), c); err != nil {
		return nil, err
	}
	t, _, err := o.Connect(ctx, nil)
	return t, err
}
