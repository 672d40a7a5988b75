package exporter

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/secret"
)

// The signals, as OpenTelemetry's variables spell them.
const (
	traces  = "TRACES"
	metrics = "METRICS"
)

// defaultTimeout is OpenTelemetry's default of OTEL_EXPORTER_OTLP_TIMEOUT.
const defaultTimeout = 10 * time.Second

// settings are what the OTLP exporter of a signal is made with. OpenTelemetry's exporters read the variables, too:
// settings has what they would read otherwise, and what a Config has.
type settings struct {
	Config
	protocol string
	endpoint *url.URL // nil means OTLP's default
	insecure bool
	gzip     bool
	timeout  time.Duration
	answers
}

// settings checks c and the variables of a signal. All of a signal's variables are checked, also where a field or
// another one wins: OpenTelemetry's exporters read all, and print wrong ones with the secrets in them.
func (c Config) settings(vars *environ.Reader, signal string) (*settings, error) {
	s := &settings{Config: c, answers: c.answers(signal)}
	var err error
	if s.endpoint, err = c.endpoint(signal); err != nil {
		return nil, err
	}
	if s.protocol, err = c.protocol(signal, s.endpoint); err != nil {
		return nil, err
	}
	if s.endpoint != nil && s.protocol == GRPC {
		if _, err := url.Parse("dns:///" + s.endpoint.Host); err != nil { // as gRPC reads it
			return nil, fmt.Errorf("exporter: endpoint %q: must have a host name or an address without a zone for %s", secret.URL(s.endpoint.String()), GRPC)
		}
	}
	if err := c.checkHeaders(signal, s.protocol); err != nil {
		return nil, err
	}
	s.insecure = s.endpoint != nil && s.endpoint.Scheme == "http"
	insecure := environ.Read(vars, s.insecure, environ.Bool, environ.OfSignal(signal, "INSECURE")...)
	if c.Endpoint == "" {
		s.insecure = insecure
	}
	if err := s.checkFiles(signal); err != nil {
		return nil, err
	}
	compression := environ.OfSignal(signal, "COMPRESSION")
	s.gzip = environ.Read(vars, "none", environ.Choice(compression[0]), compression...) == "gzip"
	s.timeout = environ.Read(vars, defaultTimeout, environ.Milliseconds(0), environ.OfSignal(signal, "TIMEOUT")...)
	return s, nil
}

// name says where the exporter sends to.
func (s *settings) name() string {
	if s.endpoint == nil {
		return s.protocol + " to localhost, OTLP's default"
	}
	return s.protocol + " to " + secret.URL(s.endpoint.String())
}

// endpoint returns the endpoint of a signal, nil when there is none.
func (c Config) endpoint(signal string) (first *url.URL, err error) {
	for _, name := range environ.OfSignal(signal, "ENDPOINT") {
		raw := environ.Get(name)
		if raw == "" {
			continue
		}
		u, err := environ.URL(raw)
		if err != nil {
			return nil, fmt.Errorf("exporter: %w", environ.Error(name))
		}
		first = cmp.Or(first, u)
	}
	if c.Endpoint == "" {
		return first, nil
	}
	u, err := environ.URL(c.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("exporter: Endpoint %q: %w", secret.URL(c.Endpoint), err)
	}
	return u, nil
}

// protocol returns the protocol to speak with endpoint, which may be nil.
func (c Config) protocol(signal string, endpoint *url.URL) (string, error) {
	names := environ.OfSignal(signal, "PROTOCOL")
	known := environ.Choice(names[0])
	protocol := c.Protocol
	for _, name := range names {
		value := environ.Get(name)
		if _, ok := known(value); !ok && value != "" {
			return "", fmt.Errorf("exporter: %w", environ.Error(name))
		}
		protocol = cmp.Or(protocol, strings.ToLower(value))
	}
	if _, ok := known(protocol); !ok && protocol != "" {
		return "", fmt.Errorf("exporter: Protocol %q: %s", protocol, environ.Rule(names[0]))
	}
	if protocol == "" && endpoint != nil && endpoint.Port() == "4318" {
		return HTTP, nil
	}
	return cmp.Or(protocol, GRPC), nil
}

// checkHeaders refuses headers that cannot be sent. Its errors have no values.
func (c Config) checkHeaders(signal, protocol string) error {
	for _, name := range environ.OfSignal(signal, "HEADERS") {
		headers, ok := headersOf(environ.Get(name))
		for key, value := range headers {
			ok = ok && sendable(protocol, key, value)
		}
		if !ok {
			return fmt.Errorf("exporter: %w", environ.Error(name))
		}
	}
	for key, value := range c.Headers {
		if !sendable(protocol, key, value) {
			return fmt.Errorf("exporter: Headers: %q cannot be sent: %s", key, environ.HeaderRule)
		}
	}
	return nil
}

// headersOf parses headers as OpenTelemetry's exporters do.
func headersOf(raw string) (map[string]string, bool) {
	headers := map[string]string{}
	for pair := range strings.SplitSeq(raw, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, escaped, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(escaped)
		if err != nil || !found {
			return nil, false
		}
		headers[strings.TrimSpace(key)] = strings.TrimSpace(value)
	}
	return headers, true
}

// sendable reports whether the protocol's implementation sends a header. A request with another one fails.
func sendable(protocol, key, value string) bool {
	if !environ.IsToken(key) {
		return false
	}
	if protocol == HTTP {
		return environ.Sendable(value)
	}
	key = strings.ToLower(key)
	if strings.ContainsFunc(key, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
	}) {
		return false
	}
	return strings.HasSuffix(key, "-bin") || !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' })
}

// checkFiles refuses certificates and keys that OpenTelemetry's exporters would go without.
func (s *settings) checkFiles(signal string) error {
	certificates := environ.OfSignal(signal, "CERTIFICATE")
	clients, keys := environ.OfSignal(signal, "CLIENT_CERTIFICATE"), environ.OfSignal(signal, "CLIENT_KEY")
	for i := range certificates {
		if environ.Get(certificates[i]) != "" {
			pem, err := readFile(certificates[i])
			if err == nil && !x509.NewCertPool().AppendCertsFromPEM(pem) {
				err = fmt.Errorf("exporter: %w: it has no certificate", environ.Error(certificates[i]))
			}
			if err != nil {
				return err
			}
		}
		switch hasClient, hasKey := environ.Get(clients[i]) != "", environ.Get(keys[i]) != ""; {
		case !hasClient && !hasKey:
			continue
		case !hasClient || !hasKey:
			return fmt.Errorf("exporter: %s and %s: must be set both or not at all", clients[i], keys[i])
		}
		certificate, err := readFile(clients[i])
		if err != nil {
			return err
		}
		key, err := readFile(keys[i])
		if err != nil {
			return err
		}
		if _, err := tls.X509KeyPair(certificate, key); err != nil {
			return fmt.Errorf("exporter: %s and %s: must be a certificate and its key: %w", clients[i], keys[i], err)
		}
	}
	if s.protocol != HTTP || !s.insecure {
		return nil
	}
	for _, name := range append(certificates, clients...) {
		if environ.Get(name) != "" {
			return fmt.Errorf("exporter: %s: must be unset where the connection is without TLS", name)
		}
	}
	return nil
}

// readFile reads the file that a variable names.
func readFile(variable string) ([]byte, error) {
	content, err := os.ReadFile(environ.Get(variable))
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return nil, fmt.Errorf("exporter: %w: %w", environ.Error(variable), path.Err) // without the name, which may be a key
	}
	return content, err
}

// An optionsOf makes the options of one of OpenTelemetry's four OTLP exporters.
type optionsOf[O any] struct {
	endpoint func(string) O
	headers  func(map[string]string) O
	timeout  func(time.Duration) O
	insecure func() O
	gzip     O
}

func (by optionsOf[O]) of(s *settings) []O {
	opts := []O{by.timeout(s.timeout)}
	if s.gzip {
		opts = append(opts, by.gzip)
	}
	if s.insecure {
		opts = append(opts, by.insecure())
	}
	if s.Headers != nil {
		opts = append(opts, by.headers(s.Headers))
	}
	if s.Endpoint != "" {
		u := *s.endpoint
		if s.protocol == HTTP && (u.Path == "" || u.Path == "/") {
			u.Path = "/v1/traces"
		}
		opts = append(opts, by.endpoint(u.String()))
	}
	return opts
}
