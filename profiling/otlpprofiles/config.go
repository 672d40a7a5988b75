package otlpprofiles

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/secret"
	"github.com/perfline/perfline/profiling"
)

// Config configures [New]. With the zero value, OpenTelemetry's variables decide. A field that is
// set wins over its variable. TLS, timeouts and compression have only variables.
type Config struct {
	// Endpoint is the receiver's base URL, as "http://localhost:4317". For HTTP,
	// "/v1development/profiles" is added to a URL without a path. Without field and variable it is
	// OTLP's default: port 4317 of localhost, or 4318 for HTTP.
	Endpoint string

	// Protocol is exporter.GRPC or exporter.HTTP. Without field and variable it is HTTP for port
	// 4318, OTLP's registered port for HTTP, and else GRPC.
	Protocol string

	// Headers are sent with every request, for a tenant or a token.
	Headers map[string]string

	// Sender sends the requests, instead of the three fields above and their variables. Each body
	// is one ExportProfilesServiceRequest. Shutdown closes a Sender that is an io.Closer. Messages
	// name the Sender by its String method, or by its type.
	Sender exporter.Sender

	// Interval is the length of a profile, from a second to 30 minutes. 0 means 15 s. Of exporters
	// that perfline.Start starts together, the shortest interval counts for all. So do the shortest
	// LeakInterval and the largest of Spans.
	Interval time.Duration

	// LeakInterval is the time between profiles of leaked goroutines, from a second to 24 hours.
	// Else PERFLINE_LEAK_INTERVAL, else never; negative means never. Read package pyroscope's
	// comment first: each profile costs a garbage collection, and can end some programs.
	LeakInterval time.Duration

	// Spans selects the spans that CPU samples link to. With the zero value,
	// [profiling.LocalRoots], all samples of a request link to its server span.
	Spans profiling.Selection

	// QueueBytes bounds the pending profiles, in bytes of requests. 0 means 16 MiB: some minutes of
	// a busy service.
	QueueBytes int

	Logger *slog.Logger // nil means the one of Start
}

// text leaves out frequent secrets: the values of headers, and the endpoint's user and query.
func (c Config) text() string {
	return fmt.Sprintf("{Endpoint:%s Protocol:%s Headers:%v Interval:%v LeakInterval:%v Spans:%d QueueBytes:%d}",
		secret.URL(c.Endpoint), c.Protocol, slices.Sorted(maps.Keys(c.Headers)), c.Interval,
		c.LeakInterval, c.Spans, c.QueueBytes)
}

// Format prints the fields without secrets, for every verb. A struct that embeds a Config inherits
// Format and needs its own.
func (c Config) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.text()) }

// MarshalText returns what Format prints, for encoding/json and log/slog.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.text()), nil }
