package exporter

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/internal/secret"
)

// The OTLP protocols.
const (
	GRPC = otlp.GRPC
	HTTP = otlp.HTTP
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

	discreet func(error) error // nil: errors are printed as they are
}

// New makes the OTLP exporter of spans that c and the variables ask for. It does not connect.
func New(ctx context.Context, c Config) (*Target, error) {
	s, err := otlp.Resolve(environ.NewReader(c.Logger), otlp.Config{Endpoint: c.Endpoint, Protocol: c.Protocol, Headers: c.Headers}, otlp.Traces)
	if err != nil {
		return nil, err
	}
	return Connect(ctx, s)
}

// Connect makes the OTLP exporter of spans with settings. It does not connect.
func Connect(ctx context.Context, s *otlp.Settings) (*Target, error) {
	t := &Target{Name: s.Name, discreet: s.Discreet}
	var err error
	if s.Protocol == GRPC {
		options := []otlptracegrpc.Option{otlptracegrpc.WithEndpointURL(s.URL.String()), otlptracegrpc.WithTimeout(s.Timeout), otlptracegrpc.WithHeaders(s.Headers)}
		if s.TLS == nil {
			options = append(options, otlptracegrpc.WithInsecure())
		}
		if s.Gzip {
			options = append(options, otlptracegrpc.WithCompressor("gzip"))
		}
		t.SpanExporter, err = otlptracegrpc.New(ctx, options...)
	} else {
		options := []otlptracehttp.Option{otlptracehttp.WithEndpointURL(s.URL.String()), otlptracehttp.WithTimeout(s.Timeout), otlptracehttp.WithHeaders(s.Headers)}
		if s.Gzip {
			options = append(options, otlptracehttp.WithCompression(otlptracehttp.GzipCompression))
		}
		t.SpanExporter, err = otlptracehttp.New(ctx, options...)
	}
	if err != nil {
		return nil, fmt.Errorf("exporter: OTLP over %s: %w", t.Name, s.Discreet(err))
	}
	return t, nil
}
