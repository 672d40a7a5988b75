// Package otlptracegrpc is OpenTelemetry's exporter with perfline's delivery over gRPC. Options are fields and variables of perfline. An option
// that perfline does not have is ignored, and says so.
package otlptracegrpc

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc/internal"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc/internal/retry"

	"github.com/perfline/perfline/conformance/adapter"
	"github.com/perfline/perfline/exporter"
)

type (
	// An Option changes the settings of a client.
	Option      func(*settings)
	RetryConfig retry.Config
)

type settings struct {
	adapter.Options

	host, url string // of which the last one has a value
	insecure  bool
	timeout   time.Duration
	retry     RetryConfig
}

type client struct {
	adapter.Client

	endpoint string // as gRPC takes it, or why there is none
}

func NewClient(opts ...Option) otlptrace.Client { return newClient(opts...) }

func newClient(opts ...Option) *client {
	s := settings{timeout: 10 * time.Second, retry: RetryConfig(retry.DefaultConfig)}
	for _, o := range opts {
		o(&s)
	}
	s.Config.Protocol, s.Config.Endpoint = "grpc", s.url
	switch {
	case s.host != "" && s.insecure:
		s.Config.Endpoint = "http://" + s.host
	case s.host != "":
		s.Config.Endpoint = "https://" + s.host
	case s.insecure:
		s.Set("OTEL_EXPORTER_OTLP_TRACES_INSECURE", "true")
	}
	bound := s.retry.MaxElapsedTime
	if bound == 0 || s.timeout > 0 && s.timeout < bound {
		bound = s.timeout // which bounds all attempts here
	}
	s.SetTimes(s.timeout, s.retry.Enabled, bound)
	return &client{adapter.Client{Options: s.Options, Rejected: internal.TracePartialSuccessError}, adapter.Target(s.Options)}
}

// UploadTraces is never called: the exporter calls ExportSpans.
func (*client) UploadTraces(context.Context, []*tracepb.ResourceSpans) error { panic("not called") }

func (c *client) MarshalLog() any {
	return struct{ Type, Config string }{"otlptracegrpc", c.Options.Config.String()}
}

func WithEndpoint(endpoint string) Option { return func(s *settings) { s.host, s.url = endpoint, "" } }
func WithEndpointURL(u string) Option     { return func(s *settings) { s.host, s.url = "", u } }
func WithInsecure() Option                { return func(s *settings) { s.insecure = true } }
func WithHeaders(h map[string]string) Option {
	return func(s *settings) { s.Config.Headers = h }
}
func WithTimeout(d time.Duration) Option { return func(s *settings) { s.timeout = d } }
func WithRetry(c RetryConfig) Option     { return func(s *settings) { s.retry = c } }
func WithCompressor(name string) Option {
	return func(s *settings) { s.Set("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", name) }
}

// Perfline does not have the options below.

func WithReconnectionPeriod(time.Duration) Option                { return ignored }
func WithTLSCredentials(credentials.TransportCredentials) Option { return ignored }
func WithServiceConfig(string) Option                            { return ignored }
func WithDialOption(...grpc.DialOption) Option                   { return ignored }
func WithGRPCConn(*grpc.ClientConn) Option                       { return ignored }
func WithMaxRequestSize(int) Option                              { return ignored }
func ignored(*settings)                                          {}

// The functions below decide in OpenTelemetry's exporter whether a request is sent again. Perfline's sender decides here.

func retryable(err error) (bool, time.Duration)                  { return adapter.AfterStatus(err) }
func retryableGRPCStatus(s *status.Status) (bool, time.Duration) { return adapter.AfterStatus(s.Err()) }
func throttleDelay(s *status.Status) (ok bool, delay time.Duration) {
	return adapter.AfterStatus(s.Err())
}
