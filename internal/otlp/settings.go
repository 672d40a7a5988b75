package otlp

import (
	"cmp"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/resolver"

	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/secret"
)

// defaultTimeout is OpenTelemetry's default of OTEL_EXPORTER_OTLP_TIMEOUT.
const defaultTimeout = 10 * time.Second

// Settings contains the address of the receiver and the transport options for requests of one
// signal.
type Settings struct {
	Name     string            // of the receiver, for messages
	Protocol string            // GRPC or HTTP
	URL      *url.URL          // of requests over HTTP
	Target   string            // receiver of requests over gRPC, in gRPC's syntax
	Headers  map[string]string // of every request
	TLS      *tls.Config       // nil: connections without TLS
	Gzip     bool
	Timeout  time.Duration // of one attempt; 0: no limit
	Dial     Dial          // opens connections; nil: TCP

	signal Signal
	files  certificateFiles
	redactor
}

// Resolve returns the settings of a signal from c and the signal's variables. Resolve also checks
// variables that other settings override. The reason is that the exporters of OpenTelemetry read
// all variables, and print invalid variables with secrets.
//
// If a default can replace an invalid variable, vars logs the variable. For all other invalid
// variables and fields, Resolve returns an error. The error contains the value, without secrets,
// and the rule.
func Resolve(vars *environ.Reader, c Config, signal Signal) (*Settings, error) {
	to, err := c.endpoint(signal)
	if err != nil {
		return nil, err
	}
	s := &Settings{Dial: c.Dial, signal: signal}
	if s.Protocol, err = c.protocol(vars, signal, to.url); err != nil {
		return nil, err
	}
	to = to.or(s.Protocol)
	if s.Protocol == GRPC {
		if s.Target, err = to.grpcTarget(); err != nil {
			return nil, err
		}
	} else if to.target != "" {
		const format = "exporter: endpoint %q: must be a URL with scheme http or https for %s"
		return nil, fmt.Errorf(format, to.target, s.Protocol)
	}
	if s.Headers, err = c.headers(signal, s.Protocol); err != nil {
		return nil, err
	}
	if s.Protocol == GRPC && to.url.User != nil { // net/http sends the user itself
		s.Headers = withUser(s.Headers, to.url.User)
	}
	if err := s.secure(vars, to); err != nil {
		return nil, err
	}
	compression := environ.OfSignal(signal.Variable, "COMPRESSION")
	s.Gzip = environ.Read(vars, "none", environ.Choice(compression[0]), compression...) == "gzip"
	s.Timeout = environ.Read(vars, defaultTimeout, environ.Milliseconds(0),
		environ.OfSignal(signal.Variable, "TIMEOUT")...)
	s.Name = s.Protocol + " to " + to.String()
	s.URL = to.address(signal)
	s.redactor = c.redactor(signal, to.url)
	return s, nil
}

// secure configures TLS. The endpoint's scheme overrides the variable INSECURE, which decides for a
// target of gRPC (OpenTelemetry's specification, protocol/exporter). secure logs a variable that is
// invalid or contradicts the scheme. Unusable certificates are an error.
func (s *Settings) secure(vars *environ.Reader, to endpoint) error {
	signal := s.signal
	secure := to.url.Scheme == "https"
	insecure := environ.OfSignal(signal.Variable, "INSECURE")
	if to.target != "" {
		secure = !environ.Read(vars, false, environ.Bool, insecure...)
	} else if environ.Read(vars, !secure, environ.Bool, insecure...) == secure {
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
			return fmt.Errorf("exporter: %s: must be unset where the connection is without TLS, to %s", name, to)
		}
	}
	return nil
}

// withPort returns an endpoint with an explicit port, by default that of the scheme. gRPC's default
// is 443 for both schemes.
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

// withUser returns headers with the authorization of a user, unless headers already contain an
// authorization.
func withUser(headers map[string]string, user *url.Userinfo) map[string]string {
	with := map[string]string{}
	for name, value := range headers {
		if strings.EqualFold(name, "authorization") {
			return headers
		}
		with[name] = value
	}
	password, _ := user.Password()
	with["authorization"] = "Basic " +
		base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password))
	return with
}

// HasEndpoint reports whether c or a variable sets an endpoint for the signal. HasEndpoint returns
// an error if an endpoint is invalid.
func HasEndpoint(c Config, signal Signal) (bool, error) {
	e, err := c.endpoint(signal)
	return e.url != nil, err
}

// An endpoint is an http or https URL, or a target of gRPC.
type endpoint struct {
	url    *url.URL // nil: none; for a target, only its host and port
	target string   // original text of a target of gRPC; empty for a URL
	origin origin   // decides about the path of the URL
}

func (e endpoint) String() string {
	if e.target != "" {
		return e.target
	}
	return secret.URL(e.url.String())
}

// parseEndpoint parses an endpoint. Its errors do not quote raw.
func parseEndpoint(raw string, of origin) (endpoint, error) {
	u, err := environ.URL(raw)
	if err == nil {
		return endpoint{url: u, origin: of}, nil
	}
	if !utf8.ValidString(raw) {
		return endpoint{}, err
	}
	if host, port, split := net.SplitHostPort(raw); split == nil && host != "" {
		if n, wrong := strconv.ParseUint(port, 10, 16); wrong == nil && n > 0 {
			return endpoint{url: &url.URL{Host: raw}, target: raw, origin: of}, nil
		}
	}
	t, wrong := url.Parse(raw)
	if wrong != nil || t.User != nil || t.Scheme == "http" || t.Scheme == "https" ||
		resolver.Get(t.Scheme) == nil {
		return endpoint{}, err
	}
	host := t.Opaque
	if host == "" {
		host = strings.TrimPrefix(t.Path, "/")
	}
	if host == "" {
		return endpoint{}, err
	}
	return endpoint{url: &url.URL{Host: host}, target: raw, origin: of}, nil
}

// grpcTarget returns the endpoint in gRPC's syntax, with a scheme: gRPC mistakes some hosts for
// schemes.
func (e endpoint) grpcTarget() (string, error) {
	target := e.target
	if target == "" || target == e.url.Host {
		target = "dns:///" + withPort(e.url).Host
	}
	if _, err := url.Parse(target); err != nil { // gRPC also calls url.Parse
		const format = "exporter: endpoint %q: must have a host name or an address without a zone for %s"
		return "", fmt.Errorf(format, e, GRPC)
	}
	return target, nil
}

// An origin is the source of an endpoint.
type origin int

const (
	ofSignal origin = iota // a signal's variable: the complete address
	ofAll                  // the variable of all signals: a base URL
	ofField                // Config: a base URL, or a complete address if it has a path
)

// endpoint returns the signal's endpoint, with a nil url if none is set.
func (c Config) endpoint(signal Signal) (first endpoint, err error) {
	for i, name := range environ.OfSignal(signal.Variable, "ENDPOINT") {
		raw := environ.Get(name)
		if raw == "" {
			continue
		}
		e, err := parseEndpoint(raw, []origin{ofSignal, ofAll}[i])
		if err != nil {
			return endpoint{}, fmt.Errorf("exporter: %w", environ.Error(name))
		}
		if first.url == nil {
			first = e
		}
	}
	if c.Endpoint == "" {
		return first, nil
	}
	e, err := parseEndpoint(c.Endpoint, ofField)
	if err != nil {
		return endpoint{}, fmt.Errorf("exporter: Endpoint %q: %s", secret.URL(c.Endpoint),
			environ.Rule(environ.OfSignal(signal.Variable, "ENDPOINT")[0]))
	}
	return e, nil
}

// or returns e, or OTLP's default for a protocol if e is empty.
func (e endpoint) or(protocol string) endpoint {
	if e.url != nil {
		return e
	}
	port := "4317"
	if protocol == HTTP {
		port = "4318"
	}
	return endpoint{url: &url.URL{Scheme: "http", Host: "localhost:" + port}, origin: ofAll}
}

// address returns the URL of requests over HTTP.
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
func (c Config) protocol(vars *environ.Reader, signal Signal, endpoint *url.URL) (string, error) {
	names := environ.OfSignal(signal.Variable, "PROTOCOL")
	fallback := GRPC
	if endpoint != nil && endpoint.Port() == "4318" {
		fallback = HTTP
	}
	protocol := strings.ToLower(c.Protocol)
	if _, ok := environ.Choice(names[0])(protocol); protocol != "" && !ok {
		return "", fmt.Errorf("exporter: Protocol %q: %s", c.Protocol, environ.Rule(names[0]))
	}
	variable := environ.Read(vars, cmp.Or(protocol, fallback), environ.Choice(names[0]), names...)
	return cmp.Or(protocol, variable), nil
}
