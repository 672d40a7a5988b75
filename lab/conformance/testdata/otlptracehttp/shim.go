// Package otlptracehttp is OpenTelemetry's exporter with perfline's delivery over HTTP. Options are fields and variables of perfline. An option
// that perfline does not have is ignored, and says so.
package otlptracehttp

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/url"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp/internal"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp/internal/retry"

	"github.com/perfline/perfline/conformance/adapter"
	"github.com/perfline/perfline/exporter"
)

type (
	// An Option changes the settings of a client.
	Option      func(*settings)
	RetryConfig retry.Config
	Compression string
	Encoding    string

	HTTPTransportProxyFunc func(*http.Request) (*url.URL, error)
)

const (
	NoCompression   Compression = "none"
	GzipCompression Compression = "gzip"

	EncodingProtobuf Encoding = "http/protobuf"
	EncodingJSON     Encoding = "http/json"
)

type settings struct {
	adapter.Options

	host, path string
	url        string // as the signal's variable has it
	insecure   bool
	timeout    time.Duration
	retry      RetryConfig
}

type client struct{ adapter.Client }

func NewClient(opts ...Option) otlptrace.Client {
	s := settings{timeout: 10 * time.Second, retry: RetryConfig(retry.DefaultConfig)}
	s.Config.Protocol = "http/protobuf"
	for _, o := range opts {
		o(&s)
	}
	switch {
	case s.url != "":
		s.Set("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", s.url)
	case s.host != "" && s.insecure:
		s.Config.Endpoint = "http://" + s.host + s.path
	case s.host != "":
		s.Config.Endpoint = "https://" + s.host + s.path
	}
	s.SetTimes(s.timeout, s.retry.Enabled, s.retry.MaxElapsedTime)
	return &client{adapter.Client{Options: s.Options, Rejected: internal.TracePartialSuccessError}}
}

// UploadTraces is never called: the exporter calls ExportSpans.
func (*client) UploadTraces(context.Context, []*tracepb.ResourceSpans) error { panic("not called") }

func (c *client) MarshalLog() any {
	return struct{ Type, Config string }{"otlptracehttp", c.Options.Config.String()}
}

func WithEndpoint(endpoint string) Option { return func(s *settings) { s.host, s.url = endpoint, "" } }
func WithEndpointURL(u string) Option     { return func(s *settings) { s.host, s.url = "", u } }
func WithURLPath(path string) Option {
	return func(s *settings) { s.path = "/" + strings.TrimPrefix(path, "/") }
}
func WithInsecure() Option { return func(s *settings) { s.insecure = true } }
func WithHeaders(h map[string]string) Option {
	return func(s *settings) { s.Config.Headers = h }
}
func WithTimeout(d time.Duration) Option { return func(s *settings) { s.timeout = d } }
func WithRetry(c RetryConfig) Option     { return func(s *settings) { s.retry = c } }
func WithCompression(c Compression) Option {
	return func(s *settings) { s.Set("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", string(c)) }
}
func WithEncoding(e Encoding) Option { return func(s *settings) { s.Config.Protocol = string(e) } }

// Perfline does not have the options below. Its certificates are in files that variables name.

func WithTLSClientConfig(*tls.Config) Option  { return ignored }
func WithProxy(HTTPTransportProxyFunc) Option { return ignored }
func WithHTTPClient(*http.Client) Option      { return ignored }
func WithMaxRequestSize(int) Option           { return ignored }
func WithMaxResponseSize(int64) Option        { return ignored }
func ignored(*settings)                       {}

// The functions below decide in OpenTelemetry's exporter when a request is sent again. Perfline's sender decides here.

type responseError struct {
	error

	header http.Header
}

func newResponseError(header http.Header, err error) error { return responseError{err, header} }

func evaluate(err error) (bool, time.Duration) {
	return adapter.AfterHeader(err.(responseError).header)
}
