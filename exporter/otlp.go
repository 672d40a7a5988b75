package exporter

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

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

// New makes the exporter that c and the variables ask for; nil when they ask
// for none:
//
//   - OTEL_TRACES_EXPORTER=otlp, or an endpoint given: OTLP
//   - OTEL_TRACES_EXPORTER unset and no endpoint, or "none": nil
//   - another OTEL_TRACES_EXPORTER: "console", or one that the program registered
//     with the autoexport package
//
// It does not connect. An endpoint that is no URL, an unknown protocol and an
// unknown exporter are errors that name the value and where it came from. Headers that are
// no list and keys in place of their files' names are errors that name the variable only.
func New(ctx context.Context, c Config) (*Target, error) {
	name := strings.TrimSpace(os.Getenv("OTEL_TRACES_EXPORTER"))
	if c.Endpoint != "" {
		name = "otlp"
	}
	endpoint, err := c.endpoint("TRACES")
	if err != nil {
		return nil, err
	}
	if name == "" && endpoint != nil {
		name = "otlp"
	}
	switch name {
	case "", "none":
		return nil, nil //nolint:nilnil // documented: nil means that nothing is to be exported
	case "otlp":
		return c.otlp(ctx, endpoint)
	}
	e, err := autoexport.NewSpanExporter(ctx)
	if err != nil {
		return nil, fmt.Errorf("exporter: OTEL_TRACES_EXPORTER %q: %w", name, err)
	}
	return &Target{SpanExporter: e, Name: name}, nil
}

func (c Config) otlp(ctx context.Context, endpoint *url.URL) (*Target, error) {
	protocol, err := c.protocol("TRACES", endpoint)
	if err != nil {
		return nil, err
	}
	if err := checkVariables("TRACES"); err != nil {
		return nil, err
	}
	t := &Target{Name: "localhost, OTLP's default", answers: c.answers("TRACES")}
	if endpoint != nil {
		t.Name = secret.URL(endpoint.String())
	}
	t.Name = protocol + " to " + t.Name
	if protocol == GRPC {
		var opts []otlptracegrpc.Option
		if c.Endpoint != "" {
			opts = append(opts, otlptracegrpc.WithEndpointURL(c.Endpoint))
		}
		if c.Headers != nil {
			opts = append(opts, otlptracegrpc.WithHeaders(c.Headers))
		}
		t.SpanExporter, err = otlptracegrpc.New(ctx, opts...)
	} else {
		var opts []otlptracehttp.Option
		if c.Endpoint != "" {
			u := *endpoint
			if u.Path == "" || u.Path == "/" {
				u.Path = "/v1/traces"
			}
			opts = append(opts, otlptracehttp.WithEndpointURL(u.String()))
		}
		if c.Headers != nil {
			opts = append(opts, otlptracehttp.WithHeaders(c.Headers))
		}
		t.SpanExporter, err = otlptracehttp.New(ctx, opts...)
	}
	if err != nil {
		return nil, fmt.Errorf("exporter: OTLP over %s: %w", t.Name, t.discreet(err))
	}
	return t, nil
}

// protocol is the protocol to speak with endpoint, which may be nil, for a signal
// as the variables spell it.
func (c Config) protocol(signal string, endpoint *url.URL) (string, error) {
	protocol, from := first(variables(signal, "PROTOCOL"))
	if c.Protocol != "" {
		protocol, from = c.Protocol, "Protocol"
	}
	switch protocol {
	case GRPC, HTTP:
		return protocol, nil
	case "":
		if endpoint != nil && endpoint.Port() == "4318" {
			return HTTP, nil
		}
		return GRPC, nil
	}
	return "", fmt.Errorf("exporter: %s %q: must be %q or %q", from, protocol, GRPC, HTTP)
}

// endpoint is the endpoint given for a signal, nil when none is.
func (c Config) endpoint(signal string) (*url.URL, error) {
	raw, from := first(variables(signal, "ENDPOINT"))
	if c.Endpoint != "" {
		raw, from = c.Endpoint, "Endpoint"
	}
	if raw == "" {
		return nil, nil //nolint:nilnil // nil means that no endpoint is given
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("exporter: %s %q: must be a URL with scheme http or https and a host, as %q", from, secret.URL(raw), "http://localhost:4317")
	}
	return u, nil
}

// first is the first of the variables that is set, and its name.
func first(names [2]string) (value, name string) {
	for _, name := range names {
		if v := strings.TrimSpace(os.Getenv(name)); v != "" {
			return v, name
		}
	}
	return "", ""
}
