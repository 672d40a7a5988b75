package otlp

import (
	"cmp"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/secret"
)

// defaultTimeout is OpenTelemetry's default of OTEL_EXPORTER_OTLP_TIMEOUT.
const defaultTimeout = 10 * time.Second

// Settings say where and how the requests of a signal are sent.
type Settings struct {
	Name     string            // of the receiver, for messages
	Protocol string            // GRPC or HTTP
	URL      *url.URL          // of requests over HTTP; gRPC uses its host only
	Headers  map[string]string // of every request
	TLS      *tls.Config       // nil means a connection without TLS
	Gzip     bool
	Timeout  time.Duration // of one attempt; 0 means no limit
	Dial     Dial          // makes the connections; nil means TCP

	signal Signal
	files  certificateFiles
	redactor
}

// Resolve checks c and the variables of a signal. It checks all of the signal's variables, also where a field or
// another one wins: OpenTelemetry's own exporters read all, and print wrong ones with the secrets in them.
//
// Variables that are wrong and do no harm are logged by vars. Other wrong variables and fields are errors that name
// the value and the rule.
func Resolve(vars *environ.Reader, c Config, signal Signal) (*Settings, error) {
	to, err := c.endpoint(signal)
	if err != nil {
		return nil, err
	}
	s := &Settings{Dial: c.Dial, signal: signal}
	if s.Protocol, err = c.protocol(signal, to.url); err != nil {
		return nil, err
	}
	to = to.or(s.Protocol)
	if s.Protocol == GRPC {
		to.url = withPort(to.url)
		if _, err := url.Parse(target(to.url.Host)); err != nil { // as gRPC reads it
			return nil, fmt.Errorf("exporter: endpoint %q: must have a host name or an address without a zone for %s", secret.URL(to.url.String()), GRPC)
		}
	}
	if s.Headers, err = c.headers(signal, s.Protocol); err != nil {
		return nil, err
	}
	if s.Protocol == GRPC && to.url.User != nil { // net/http sends it by itself
		s.Headers = withUser(s.Headers, to.url.User)
	}
	if err := s.secure(vars, to.url.Scheme == "https"); err != nil {
		return nil, err
	}
	compression := environ.OfSignal(signal.Variable, "COMPRESSION")
	s.Gzip = environ.Read(vars, "none", environ.Choice(compression[0]), compression...) == "gzip"
	s.Timeout = environ.Read(vars, defaultTimeout, environ.Milliseconds(0), environ.OfSignal(signal.Variable, "TIMEOUT")...)
	s.Name = s.Protocol + " to " + secret.URL(to.url.String())
	s.URL = to.address(signal)
	s.redactor = c.redactor(signal, to.url)
	return s, nil
}

// secure decides about TLS. The endpoint's scheme takes precedence over the variable INSECURE (OpenTelemetry's specification,
// protocol/exporter), so the variable has no effect. secure logs a variable that is wrong or contradicts the scheme. Certificates that
// cannot be used are an error.
func (s *Settings) secure(vars *environ.Reader, secure bool) error {
	signal := s.signal
	insecure := environ.OfSignal(signal.Variable, "INSECURE")
	if environ.Read(vars, !secure, environ.Bool, insecure...) == secure {
		for _, name := range insecure {
			if environ.Get(name) != "" && !vars.Wrong(name) {
				vars.Ignored(name, "the scheme of the endpoint decides about TLS")
				break
			}
		}
	}
	files := newCertificateFiles(signal)
	config, err := files.read()
	if err != nil || secure {
		s.TLS, s.files = config, files
		return err
	}
	for _, name := range files.variables {
		if files.paths[name] != "" {
			return fmt.Errorf("exporter: %s: must be unset where the connection is without TLS: the scheme of the endpoint is http", name)
		}
	}
	return nil
}

// withPort returns an endpoint with the port of its scheme if it has none. gRPC would take 443 for both.
func withPort(u *url.URL) *url.URL {
	if u.Port() != "" {
		return u
	}
	port := "80"
	if u.Scheme == "https" {
		port = "443"
	}
	with := *u
	with.Host = net.JoinHostPort(u.Hostname(), port)
	return &with
}

// withUser returns headers that give a user and a password, unless they have an authorization already.
func withUser(headers map[string]string, user *url.Userinfo) map[string]string {
	with := map[string]string{}
	for name, value := range headers {
		if strings.EqualFold(name, "authorization") {
			return headers
		}
		with[name] = value
	}
	password, _ := user.Password()
	with["authorization"] = "Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password))
	return with
}

// HasEndpoint reports whether c or a variable has an endpoint for the signal. It returns an error if one is no URL.
func HasEndpoint(c Config, signal Signal) (bool, error) {
	e, err := c.endpoint(signal)
	return e.url != nil, err
}

// An endpoint is a URL and its origin, which decides about its path.
type endpoint struct {
	url    *url.URL // nil means none
	origin origin
}

type origin int

const (
	ofSignal origin = iota // a signal's variable: the address as it is
	ofAll                  // the variable of all signals: a base
	ofField                // Config: a base, unless it has a path
)

// endpoint returns the signal's endpoint.
func (c Config) endpoint(signal Signal) (first endpoint, err error) {
	for i, name := range environ.OfSignal(signal.Variable, "ENDPOINT") {
		raw := environ.Get(name)
		if raw == "" {
			continue
		}
		u, err := environ.URL(raw)
		if err != nil {
			return endpoint{}, fmt.Errorf("exporter: %w", environ.Error(name))
		}
		if first.url == nil {
			first = endpoint{u, []origin{ofSignal, ofAll}[i]}
		}
	}
	if c.Endpoint == "" {
		return first, nil
	}
	u, err := environ.URL(c.Endpoint)
	if err != nil {
		return endpoint{}, fmt.Errorf("exporter: Endpoint %q: %w", secret.URL(c.Endpoint), err)
	}
	return endpoint{u, ofField}, nil
}

// or returns e, or OTLP's default for a protocol if there is none.
func (e endpoint) or(protocol string) endpoint {
	if e.url != nil {
		return e
	}
	port := "4317"
	if protocol == HTTP {
		port = "4318"
	}
	return endpoint{&url.URL{Scheme: "http", Host: "localhost:" + port}, ofAll}
}

// address returns the address of requests over HTTP.
func (e endpoint) address(signal Signal) *url.URL {
	u := *e.url
	switch {
	case e.origin == ofAll, e.origin == ofField && (u.Path == "" || u.Path == "/"):
		return u.JoinPath(signal.Path)
	case u.Path == "":
		u.Path = "/"
	}
	return &u
}

// protocol returns the protocol for endpoint, which may be nil.
func (c Config) protocol(signal Signal, endpoint *url.URL) (string, error) {
	names := environ.OfSignal(signal.Variable, "PROTOCOL")
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
